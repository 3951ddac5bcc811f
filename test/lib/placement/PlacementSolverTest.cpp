// The optimizer of placements against all plans there are.
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/verify/BalancedStepBound.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "test/support/PlacementEnumerator.h"
#include "test/support/PlacementProblems.h"
#include "test/support/Random.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

/// All plans: each layer in any stage that no edge forbids, each group in any form, each layer with
/// any keep. What `faults` lets pass is judged. Gives up beyond `most` plans.
struct BruteForce {
  const PlacementProblem &problem;
  size_t max;
  size_t plans = 0, steps = 0;
  double best = INFINITY;

  bool run() {
    auto layers = static_cast<int64_t>(problem.layers.size());
    for (PipelineSchedule schedule : problem.schedules) {
      for (int64_t v : virtualStagesOf(problem, modelOf(schedule)))
        for (int64_t p = 1; p * v <= layers; ++p) {
          Placement plan;
          plan.schedule = schedule, plan.virtualStages = v;
          plan.stages.resize(static_cast<size_t>(p * v));
          if (!parallelConfigs(plan, 0, static_cast<size_t>(p)))
            return false;
        }
    }
    return true;
  }

  bool parallelConfigs(Placement &plan, size_t group, size_t groups) {
    const auto &first = problem.parallelConfigs[plan.stages[0].parallelConfig];
    for (size_t g = 0; g < group; ++g) // no plan has two micro-batch sizes or too many devices
      if (const auto &parallelConfig = problem.parallelConfigs[plan.stages[g].parallelConfig];
          parallelConfig.samples() != first.samples() ||
          parallelConfig.devices() > problem.deviceTypes[parallelConfig.deviceType].devices)
        return true;
    if (group == groups) {
      const auto &parallelConfig = problem.parallelConfigs[plan.stages[0].parallelConfig];
      plan.microbatches = problem.batch / parallelConfig.samples();
      for (size_t s = groups; s < plan.stages.size(); ++s)
        plan.stages[s].parallelConfig = plan.stages[plan.groupOf(s)].parallelConfig;
      return plan.microbatches < 1 || cuts(plan, 0);
    }
    for (uint32_t parallelConfig = 0; parallelConfig < problem.parallelConfigs.size(); ++parallelConfig) {
      plan.stages[group].parallelConfig = parallelConfig;
      if (!parallelConfigs(plan, group + 1, groups))
        return false;
    }
    return true;
  }

