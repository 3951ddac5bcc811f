// Latency models of plans for clusters against every plan of small random problems, one by one.
#include "lib/latency/build/PlacementLatencyModel.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/PlacementEnumerator.h"
#include "test/support/PlacementRandom.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace accord;

namespace {

/// The problem at degrees and a micro-batch alone, for the shortest step.
PlacementProblem atDegrees(const PlacementProblem &all, int64_t tensor, int64_t pipeline, int64_t data,
                           int64_t microbatch, PlacementProblem::Id deviceType) {
  PlacementProblem problem = all;
  problem.parallelConfigs.clear();
  for (LayerClass &one : problem.classes)
    one.costs.clear();
  for (PlacementProblem::Id id = 0; id < all.parallelConfigs.size(); ++id) {
    const ParallelConfig &config = all.parallelConfigs[id];
    if (config.tensor != tensor || config.data != data || config.microbatch != microbatch ||
        config.deviceType != deviceType)
      continue;
    problem.parallelConfigs.push_back(config);
    for (size_t i = 0; i < all.classes.size(); ++i)
      problem.classes[i].costs.push_back(all.classes[i].costs[id]);
  }
  problem.groups = {{pipeline, pipeline}};
  problem.limits = {};
  problem.objective = PlacementObjective::StepTime;
  return problem;
}

} // namespace

/// Step times and memories of all plans of a problem.
std::map<int64_t, std::set<int64_t>> memoriesByStep(const PlacementProblem &problem) {
  std::map<int64_t, std::set<int64_t>> all;
  accord::testing::forEachPlacement(problem, [&](const Placement &, const PlanMetrics &metrics) {
    all[metrics.step].insert(maxDeviceMemory(metrics));
  });
  return all;
}

/// At the plan's batch and every choice of degrees the model has the shortest of all plans there, and its memory.
TEST(PlacementLatency, IsTheShortestOfAllPlansAtItsDegrees) {
  size_t models = 0, compared = 0, others = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    PlacementProblem problem = accord::testing::randomPlacementProblem(seed, 4);
    problem.objective = PlacementObjective::StepTime;
    if (!check(problem).empty())
      continue;
    PlacementPlan plan;
    plan.job = plan.model = "random", plan.cluster = "small", plan.modelFlops = 1;
    plan.result = place(problem);
    plan.problem = problem;
    if (!plan.result.plan)
      continue;
    auto made = placementLatencyModel(plan);
    if (!made) // steps that do not grow in equal steps, such as those that wait for input
      continue;
    ++models;
    const LatencyModel &model = *made;
    const Placement &own = *plan.result.plan;
    const ParallelConfig &config = problem.parallelConfigs[own.stages.front().parallelConfig];
    size_t t = *model.argument("tensor_parallel"), p = *model.argument("pipeline_parallel"),
           d = *model.argument("data_parallel");
    auto valuesOf = [&](size_t index) {
      const LatencyArgument &a = model.arguments()[index];
      return a.allowed.empty() ? std::vector<int64_t>{static_cast<int64_t>(a.initial)} : a.allowed;
    };
    for (int64_t tensor : valuesOf(t))
      for (int64_t pipeline : valuesOf(p))
        for (int64_t data : valuesOf(d))
          for (int64_t microbatch : valuesOf(kMicrobatch)) {
            std::vector<double> at = model.initial();
            bool isOwn = at[t] == tensor && at[p] == pipeline && at[d] == data && at[kMicrobatch] == microbatch;
            at[t] = double(tensor), at[p] = double(pipeline), at[d] = double(data);
            at[kMicrobatch] = double(microbatch);
            LatencyEvaluation found = evaluate(model, at);
            if (found.status || isOwn) // its own is the plan's, under the limits of all
              continue;
            auto all = test::enumeratePlans(atDegrees(problem, tensor, pipeline, data, microbatch, config.deviceType));
            ASSERT_TRUE(all.complete && all.plan) << "seed " << seed;
            EXPECT_EQ(std::llround(found.result.step * 1e12), all.step)
                << "seed " << seed << ": " << tensor << " x " << pipeline << " x " << data << ", " << microbatch;
            auto memories = memoriesByStep(atDegrees(problem, tensor, pipeline, data, microbatch, config.deviceType));
            EXPECT_TRUE(memories[all.step].contains(std::llround(found.result.memory))) << "seed " << seed;
            ++compared, others += pipeline != static_cast<int64_t>(own.groups());
          }
  }
  EXPECT_GT(models, 50u);
  EXPECT_GT(compared, 50u);
  EXPECT_GT(others, 20u);
}

/// At other batches no plan is shorter than the model's by more than it says, and none that the model has is longer.
TEST(PlacementLatency, HoldsItsIntervalsAtOtherBatches) {
  size_t compared = 0, exact = 0;
  double widest = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PlacementProblem problem = accord::testing::randomPlacementProblem(seed, 4);
    problem.objective = PlacementObjective::StepTime, problem.minStep = 0;
    if (!check(problem).empty())
      continue;
    PlacementPlan plan;
    plan.job = plan.model = "random", plan.cluster = "small", plan.modelFlops = 1;
    plan.result = place(problem);
    plan.problem = problem;
    if (!plan.result.plan)
      continue;
    std::vector<PlacementInterval> intervals;
    PlacementLatencyOptions options;
    options.intervals = &intervals;
    auto made = placementLatencyModel(plan, options);
    if (!made)
      continue;
    const LatencyModel &model = *made;
    const ParallelConfig &config = problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig];
    for (const PlacementInterval &range : intervals) {
      widest = std::max(widest, range.gap);
      for (int64_t batch = range.minBatch; batch <= std::min<int64_t>(range.maxBatch, 24); ++batch) {
        std::vector<double> at = model.initial();
        at[*model.argument("tensor_parallel")] = double(range.tensor);
        at[*model.argument("pipeline_parallel")] = double(range.pipeline);
        at[*model.argument("data_parallel")] = double(range.data);
        at[kMicrobatch] = double(range.microbatch), at[kBatch] = double(batch);
        LatencyEvaluation found = evaluate(model, at);
        if (found.status)
          continue;
        PlacementProblem there =
            atDegrees(problem, range.tensor, range.pipeline, range.data, range.microbatch, config.deviceType);
        there.batch = batch;
        auto all = test::enumeratePlans(there, {.max = 200'000});
        if (!all.complete || !all.plan)
          continue;
        double step = found.result.step * 1e12, best = static_cast<double>(all.step);
        EXPECT_GE(best, step * (1 - range.gap) - 1) << "seed " << seed << ", batch " << batch << ", pipeline "
                                                    << range.pipeline << ", schedules " << problem.schedules.size();
        EXPECT_LE(best, step + 0.5) << "seed " << seed << ", batch " << batch;
        ++compared, exact += best > step - 0.5;
      }
    }
  }
  EXPECT_GT(compared, 200u);
  RecordProperty("compared", std::to_string(compared) + ", the same " + std::to_string(exact) + ", widest " +
                                 std::to_string(widest));
}
