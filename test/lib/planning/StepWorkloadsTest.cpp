// Bounds of steps whose operations trade time for work, or exclude each other by bandwidth: against
// the best of all schedules.
#include "lib/planning/solve/StepWorkloads.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "test/support/RandomPlan.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::testing;

namespace {

constexpr int64_t kSecond = 1'000'000'000'000;

/// Operations with random orders: some on one of three instances or on all, with a tenth to a half
/// of a memory's bandwidth; some on another core, which need all of it or a part.
struct Case {
  Machine machine = smallMachine();
  WorkGraph graph;
  Costs costs;
  SchedulingProblem problem; ///< in seconds and tenths of the bandwidth

  explicit Case(unsigned seed) {
    std::mt19937 random(seed);
    auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
    machine.cores[0].count = 3, machine.cores[0].anyMapping = true;
    machine.cores[1].count = 1;
    graph.regions.resize(2);
    problem.addResource("core", 3);
    problem.addResource("other", 1);
    problem.addResource("bandwidth", 10);
    for (OperationId id = 0; id < 6; ++id) {
      Operation &op = graph.operations.emplace_back();
      op.name = "op" + std::to_string(id);
      op.results = {id};
      graph.values.emplace_back();
      bool other = below(3) == 0;
      int64_t one = 2 + below(6), all = 1 + below(static_cast<uint32_t>(one)), share = 1 + below(5);
      OperationCost &cost = costs.operations.emplace_back();
      cost.transfer.resize(machine.memories.size());
      cost.bytes.resize(machine.memories.size());
      auto variant = [&](int core, int64_t instances, int64_t seconds, int64_t tenths) {
        cost.core = core, cost.instances = instances;
        cost.time = Seconds(static_cast<double>(seconds));
        cost.transfer[0] = Seconds(static_cast<double>(seconds * tenths) / 10);
      };
      if (other) {
        op.core = CoreKind::Vector;
        int64_t full = below(4) == 0 ? share : 10;
        variant(1, 1, one, full);
        problem.addTask(op.name, one, {{1, 1}, {2, full}});
      } else {
        op.core = CoreKind::Tensor;
        variant(0, 1, one, share);
        OperationCost alone = cost;
        variant(0, 3, all, share);
        costs.alternatives[id].push_back(alone);
        problem.addTask(op.name, all, {{0, 3}, {2, share}});
        problem.tasks.back().modes.push_back({"one", one, {{0, 1}, {2, share}}, {}, false});
      }
      for (OperationId before = 0; before < id; ++before)
        if (below(4) == 0) {
          op.operands.push_back(before);
          problem.addPrecedence(before, id);
        }
      graph.regions[kMicrobatchRegion].operations.push_back(id);
    }
  }
};

TEST(StepWorkloads, NeverAboveTheBestSchedule) {
  size_t joint = 0, higher = 0, tight = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed);
    int64_t best = BruteForce(one.problem).best->makespan * kSecond;
    Dependences deps = Dependences::of(one.graph);
    OperationVariants variants(one.graph, one.machine, one.costs);
    std::vector<Picoseconds> shortest;
    for (OperationId id = 0; id < one.graph.operations.size(); ++id) {
      shortest.push_back({INT64_MAX});
      for (const OperationVariants::Variant &variant : variants.of(id))
        shortest.back().value = std::min(shortest.back().value, variant.duration);
    }
    int64_t before = CriticalPath::of(one.graph, deps, shortest).length[kMicrobatchRegion].value;
    for (size_t r = 0; r < variants.resources(); ++r) {
      int64_t work = 0;
      for (OperationId id = 0; id < one.graph.operations.size(); ++id)
        work += variants.minWork(id, r);
      before = std::max(before, work);
    }
    std::vector<Workloads> all = workloadsOf(one.graph, one.machine, variants);
    joint += all.size() > one.machine.cores.size();
    int64_t max = 0;
    for (const Workloads &workloads : all) {
      int64_t sum = 0;
      for (OperationId id = 0; id < one.graph.operations.size(); ++id)
        sum += workloads.min(id);
      int64_t bound = allotmentBound(one.graph, deps, variants, workloads, kMicrobatchRegion);
      EXPECT_LE(sum, best) << workloads.name;
      EXPECT_LE(bound, best) << workloads.name;
      max = std::max({max, sum, bound});
    }
    higher += max > before;
    tight += max == best;
  }
  // They say more than chains and cores alone, and now and then all that can be said.
  EXPECT_GT(joint, 80u);
  EXPECT_GT(higher, 50u);
  EXPECT_GT(tight, 5u);
}

} // namespace