  bool cuts(Placement &plan, uint32_t layer) {
    if (++steps > 40 * max)
      return false;
    if (layer == problem.layers.size()) {
      for (PlacedStage &stage : plan.stages)
        stage.recomputeChoices.assign(stage.layers.size(), 0);
      return !findViolations(problem, plan).empty() || recomputeChoices(plan, 0, 0);
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

  bool recomputeChoices(Placement &plan, size_t stage, size_t at) {
    if (stage == plan.stages.size()) {
      if (++plans > max)
        return false;
      PlanMetrics metrics = evaluate(problem, plan);
      if (metrics.fits && satisfiesLimits(problem, metrics))
        best = std::min(best, metrics.value);
      return true;
    }
    if (at == plan.stages[stage].layers.size())
      return recomputeChoices(plan, stage + 1, 0);
    const auto &cost = problem.cost(plan.stages[stage].layers[at], plan.stages[stage].parallelConfig);
    for (uint32_t recomputeChoice = 0; recomputeChoice < cost->recomputeChoices.size(); ++recomputeChoice) {
      plan.stages[stage].recomputeChoices[at] = recomputeChoice;
      if (!recomputeChoices(plan, stage, at + 1))
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
  EXPECT_TRUE(findViolations(problem, *result.plan).empty()) << "seed " << seed;
  PlanMetrics metrics = evaluate(problem, *result.plan);
  EXPECT_TRUE(metrics.fits && satisfiesLimits(problem, metrics)) << "seed " << seed;
  EXPECT_EQ(metrics.value, result.value) << "seed " << seed;
}

} // namespace

constexpr size_t kMaxRounds = 4000;

/// Stages in a V, alone or beside 1F1B, on chains and graphs, with one form or several: the best of all plans is found
/// and proved, and the verifier proves it again.
TEST(Place, FindsTheBestOfAllPlansInAV) {
  size_t compared = 0, inV = 0, proved = 0;
  for (uint64_t seed = 1; inV < 30 && compared < 400; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 4 + seed % 3, 4 + static_cast<int64_t>(seed % 5));
    problem.schedules = {PipelineSchedule::ZeroBubbleV};
    problem.groups = {}, problem.limits = {};
    if (seed % 3 == 0)
      problem.schedules.push_back(PipelineSchedule::OneFOneB);
    BruteForce all{problem, kMaxRounds};
    if (!all.run())
      continue;
    expectAllPlans(problem, seed, all.best);
    ++compared;
    if (HasFatalFailure() || std::isinf(all.best))
      continue;
    PlacementResult result = place(problem);
    EXPECT_TRUE(placementViolations(problem, *result.plan).empty()) << "seed " << seed;
    auto again = reevaluate(problem, *result.plan);
    ASSERT_TRUE(again) << "seed " << seed;
    EXPECT_NEAR(again->value, result.value, 1e-9 * result.value) << "seed " << seed;
    EXPECT_EQ(again->memory, result.metrics.memory) << "seed " << seed;
    EXPECT_EQ(again->inFlight, result.metrics.inFlight) << "seed " << seed;
    BoundProof proof = proveBound(problem, result.bound, 2'000'000, 1e7);
    EXPECT_FALSE(proof.better) << "seed " << seed;
    inV += result.plan->schedule == PipelineSchedule::ZeroBubbleV;
    proved += proof.trusted.empty();
  }
  EXPECT_GT(inV, 15u);
  EXPECT_GT(proved, 15u);
}

TEST(Place, FindsTheBestOfAllPlans) {
  const auto count = static_cast<size_t>(cases(250));
  size_t compared = 0, none = 0, limited = 0;
  for (uint64_t seed = 1; compared < count; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 2 + seed % 6, 2 + static_cast<int64_t>(seed % 7));
    BruteForce all{problem, kMaxRounds};
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
      problem.limits.watts = free.metrics.joules / (static_cast<double>(free.metrics.step) * 1e-12) * 0.9;
      break;
    case 1:
      problem.limits.devices = std::max<int64_t>(1, free.metrics.devices - 1);
      break;
    case 2:
      problem.limits.joules = free.metrics.joules * 0.9;
      break;
    case 3:
      problem.limits.price = free.metrics.price * 0.9;
      break;
    default:
      problem.limits.step = std::max<int64_t>(1, free.metrics.step * 9 / 10);
    }
    BruteForce within{problem, kMaxRounds};
    ASSERT_TRUE(within.run());
    expectAllPlans(problem, seed, within.best);
    ++limited;
  }
  EXPECT_GT(none, count / 30);
  EXPECT_GT(limited, count / 2);
}

/// Degrees of data parallelism and of contexts side by side, against arithmetic that shares nothing with the solver.
TEST(Place, FindsTheBestOfAllContexts) {
  size_t compared = 0, shared = 0;
  for (uint64_t seed = 1; compared < 200; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 2 + seed % 4, 4);
    for (size_t f = 0; f < problem.parallelConfigs.size(); ++f)
      if (ParallelConfig &config = problem.parallelConfigs[f]; config.data == 2 && (seed + f) % 3 != 0)
        config.context = 2, config.expert = 1;
    test::EnumeratorOptions options;
    options.max = 200'000;
    test::Enumerated all = test::enumeratePlans(problem, options);
    if (!all.complete)
      continue;
    ++compared;
    expectAllPlans(problem, seed, all.best);
    if (HasFatalFailure() || !all.plan)
      continue;
    shared += problem.parallelConfigs[all.plan->stages[0].parallelConfig].context > 1;
  }
  EXPECT_GT(shared, 5u);
}

