// The bound of a whole step by what can run at once: below every schedule of the step written out, in which iterations
// overlap as they like, and proved again from the plan.
#include "lib/planning/solve/StepSubsets.h"
#include "lib/planning/verify/Verify.h"
#include "lib/scheduling/solve/Solve.h"
#include "test/support/RandomMachine.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

Machine machineOf(unsigned seed) {
  Machine machine = smallMachine();
  machine.cores[0].count = 1 + seed % 4;
  machine.cores[0].anyMapping = seed % 3 == 0;
  machine.cores[0].perInstanceMapping = seed % 3 == 1;
  return machine;
}

/// One task for each execution of the micro-batch.
SchedulingProblem writtenOut(const Plan &plan, const Costs &costs, const Flat &flat) {
  OperationVariants variants(plan.graph, plan.machine, costs);
  SchedulingProblem problem;
  for (size_t r = 0; r < variants.resources(); ++r)
    problem.addResource(variants.nameOf(r), variants.capacity(r));
  for (size_t i = 0; i < flat.split; ++i) {
    const Flat::Node &node = flat.nodes[i];
    problem.addTask("e" + std::to_string(i), 0, {});
    auto &modes = problem.tasks.back().modes;
    modes.clear();
    for (const auto &variant : variants.of(node.operation)) {
      auto &mode = modes.emplace_back();
      mode.duration = variant.duration;
      for (uint32_t r = 0; r < variants.resources(); ++r)
        if (int64_t amount = variants.amount(variant, r); amount > 0)
          mode.usage.push_back({r, amount});
    }
    for (int before : node.before)
      problem.addPrecedence(static_cast<uint32_t>(before), static_cast<uint32_t>(i));
  }
  return problem;
}

TEST(StepSubsets, NeverAboveAScheduleInWhichIterationsOverlap) {
  size_t bounded = 0, near = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan = planFor(RandomGraph(seed, {}).graph, machineOf(seed));
    Costs costs = *estimate(plan.graph, plan.machine);
    SchedulingBound bound = stepSubsets(plan.graph, Dependences::of(plan.graph),
                                        OperationVariants(plan.graph, plan.machine, costs), kMicrobatchRegion, {});
    if (bound.value == 0)
      continue;
    Flat flat(plan.graph, plan.schedule, durationsOf(plan.graph, costs));
    SchedulingProblem problem = writtenOut(plan, costs, flat);
    ASSERT_TRUE(check(problem).empty());
    SolveOptions quick;
    quick.effort = 1, quick.bounds = false;
    int64_t overlapping = schedule(problem, quick).solution.makespan;
    EXPECT_LE(bound.value, overlapping);
    EXPECT_LE(bound.value, plan.schedule.regions[kMicrobatchRegion].length.value);
    ++bounded;
    near += static_cast<double>(bound.value) > 0.9 * static_cast<double>(overlapping);
  }
  EXPECT_GT(bounded, 100u);
  EXPECT_GT(near, 30u);
}

TEST(StepSubsets, AreProvedAgainAndForgedOnesRefused) {
  size_t proved = 0;
  for (unsigned seed = 0; seed < 200 && proved < 12; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan = planFor(RandomGraph(seed, {}).graph, machineOf(seed));
    const WorkGraph &graph = plan.graph;
    const SchedulingBound &proven = plan.schedule.regions[kMicrobatchRegion].proven;
    bool repeats = std::any_of(graph.regions[0].operations.begin(), graph.regions[0].operations.end(),
                               [&](OperationId id) { return graph.operations[id].body != kNone; });
    if (!repeats || proven.kind != SchedulingBound::Kind::Subsets)
      continue;
    ++proved;
    EXPECT_TRUE(verify(plan).findings.empty());
    auto refuses = [&](auto change) {
      Plan copy = plan;
      change(copy.schedule.regions[kMicrobatchRegion].proven);
      auto findings = verify(copy).findings;
      return std::any_of(findings.begin(), findings.end(),
                         [](const Error &error) { return error.code == Code::BoundNotProved; });
    };
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.weights.back() = INT64_MAX / 4; }));
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.weights.pop_back(); }));
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.value += 1 + b.value / 50; }));
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.tasks.back() = 1'000'000; }));
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.tasks[0] = b.tasks.back(); }));
    EXPECT_TRUE(refuses([](SchedulingBound &b) { b.unit = 0; }));
  }
  EXPECT_GE(proved, 5u);
}

} // namespace
