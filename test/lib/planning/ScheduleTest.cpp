#include "lib/planning/solve/ScheduleStep.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/support/RandomPlan.h"
#include "test/support/SchedulingBruteForce.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace accord;
using namespace accord::testing;

namespace {

TEST(ScheduleStep, BoundHoldsForOverlappingIterations) {
  Machine machine = smallMachine();
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomGraph g(seed, {});
    Costs costs = *estimate(g.graph, machine);
    auto scheduled = scheduleStep(g.graph, machine, costs);
    Schedule &s = *scheduled;
    EXPECT_LE(s.bound, s.step) << seed;
    // One schedule of the unrolled micro-batch, in which iterations overlap as they like.
    std::vector<Picoseconds> durations = durationsOf(g.graph, costs);
    Flat flat(g.graph, s, durations);
    SchedulingProblem micro, update;
    for (auto *p : {&micro, &update})
      for (size_t r = 0; r < 2; ++r)
        p->addResource("core", 1);
    for (size_t i = 0; i < flat.nodes.size(); ++i) {
      SchedulingProblem &p = i < flat.split ? micro : update;
      int core = costs.operations[flat.nodes[i].operation].core;
      uint32_t base = i < flat.split ? 0 : static_cast<uint32_t>(flat.split);
      std::vector<SchedulingProblem::Usage> usage;
      if (core >= 0)
        usage.push_back({static_cast<uint32_t>(core), 1});
      p.addTask("", flat.nodes[i].duration, usage);
      for (int before : flat.nodes[i].before)
        p.addPrecedence(static_cast<uint32_t>(before) - base, static_cast<uint32_t>(i) - base);
    }
    // The memories' bandwidth is left out here: it only makes schedules longer.
    bool byMemory = s.proof.find("memory") != std::string::npos;
    for (const RegionSchedule &region : s.regions) // nor can it tell what the scheduler proved with them
      byMemory |= region.proven.kind != SchedulingBound::Kind::Nothing;
    if (!byMemory)
      EXPECT_LE(s.bound.value,
                g.graph.microbatches * schedule(micro).solution.makespan + schedule(update).solution.makespan)
          << seed;
  }
}

TEST(ScheduleStep, RefusesWhatDoesNotFit) {
  RandomGraph g(1, {});
  Machine machine = smallMachine();
  Costs costs = *estimate(g.graph, machine);
  Costs fewer = costs;
  fewer.operations.pop_back();
  EXPECT_EQ(scheduleStep(g.graph, machine, fewer).error()[0].code, Code::CostsMismatch);
  for (OperationCost &cost : costs.operations)
    cost.time = Seconds(8e6);
  EXPECT_EQ(scheduleStep(g.graph, machine, costs).error()[0].code, Code::TimeOutOfRange);
}

/// `count` independent products of `one` seconds on one of 4 instances and `all` on all of them.
Schedule ofForms(size_t count, double one, double all, Costs &costs) {
  Machine machine = smallMachine();
  machine.cores[0].count = 4, machine.cores[0].anyMapping = true;
  WorkGraph graph;
  graph.regions.resize(2);
  for (OperationId id = 0; id < count; ++id) {
    Operation &op = graph.operations.emplace_back();
    op.name = "op" + std::to_string(id);
    op.core = CoreKind::Tensor;
    graph.regions[kMicrobatchRegion].operations.push_back(id);
    OperationCost &cost = costs.operations.emplace_back();
    cost.core = 0, cost.instances = 4, cost.time = Seconds(all);
    cost.transfer.resize(machine.memories.size());
    cost.bytes.resize(machine.memories.size());
    OperationCost alone = cost;
    alone.instances = 1, alone.time = Seconds(one);
    costs.alternatives[id].push_back(alone);
  }
  return *scheduleStep(graph, machine, costs);
}

TEST(ScheduleStep, ChoosesOneInstanceOrAll) {
  // Four at a time in 3 s each, or one after the other in 1 s each.
  Costs together;
  Schedule four = ofForms(4, 3, 1, together);
  EXPECT_EQ(four.step.value, 3'000'000'000'000);
  EXPECT_EQ(four.bound, four.step);
  for (const OperationCost &cost : together.operations)
    EXPECT_EQ(cost.instances, 1);
  std::set<int> instances;
  for (const Slot &slot : four.regions[0].slots)
    instances.insert(slot.instance);
  EXPECT_EQ(instances.size(), 4u);
  Costs apart;
  Schedule two = ofForms(2, 3, 1, apart);
  EXPECT_EQ(two.step.value, 2'000'000'000'000);
  for (const OperationCost &cost : apart.operations)
    EXPECT_EQ(cost.instances, 4);
  Costs mixed; // four on one each, then one on all
  EXPECT_EQ(ofForms(5, 3, 1, mixed).step.value, 4'000'000'000'000);
}

/// Six operations with random orders, each on one of three instances or on all, in whole seconds:
/// the schedule of least length over all choices and starts, by exhaustion.
TEST(ScheduleStep, ChoicesEqualBruteForce) {
  std::mt19937 random(11);
  auto below = [&](uint32_t n) { return random() % n; };
  for (unsigned round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Machine machine = smallMachine();
    machine.cores[0].count = 3, machine.cores[0].anyMapping = true;
    WorkGraph graph;
    graph.regions.resize(2);
    Costs costs;
    SchedulingProblem problem;
    problem.addResource("core", 3);
    for (OperationId id = 0; id < 6; ++id) {
      Operation &op = graph.operations.emplace_back();
      op.name = "op" + std::to_string(id);
      op.core = CoreKind::Tensor;
      op.results = {id};
      graph.values.emplace_back();
      int64_t one = 2 + below(6), all = 1 + below(static_cast<uint32_t>(one));
      problem.addTask(op.name, all, {{0, 3}});
      problem.tasks.back().modes.push_back({"one", one, {{0, 1}}, {}, false});
      for (OperationId before = 0; before < id; ++before)
        if (below(4) == 0) {
          op.operands.push_back(before);
          problem.addPrecedence(before, id);
        }
      graph.regions[kMicrobatchRegion].operations.push_back(id);
      OperationCost &cost = costs.operations.emplace_back();
      cost.core = 0, cost.instances = 3, cost.time = Seconds(static_cast<double>(all));
      cost.transfer.resize(machine.memories.size());
      cost.bytes.resize(machine.memories.size());
      OperationCost alone = cost;
      alone.instances = 1, alone.time = Seconds(static_cast<double>(one));
      costs.alternatives[id].push_back(alone);
    }
    Schedule schedule = *scheduleStep(graph, machine, costs);
    int64_t best = BruteForce(problem).best->makespan * 1'000'000'000'000;
    EXPECT_EQ(schedule.step.value, best);
    EXPECT_LE(schedule.bound.value, best);
  }
}

} // namespace