/// Interleaved chains of equal layers between other ones, in memory that makes the chunks compute
/// again: bounds by games between paths and plans.
TEST(Place, FindsTheBestBalancedStages) {
  std::mt19937_64 random(11);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  size_t scarce = 0, none = 0, close = 0;
  for (int compared = 0; compared < 150;) {
    PlacementProblem problem;
    auto layers = static_cast<uint32_t>(pick(4, 8));
    problem.batch = 2 * pick(1, 4);
    problem.deviceTypes = {{"device", 2, pick(1, 2), pick(60, 700), 10, 100, 1, {}}};
    problem.parallelConfigs = {{}};
    problem.classes.resize(3);
    for (auto &one : problem.classes) {
      PlacementProblem::Cost cost;
      cost.forward = pick(1, 60), cost.backward = pick(1, 60), cost.weight = pick(0, 40);
      cost.update = pick(0, 30), cost.staticMemory = pick(0, 20), cost.gradients = pick(0, 40);
      cost.recomputeChoices = {{"none", 0, pick(10, 60), pick(0, 20)}};
      if (pick(0, 2))
        cost.recomputeChoices.push_back({"full", pick(1, 50), pick(0, 10), pick(0, 40)});
      one.costs = {cost};
    }
    problem.layers.resize(layers);
    for (auto &layer : problem.layers)
      layer.of = 1;
    problem.layers.front().of = static_cast<uint32_t>(pick(0, 1));
    problem.layers.back().of = static_cast<uint32_t>(pick(1, 2));
    for (uint32_t l = 1; l < layers; ++l)
      problem.edges.push_back({l - 1, l, pick(0, 30)});
    problem.links = {{{static_cast<double>(pick(0, 5)), 0.1}, {8, 0.4}}};
    problem.schedules = {PipelineSchedule::Interleaved};
    problem.virtualStages = {2, 3};
    problem.blockingTransfers = pick(0, 1);
    problem.overlapFraction = pick(0, 1) ? 0.5 : 0;
    problem.hostOverheadPerMicrobatch = pick(0, 3), problem.hostOverheadPerStep = pick(0, 9);
    BruteForce all{problem, 8000};
    if (!all.run())
      continue;
    expectAllPlans(problem, static_cast<uint64_t>(compared), all.best);
    // The verifier's own bound is not above the best either.
    double min = INFINITY;
    uint64_t work = 0;
    BalancedStepCache known;
    auto never = [](double, double) { return false; };
    for (int64_t virtualStages : problem.virtualStages)
      if (problem.batch % 2 == 0 && 2 * virtualStages <= static_cast<int64_t>(layers)) {
        Configuration one{problem.batch, virtualStages, PipelineSchedule::Interleaved, {0}};
        min = std::min(min, balancedStepBound(problem, one, 2, nullptr, never, 2e7, known, work).step);
      }
    min += static_cast<double>(problem.hostOverheadPerStep);
    EXPECT_LE(min * (1 - 1e-9), all.best) << compared;
    close += min >= 0.8 * all.best;
    ++compared;
    none += std::isinf(all.best);
    problem.deviceTypes[0].memory = 100'000;
    BruteForce roomy{problem, 8000};
    ASSERT_TRUE(roomy.run());
    scarce += !std::isinf(all.best) && roomy.best < all.best;
  }
  EXPECT_GT(scarce, 30u);
  EXPECT_GT(close, 30u);
  EXPECT_LT(none, 75u);
}

namespace {

PlacementProblem withoutAnomalies(uint64_t seed) {
  // Greedy weight gradients make ZeroBubble longer now and then where something gets shorter.
  PlacementProblem problem = test::randomPlacement(seed, 7, 8);
  std::erase(problem.schedules, PipelineSchedule::ZeroBubble);
  if (problem.schedules.empty())
    problem.schedules = {PipelineSchedule::OneFOneB};
  return problem;
}

double valueOf(const PlacementProblem &problem) {
  PlacementResult result = place(problem);
  EXPECT_LE(result.bound, result.plan ? result.value : INFINITY);
  return result.plan ? result.value : INFINITY;
}

} // namespace

