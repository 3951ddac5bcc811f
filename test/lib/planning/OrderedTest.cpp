// Bounds of steps whose repeats are units, against all schedules of small ones.
#include "lib/planning/verify/Ordered.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "test/support/RandomPlan.h"
#include "test/support/SchedulingBruteForce.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::testing;

namespace {

/// A step whose operations take a few picoseconds, in one or two forms.
struct SmallStep {
  explicit SmallStep(unsigned seed) : machine(smallMachine()) {
    RandomGraph random(seed, {.maxIterations = 2});
    graph = random.graph;
    std::mt19937 draw(seed);
    for (Core &core : machine.cores) {
      core.count = 1 + seed / 4 % 2;
      core.anyMapping = seed % 2 > 0, core.perInstanceMapping = seed % 4 == 2;
    }
    machine.host = {};
    costs = *estimate(graph, machine);
    // Even, so that half of a core for so long is no fraction of a picosecond.
    auto change = [&](OperationCost &cost) {
      cost.time = Seconds(static_cast<double>(2 + 2 * (draw() % 2)) * 1e-12);
      for (Seconds &transfer : cost.transfer)
        transfer = cost.time * (0.5 * static_cast<double>(draw() % 3));
    };
    for (OperationId id = 0; id < costs.operations.size(); ++id)
      if (graph.operations[id].body == kNone && costs.operations[id].time.value > 0)
        change(costs.operations[id]);
    for (auto &[id, others] : costs.alternatives)
      for (OperationCost &other : others)
        change(other);
  }

  /// The best of all schedules; nothing where there are too many.
  std::optional<int64_t> best(const Plan &plan) const {
    std::vector<int64_t> lengths(graph.regions.size());
    auto find = [&](auto &&self, RegionId r) -> bool {
      for (OperationId id : graph.regions[r].operations)
        if (RegionId body = graph.operations[id].body; body != kNone && !self(self, body))
          return false;
      SchedulingProblem problem = orderedProblem(plan, r, lengths);
      size_t modes = 1;
      for (const auto &task : problem.tasks) {
        modes *= task.modes.size();
        for (const auto &mode : task.modes)
          if (mode.duration > 14)
            return false;
      }
      if (problem.tasks.size() > 9 || modes > 64)
        return false;
      auto found = BruteForce(problem).best;
      lengths[r] = found ? found->makespan : 0;
      return found.has_value() || problem.tasks.empty();
    };
    if (!find(find, kMicrobatchRegion) || !find(find, kUpdateRegion))
      return std::nullopt;
    return graph.microbatches * lengths[kMicrobatchRegion] + lengths[kUpdateRegion];
  }

  WorkGraph graph;
  Machine machine;
  Costs costs;
};

TEST(OrderedBound, NoScheduleOfASmallStepIsShorter) {
  unsigned known = 0, met = 0, above = 0, repeats = 0, unproved = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SmallStep small(seed);
    Plan plan;
    plan.graph = small.graph, plan.machine = small.machine, plan.costs = small.costs;
    auto best = small.best(plan);
    if (!best)
      continue;
    ++known;
    repeats += small.graph.regions.size() > 2;
    for (bool searches : {false, true}) {
      OrderedBound ordered;
      ScheduleOptions options;
      options.searches = searches, options.ordered = &ordered;
      Costs costs = small.costs;
      auto made = scheduleStep(small.graph, small.machine, costs, options);
      const Schedule &schedule = *made;
      ASSERT_LE(ordered.step.value, *best) << seed;
      ASSERT_GE(schedule.step.value, *best) << seed;
      OrderedProof proof = proveOrdered(plan, ordered.regions);
      if (!proof.why.empty()) { // claims less, then
        ++unproved;
        continue;
      }
      ASSERT_EQ(proof.step, ordered.step) << seed;
      if (!searches)
        continue;
      met += ordered.step.value == *best && schedule.step.value == *best;
      // A length more of the first region is proved only where the bound left it open.
      std::vector<SchedulingBound> more = ordered.regions;
      more[kMicrobatchRegion].value += 1;
      if (OrderedProof claim = proveOrdered(plan, more); claim.why.empty())
        above += claim.step.value > *best;
    }
  }
  EXPECT_EQ(above, 0u);
  EXPECT_GT(known, 100u);
  EXPECT_GT(repeats, 20u);
  EXPECT_LE(unproved, known / 25);
  EXPECT_GT(met, known * 8 / 10); // else it would close nothing
  RecordProperty("known", static_cast<int>(known));
  RecordProperty("met", static_cast<int>(met));
  RecordProperty("unproved", static_cast<int>(unproved));
}

TEST(OrderedBound, WhatIsNotProvedIsSaid) {
  SmallStep small(1);
  Plan plan;
  plan.graph = small.graph, plan.machine = small.machine, plan.costs = small.costs;
  EXPECT_EQ(proveOrdered(plan, {}).why, fmt::format("0 bounds for {} regions", small.graph.regions.size()));
  std::vector<SchedulingBound> regions(small.graph.regions.size());
  EXPECT_EQ(proveOrdered(plan, regions).why, ""); // nothing is claimed
  EXPECT_EQ(proveOrdered(plan, regions).step.value, 0);
  regions[kUpdateRegion].value = 1'000'000;
  EXPECT_NE(proveOrdered(plan, regions).why, "");
  EXPECT_EQ(proveOrdered(plan, regions).step.value, 0);
}

} // namespace
