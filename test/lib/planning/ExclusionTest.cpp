// "Infeasible" of one device: what bounds exclude, and no more; and what the verifier makes of it.
#include "lib/planning/analysis/MinPeakMemory.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/planning/verify/Verify.h"
#include "test/support/RandomPlan.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

/// A requirement of the step, in seconds, as the language gives it.
Requirement stepAtMost(double limit) {
  return {fmt::format("step_time <= {} s", limit), {}, [limit](const Plan &, const CandidateMetrics &m) {
            return m.stepTime.value <= limit ? std::nullopt : std::optional<std::string>("too long");
          }};
}

Plan planned(const WorkGraph &graph, const Machine &machine, std::vector<Requirement> requirements) {
  SingleDeviceRequest request;
  request.overlap = false; // one memory for one order
  request.batch = graph.microbatch * graph.microbatches;
  request.requirements = std::move(requirements);
  auto plan = planFor(graph, machine, request);
  EXPECT_TRUE(bool(plan));
  return std::move(*plan);
}

TEST(Exclusion, OfStepsIsWhatTheBoundSays) {
  size_t open = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed, {.maxIterations = 9});
    Plan free = planned(g.graph, smallMachine(), {});
    double step = free.schedule.step.seconds().value, bound = free.schedule.bound.seconds().value;
    if (bound <= 0)
      continue;
    Plan below = planned(g.graph, smallMachine(), {stepAtMost(bound * 0.999)});
    EXPECT_FALSE(below.feasible);
    EXPECT_EQ(below.excludedCandidates, 1);
    PlanVerification proof = verify(below);
    EXPECT_TRUE(proof.holds());
    EXPECT_EQ(proof.solverAnswers.empty(), proof.boundProved);
    Plan within = planned(g.graph, smallMachine(), {stepAtMost(step * 1.001)});
    EXPECT_TRUE(within.feasible);
    EXPECT_EQ(within.excludedCandidates, 0);
    if (step < bound * 1.01)
      continue;
    ++open; // a schedule that short may exist
    Plan between = planned(g.graph, smallMachine(), {stepAtMost((step + bound) / 2)});
    EXPECT_FALSE(between.feasible);
    EXPECT_EQ(between.excludedCandidates, 0);
    // Whoever claims more rests on trust, and is told so.
    between.excludedCandidates = 1;
    EXPECT_FALSE(verify(between).solverAnswers.empty());
  }
  EXPECT_GT(open, 10u);
}

// A longer step is always there: to ask for one excludes nothing.
TEST(Exclusion, IsNotOfWhatMoreWouldKeep) {
  RandomGraph g(3, {.maxIterations = 9});
  Requirement longer{"step_time >= 1000 s", {}, [](const Plan &, const CandidateMetrics &m) {
                       return m.stepTime.value >= 1000 ? std::nullopt : std::optional<std::string>("too short");
                     }};
  Plan plan = planned(g.graph, smallMachine(), {longer});
  EXPECT_FALSE(plan.feasible);
  EXPECT_EQ(plan.excludedCandidates, 0);
}

TEST(Exclusion, OfMemoryIsWhatEveryOrderTakes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed, {.maxIterations = 9});
    g.graph.staticTensors.push_back({"w", Category::Weights, 4096});
    double minPeak = minPeakMemory(g.graph);
    Machine machine = smallMachine();
    machine.memories.front().capacity = Bytes(minPeak - 1);
    Plan plan = planned(g.graph, machine, {});
    EXPECT_FALSE(plan.feasible);
    EXPECT_EQ(plan.excludedCandidates, 1);
    // Weights alone are proved to be too much; what else is alive is proved where one operation shows it.
    machine.memories.front().capacity = Bytes(4095);
    EXPECT_TRUE(verify(planned(g.graph, machine, {})).solverAnswers.empty());
    if (double peak = planned(g.graph, smallMachine(), {}).memory.peak; peak > minPeak) {
      machine.memories.front().capacity = Bytes(peak - 1);
      Plan between = planned(g.graph, machine, {});
      EXPECT_FALSE(between.feasible);
      EXPECT_EQ(between.excludedCandidates, 0);
    }
  }
}

} // namespace