TEST(Place, MoreOfAnythingIsNeverWorse) {
  size_t better = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    PlacementProblem problem = withoutAnomalies(seed), more = problem;
    switch (seed % 3) {
    case 0:
      for (auto &deviceType : more.deviceTypes)
        deviceType.devices += 2;
      break;
    case 1:
      for (auto &deviceType : more.deviceTypes)
        deviceType.memory = deviceType.memory * 5 / 4;
      break;
    default:
      for (auto &link : more.links)
        link.intraNode.perByte /= 2, link.interNode.perByte /= 2;
    }
    double before = valueOf(problem), after = valueOf(more);
    if (std::isinf(before))
      continue;
    EXPECT_LE(after, before * (1 + 1e-12)) << "seed " << seed;
    better += after < before;
  }
  EXPECT_GT(better, 10u);
}

TEST(Place, TimesMayBeCountedInAnyUnit) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PlacementProblem problem = withoutAnomalies(seed);
    problem.objective = PlacementObjective::StepTime;
    problem.overlapFraction = 0;                                       // rounds down
    auto latencyOnly = [](AlphaBetaModel &time) { time.perByte = 0; }; // rounds up
    for (auto &link : problem.links)
      latencyOnly(link.intraNode), latencyOnly(link.interNode);
    for (auto &parallelConfig : problem.parallelConfigs) {
      for (auto *gradientSyncs : {&parallelConfig.gradientSyncs, &parallelConfig.expertGradientSyncs})
        for (auto &sync : *gradientSyncs)
          std::for_each(sync.alternatives.begin(), sync.alternatives.end(), latencyOnly);
      std::for_each(parallelConfig.gather.begin(), parallelConfig.gather.end(), latencyOnly);
    }
    PlacementProblem scaled = problem;
    auto scale = [](AlphaBetaModel &time) { time.latency *= 7; };
    for (auto &link : scaled.links)
      scale(link.intraNode), scale(link.interNode);
    for (auto &parallelConfig : scaled.parallelConfigs) {
      for (auto *gradientSyncs : {&parallelConfig.gradientSyncs, &parallelConfig.expertGradientSyncs})
        for (auto &sync : *gradientSyncs)
          std::for_each(sync.alternatives.begin(), sync.alternatives.end(), scale);
      std::for_each(parallelConfig.gather.begin(), parallelConfig.gather.end(), scale);
    }
    for (auto &layer : scaled.classes)
      for (auto &cost : layer.costs)
        if (cost) {
          cost->forward *= 7, cost->backward *= 7, cost->weight *= 7, cost->update *= 7;
          for (auto &recomputeChoice : cost->recomputeChoices)
            recomputeChoice.recomputeTime *= 7;
        }
    scaled.hostOverheadPerMicrobatch *= 7, scaled.hostOverheadPerStep *= 7, scaled.minStep *= 7;
    EXPECT_EQ(valueOf(scaled), 7 * valueOf(problem)) << "seed " << seed;
  }
}

TEST(Place, OrderOfKindsAndFormsDoesNotMatter) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 6, 8), turned = problem;
    std::reverse(turned.parallelConfigs.begin(), turned.parallelConfigs.end());
    for (auto &layer : turned.classes)
      std::reverse(layer.costs.begin(), layer.costs.end());
    std::reverse(turned.deviceTypes.begin(), turned.deviceTypes.end());
    std::reverse(turned.links.begin(), turned.links.end()); // [a * 2 + b] both ways round
    auto last = static_cast<uint32_t>(problem.deviceTypes.size() - 1);
    for (auto &parallelConfig : turned.parallelConfigs)
      parallelConfig.deviceType = last - parallelConfig.deviceType;
    for (auto &constraint : turned.placementConstraints) {
      for (uint32_t &deviceType : constraint.deviceTypes)
        deviceType = last - deviceType;
      std::sort(constraint.deviceTypes.begin(), constraint.deviceTypes.end());
    }
    double value = valueOf(problem);
    if (std::isinf(value))
      EXPECT_TRUE(std::isinf(valueOf(turned))) << "seed " << seed;
    else
      EXPECT_NEAR(valueOf(turned), value, 1e-12 * value) << "seed " << seed;
  }
}

