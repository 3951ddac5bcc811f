#include "RandomPlan.h"
#include "lib/solve/ScheduleStep.h"
#include "lib/solve/Solve.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::testing;

namespace {

TEST(ScheduleStep, BoundHoldsForOverlappingIterations) {
  Machine machine = smallMachine();
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomGraph g(seed, {});
    Costs costs = std::get<Costs>(estimate(g.graph, machine));
    auto scheduled = scheduleStep(g.graph, machine, costs);
    Schedule &s = std::get<Schedule>(scheduled);
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
    if (!byMemory)
      EXPECT_LE(s.bound.value, g.graph.microbatches * schedule(micro).solution.makespan + schedule(update).solution.makespan)
          << seed;
  }
}

TEST(ScheduleStep, RefusesWhatDoesNotFit) {
  RandomGraph g(1, {});
  Machine machine = smallMachine();
  Costs costs = std::get<Costs>(estimate(g.graph, machine));
  Costs fewer = costs;
  fewer.operations.pop_back();
  EXPECT_EQ(std::get<1>(scheduleStep(g.graph, machine, fewer))[0].code, "A0917");
  for (OperationCost &cost : costs.operations)
    cost.time = Seconds(8e6);
  EXPECT_EQ(std::get<1>(scheduleStep(g.graph, machine, costs))[0].code, "A0452");
}

} // namespace
