// The optimizer of placements against all plans there are.
#include "lib/place/Place.h"
#include "lib/place/Judge.h"
#include "test/unit/PlacementProblems.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// All plans: each layer in any stage that no edge forbids, each group in any form, each layer with
/// any keep. What `faults` lets pass is judged. Gives up beyond `most` plans.
struct BruteForce {
  const PlacementProblem &problem;
  size_t most;
  size_t plans = 0, steps = 0;
  double best = INFINITY;

  bool run() {
    auto layers = static_cast<int64_t>(problem.layers.size());
    for (PipelineSchedule schedule : problem.schedules) {
      bool interleaved = schedule == PipelineSchedule::Interleaved;
      for (int64_t v : interleaved ? problem.chunks : std::vector<int64_t>{1})
        for (int64_t p = 1; p * v <= layers; ++p) {
          Placement plan;
          plan.schedule = schedule, plan.chunks = v;
          plan.stages.resize(static_cast<size_t>(p * v));
          if (!forms(plan, 0, static_cast<size_t>(p)))
            return false;
        }
    }
    return true;
  }

  bool forms(Placement &plan, size_t group, size_t groups) {
    const auto &first = problem.forms[plan.stages[0].form];
    for (size_t g = 0; g < group; ++g) // no plan has two micro-batch sizes or too many devices
      if (const auto &form = problem.forms[plan.stages[g].form];
          form.data * form.microbatch != first.data * first.microbatch ||
          form.devices() > problem.kinds[form.kind].devices)
        return true;
    if (group == groups) {
      const auto &form = problem.forms[plan.stages[0].form];
      plan.microbatches = problem.batch / (form.data * form.microbatch);
      for (size_t s = groups; s < plan.stages.size(); ++s)
        plan.stages[s].form = plan.stages[s - groups].form;
      return plan.microbatches < 1 || cuts(plan, 0);
    }
    for (uint32_t form = 0; form < problem.forms.size(); ++form) {
      plan.stages[group].form = form;
      if (!forms(plan, group + 1, groups))
        return false;
    }
    return true;
  }

  bool cuts(Placement &plan, uint32_t layer) {
    if (++steps > 40 * most)
      return false;
    if (layer == problem.layers.size()) {
      for (PlacedStage &stage : plan.stages)
        stage.keeps.assign(stage.layers.size(), 0);
      return !faults(problem, plan).empty() || keeps(plan, 0, 0);
    }
    size_t first = 0;
    for (const auto &edge : problem.edges)
      if (edge.to == layer)
        for (size_t s = 0; s < plan.stages.size(); ++s)
          if (std::count(plan.stages[s].layers.begin(), plan.stages[s].layers.end(), edge.from))
            first = std::max(first, s);
    for (size_t s = first; s < plan.stages.size(); ++s) {
      plan.stages[s].layers.push_back(layer);
      if (!cuts(plan, layer + 1))
        return false;
      plan.stages[s].layers.pop_back();
    }
    return true;
  }

  bool keeps(Placement &plan, size_t stage, size_t at) {
    if (stage == plan.stages.size()) {
      if (++plans > most)
        return false;
      PlacementWorth worth = judge(problem, plan);
      if (worth.fits && meets(problem, worth))
        best = std::min(best, worth.value);
      return true;
    }
    if (at == plan.stages[stage].layers.size())
      return keeps(plan, stage + 1, 0);
    const auto &cost = problem.cost(plan.stages[stage].layers[at], plan.stages[stage].form);
    for (uint32_t keep = 0; keep < cost->keeps.size(); ++keep) {
      plan.stages[stage].keeps[at] = keep;
      if (!keeps(plan, stage, at + 1))
        return false;
    }
    return true;
  }
};

void expectAllPlans(const PlacementProblem &problem, uint64_t seed, double best) {
  PlacementResult result = place(problem);
  ASSERT_EQ(result.plan.has_value(), !std::isinf(best)) << "seed " << seed << " best " << best;
  if (!result.plan) {
    EXPECT_TRUE(std::isinf(result.bound)) << "seed " << seed;
    return;
  }
  EXPECT_NEAR(result.value, best, 1e-9 * best) << "seed " << seed;
  EXPECT_NEAR(result.bound, best, 1e-9 * best) << "seed " << seed << ": " << result.proof;
  EXPECT_TRUE(faults(problem, *result.plan).empty()) << "seed " << seed;
  PlacementWorth worth = judge(problem, *result.plan);
  EXPECT_TRUE(worth.fits && meets(problem, worth)) << "seed " << seed;
  EXPECT_EQ(worth.value, result.value) << "seed " << seed;
}

} // namespace

constexpr size_t Most = 4000;

TEST(Place, FindsTheBestOfAllPlans) {
  size_t compared = 0, none = 0, limited = 0;
  for (uint64_t seed = 1; compared < 600; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 2 + seed % 6, 2 + static_cast<int64_t>(seed % 7));
    BruteForce all{problem, Most};
    if (!all.run())
      continue;
    expectAllPlans(problem, seed, all.best);
    ++compared;
    none += std::isinf(all.best);
    if (HasFatalFailure() || std::isinf(all.best))
      continue;
    // A limit that the best plan does not keep, if anything does.
    PlacementResult free = place(problem);
    switch (seed % 5) {
    case 0:
      problem.limits.watts = free.worth.joules / (static_cast<double>(free.worth.step) * 1e-12) * 0.9;
      break;
    case 1:
      problem.limits.devices = std::max<int64_t>(1, free.worth.devices - 1);
      break;
    case 2:
      problem.limits.joules = free.worth.joules * 0.9;
      break;
    case 3:
      problem.limits.price = free.worth.price * 0.9;
      break;
    default:
      problem.limits.step = std::max<int64_t>(1, free.worth.step * 9 / 10);
    }
    BruteForce within{problem, Most};
    ASSERT_TRUE(within.run());
    expectAllPlans(problem, seed, within.best);
    ++limited;
  }
  EXPECT_GT(none, 20u);
  EXPECT_GT(limited, 300u);
}