TEST(Place, BoundsHoldWhateverTheEffort) {
  size_t open = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 7, 8);
    PlacementResult best = place(problem);
    PlacementOptions little, rough;
    little.effort = 0;
    rough.gap = 0.1;
    for (const PlacementOptions &options : {little, rough}) {
      PlacementResult result = place(problem, options);
      if (!best.plan)
        continue;
      EXPECT_LE(result.bound, best.value * (1 + 1e-12)) << "seed " << seed;
      if (result.plan) {
        EXPECT_GE(result.value, best.value * (1 - 1e-12)) << "seed " << seed;
        open += result.bound < result.value;
      }
    }
    if (best.plan) {
      PlacementResult result = place(problem, rough);
      ASSERT_TRUE(result.plan) << "seed " << seed;
      EXPECT_LE(result.gap(), 0.1 + 1e-9) << "seed " << seed;
    }
  }
  EXPECT_GT(open, 5u);
}

TEST(Place, EqualBlocksAreProvedOptimal) {
  for (int64_t blocks : {96, 960}) {
    PlacementProblem problem = test::languageModelPlacement(blocks);
    problem.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB};
    PlacementResult result = place(problem);
    ASSERT_TRUE(result.plan);
    EXPECT_EQ(result.bound, result.value) << blocks << ": " << result.proof;
    EXPECT_TRUE(findViolations(problem, *result.plan).empty());
  }
}

/// A sample takes 40 s: three take 120 s on one device and 40 s on three replicas, at equal device
/// seconds; devices in a row wait for each other and take more of these.
TEST(Place, OfEqualPlansTheShortestStep) {
  constexpr int64_t Second = 1'000'000'000'000;
  PlacementProblem problem;
  problem.batch = 3;
  problem.deviceTypes = {{"device", 4, 4, 1000, 50, 400, 3.6, {}}};
  problem.parallelConfigs.resize(2);
  problem.parallelConfigs[1].data = 3;
  PlacementProblem::Cost cost;
  cost.forward = 4 * Second, cost.backward = 6 * Second, cost.staticMemory = 100;
  cost.recomputeChoices = {{"none", 0, 10, 0}};
  problem.classes = {{"class", {cost, cost}}};
  problem.layers.resize(4);
  problem.edges = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  problem.links = {{}};
  for (PlacementObjective objective :
       {PlacementObjective::Price, PlacementObjective::TdpTime, PlacementObjective::Energy, PlacementObjective::Carbon,
        PlacementObjective::Memory}) {
    problem.objective = objective;
    problem.costPerJoule = objective == PlacementObjective::Carbon ? 400 / 3.6e6 : 1;
    if (objective == PlacementObjective::Memory)
      problem.limits.devices = 3; // the fewest bytes are with a layer on each device
    PlacementResult result = place(problem);
    ASSERT_TRUE(result.plan);
    EXPECT_EQ(result.bound, result.value) << name(objective) << ": " << result.proof;
    switch (objective) {
    case PlacementObjective::Price: // 1/1000 a second
      EXPECT_DOUBLE_EQ(result.value, 0.12);
      break;
    case PlacementObjective::TdpTime:
      EXPECT_DOUBLE_EQ(result.value, 400 * 120);
      break;
    case PlacementObjective::Energy:
      EXPECT_DOUBLE_EQ(result.value, 50 * 120);
      break;
    case PlacementObjective::Carbon: // 6 kJ at 1/9000 g/J
      EXPECT_DOUBLE_EQ(result.value, 2.0 / 3);
      break;
    default: // two layers in the last of three stages, which holds one micro-batch
      EXPECT_EQ(result.value, 220);
      EXPECT_EQ(result.metrics.devices, 3);
      continue;
    }
    EXPECT_EQ(result.metrics.step, 40 * Second) << name(objective);
    EXPECT_EQ(result.metrics.devices, 3);
  }
}

TEST(Place, StopsWhenTold) {
  std::atomic<bool> stop = true;
  PlacementOptions options;
  options.stop = &stop;
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.schedules = {PipelineSchedule::OneFOneB};
  PlacementResult result = place(problem, options);
  EXPECT_LT(result.bound, place(problem).value);
}

TEST(Place, BoundsNothingAgainAfterAStop) {
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.schedules = {PipelineSchedule::OneFOneB};
  double value = place(problem).value;
  std::atomic<bool> stop = true;
  BoundProof proof = proveBound(problem, value / 2, 2'000'000, 1e7, {}, &stop);
  EXPECT_GT(proof.configurations, 0u);
  EXPECT_EQ(proof.byWork + proof.byCuts + proof.byPlans, 0u);
  EXPECT_EQ(proof.trusted.size(), 1u);
  EXPECT_FALSE(proof.better);
  // Without a stop, and without work to spend, a bound by the groups' work is still proved.
  BoundProof brief = proveBound(problem, value / 100, 0, 1e7);
  EXPECT_EQ(brief.byWork, brief.configurations);
}

TEST(Place, RunnersUpDifferInDegrees) {
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.schedules = {PipelineSchedule::OneFOneB};
  PlacementResult result = place(problem);
  auto others = runnersUp(problem, result, 5);
  ASSERT_EQ(others.size(), 5u);
  auto degrees = [&](const Placement &plan) {
    const auto &parallelConfig = problem.parallelConfigs[plan.stages[0].parallelConfig];
    return std::tuple(plan.stages.size(), parallelConfig.tensor, parallelConfig.data);
  };
  std::vector<std::tuple<size_t, int64_t, int64_t>> seen{degrees(*result.plan)};
  double last = result.value;
  for (const RunnerUp &other : others) {
    EXPECT_TRUE(findViolations(problem, other.plan).empty());
    EXPECT_EQ(evaluate(problem, other.plan).value, other.metrics.value);
    EXPECT_GE(other.metrics.value, last);
    last = other.metrics.value;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), degrees(other.plan)), 0);
    seen.push_back(degrees(other.plan));
  }
}

TEST(Place, NamesWhatConflicts) {
  // One device of 100 bytes, two layers that need 90 and 60: memory and devices conflict.
  PlacementProblem problem;
  problem.deviceTypes = {{"small", 1, 1, 100, 0, 0, 0, {}}};
  problem.parallelConfigs.emplace_back();
  for (int64_t staticMemory : {90, 60}) {
    PlacementProblem::Cost cost;
    cost.forward = cost.backward = 10, cost.staticMemory = staticMemory;
    cost.recomputeChoices = {{"none", 0, 0, 0}};
    problem.layers.push_back({"layer", static_cast<uint32_t>(problem.classes.size()), {}, {}});
    problem.classes.push_back({"class", {cost}});
  }
  problem.edges = {{0, 1, 1}};
  problem.links = {{}};
  problem.limits.step = 1000; // harmless
  PlacementConflict conflict = conflictsOf(problem);
  ASSERT_EQ(conflict.conflicts.size(), 2u);
  EXPECT_EQ(conflict.conflicts[0].constraint, "memory of 'small'");
  EXPECT_EQ(conflict.conflicts[1].constraint, "devices of 'small'");
  EXPECT_EQ(conflict.conflicts[0].detail, "needs 50 bytes more memory on each 'small'");
  EXPECT_EQ(conflict.conflicts[1].detail, "needs 1 more device of 'small'");
  // A step that no plan is short enough for.
  problem.deviceTypes[0].memory = 1000;
  problem.limits.step = 5;
  conflict = conflictsOf(problem);
  ASSERT_EQ(conflict.conflicts.size(), 1u);
  EXPECT_EQ(conflict.conflicts[0].constraint, "step time");
  EXPECT_EQ(conflict.conflicts[0].detail, "needs a step of 4e-11 s");
  problem.limits.step = 0;
  EXPECT_TRUE(conflictsOf(problem).conflicts.empty());
}
