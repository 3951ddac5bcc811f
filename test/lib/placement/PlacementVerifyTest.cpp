// The verifier of placements: right answers hold, every kind of corruption is found, and its bound
// is none that a plan passes.
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "test/support/PlacementEnumerator.h"
#include "test/support/PlacementProblems.h"
#include "test/support/PlacementRandom.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::string texts(const Errors &errors) {
  std::string all;
  for (const Error &error : errors)
    all += numberOf(error.code) + ": " + error.message + "\n";
  return all;
}

/// Of all plans of small problems: none is refused, none is better than the least bound, and a
/// bound above the best is never proved.
TEST(PlacementVerify, EveryPlanOfSmallProblems) {
  size_t plans = 0, solved = 0, proved = 0, refuted = 0, infeasible = 0, provedInfeasible = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed, 4);
    ASSERT_EQ(texts(check(p)), "") << seed;
    size_t every = 0;
    forEachPlacement(p, [&](const Placement &plan, const PlanMetrics &metrics) {
      if (++every % 5 != 0)
        return;
      ++plans;
      PlacementResult result{plan, metrics, metrics.value, 0, "", 0, 0, {}};
      ASSERT_EQ(texts(verify(p, result)), "") << seed;
    });
    PlacementResult best = bruteForcePlacement(p);
    if (!best.plan)
      best.bound = INFINITY; // that there is none
    std::vector<std::string> trusted;
    Errors errors = verify(p, best, &trusted);
    if (!best.plan) { // refused where the proof leaves a rest
      ++infeasible, provedInfeasible += errors.empty();
      ASSERT_TRUE(trusted.empty()) << seed;
      ASSERT_TRUE(errors.empty() || llvm::StringRef(errors[0].message).contains("the proof is not complete")) << seed;
      continue;
    }
    ASSERT_EQ(texts(errors), "") << seed;
    ++solved, proved += trusted.empty();
    BoundProof above = proveBound(p, best.value * 1.001, 20'000'000, 2e7);
    if (above.better) {
      ++refuted;
      ASSERT_GE(above.value, best.value * (1 - 1e-9)) << seed;
      ASSERT_TRUE(findViolations(p, *above.better).empty()) << seed;
      ASSERT_DOUBLE_EQ(evaluate(p, *above.better).value, above.value) << seed;
    } else {
      ASSERT_FALSE(above.trusted.empty()) << seed << " proved " << best.value * 1.001;
    }
  }
  std::printf("%zu plans; %zu solved: %zu proved, %zu refuted above; %zu infeasible: %zu proved\n", plans, solved,
              proved, refuted, infeasible, provedInfeasible);
  EXPECT_GT(plans, 900u);
  EXPECT_GT(proved * 10, solved * 8);
  EXPECT_GT(refuted * 10, solved * 8);
}

/// Ways to spoil a right answer; each returns false where it has nothing to change.
struct Mutation {
  const char *name;
  std::function<bool(const PlacementProblem &, PlacementResult &, std::mt19937_64 &)> apply;
};
using R = PlacementResult &;
using Random = std::mt19937_64;
using Problem = const PlacementProblem &;

PlacedStage &anyStage(R r, Random &random) { return r.plan->stages[random() % r.plan->stages.size()]; }

/// Takes the i-th layer out of the stage.
std::pair<uint32_t, uint32_t> take(PlacedStage &stage, size_t i) {
  std::pair<uint32_t, uint32_t> layer{stage.layers[i], stage.recomputeChoices[i]};
  stage.layers.erase(stage.layers.begin() + static_cast<ptrdiff_t>(i));
  stage.recomputeChoices.erase(stage.recomputeChoices.begin() + static_cast<ptrdiff_t>(i));
  return layer;
}
void put(PlacedStage &stage, std::pair<uint32_t, uint32_t> layer) {
  auto at = std::lower_bound(stage.layers.begin(), stage.layers.end(), layer.first) - stage.layers.begin();
  stage.layers.insert(stage.layers.begin() + at, layer.first);
  stage.recomputeChoices.insert(stage.recomputeChoices.begin() + at, layer.second);
}
template <typename Number> auto off(Number PlanMetrics::*field, Number by) {
  return [=](Problem, R r, Random &) { return r.metrics.*field += by, true; };
}
template <typename Number> auto offOne(std::vector<Number> PlanMetrics::*field) {
  return [=](Problem, R r, Random &random) {
    auto &list = r.metrics.*field;
    return list[random() % list.size()] += random() % 2 ? 1 : -1, true;
  };
}
auto offTime(int64_t StageTimes::*field) {
  return [=](Problem, R r, Random &random) {
    return r.metrics.times[random() % r.metrics.times.size()].*field += random() % 2 ? 1 : -1, true;
  };
}

const std::vector<Mutation> &mutations() {
  static const std::vector<Mutation> all{
      {"layer moved to another stage",
       [](Problem, R r, Random &random) {
         auto &from = anyStage(r, random), &to = anyStage(r, random);
         if (&from == &to)
           return false;
         return put(to, take(from, random() % from.layers.size())), true;
       }},
      {"layer in two stages",
       [](Problem, R r, Random &random) {
         auto &from = anyStage(r, random), &to = anyStage(r, random);
         if (&from == &to)
           return false;
         return put(to, {from.layers[0], from.recomputeChoices[0]}), true;
       }},
      {"layer twice in a stage",
       [](Problem, R r, Random &random) {
         auto &stage = anyStage(r, random);
         return put(stage, {stage.layers[0], stage.recomputeChoices[0]}), true;
       }},
      {"layer missing",
       [](Problem, R r, Random &random) {
         auto &stage = anyStage(r, random);
         return take(stage, random() % stage.layers.size()), true;
       }},
      {"layer that is not there",
       [](Problem p, R r, Random &random) {
         auto &stage = anyStage(r, random);
         return stage.layers.back() = static_cast<uint32_t>(p.layers.size() + random() % 9), true;
       }},
      {"layers out of order",
       [](Problem, R r, Random &random) {
         auto &stage = anyStage(r, random);
         if (stage.layers.size() < 2)
           return false;
         return std::swap(stage.layers[0], stage.layers[1]), true;
       }},
      {"form swapped",
       [](Problem p, R r, Random &random) {
         auto parallelConfig = static_cast<uint32_t>(random() % p.parallelConfigs.size());
         bool changed = false;
         for (PlacedStage &stage : r.plan->stages)
           changed |= stage.parallelConfig != parallelConfig, stage.parallelConfig = parallelConfig;
         const auto &now = p.parallelConfigs[parallelConfig];
         // The same by another name is no corruption.
         return changed && now.data * now.microbatch * r.plan->microbatches != p.batch;
       }},
      {"form of a later stage swapped",
       [](Problem p, R r, Random &) {
         if (p.parallelConfigs.size() < 2 || !p.uniformConfigPerDeviceType || r.plan->stages.size() < 2)
           return false;
         auto &parallelConfig = r.plan->stages.back().parallelConfig;
         for (uint32_t f = 0; f < p.parallelConfigs.size(); ++f)
           if (f != parallelConfig && p.parallelConfigs[f].deviceType == p.parallelConfigs[parallelConfig].deviceType)
             return parallelConfig = f, true;
         return false;
       }},
      {"form that is not there",
       [](Problem p, R r, Random &random) {
         return anyStage(r, random).parallelConfig = static_cast<uint32_t>(p.parallelConfigs.size()), true;
       }},
      {"keep changed",
       [](Problem p, R r, Random &random) {
         auto &stage = anyStage(r, random);
         if (p.cost(stage.layers[0], stage.parallelConfig)->recomputeChoices.size() < 2)
           return false;
         return stage.recomputeChoices[0] = 1 - stage.recomputeChoices[0], true;
       }},
      {"keep that is not there",
       [](Problem, R r, Random &random) { return anyStage(r, random).recomputeChoices[0] = 7, true; }},
      {"keep missing",
       [](Problem, R r, Random &random) { return anyStage(r, random).recomputeChoices.pop_back(), true; }},
      {"stages in another order",
       [](Problem p, R r, Random &) {
         auto &stages = r.plan->stages;
         if (stages.size() < 2 || p.edges.empty())
           return false;
         std::vector<size_t> of(p.layers.size());
         for (size_t s = 0; s < stages.size(); ++s)
           for (uint32_t layer : stages[s].layers)
             of[layer] = s;
         for (const auto &edge : p.edges)
           if (of[edge.from] != of[edge.to])
             return std::swap(stages[of[edge.from]], stages[of[edge.to]]), true;
         return false;
       }},
      {"chunks", [](Problem, R r, Random &) { return ++r.plan->virtualStages, true; }},
      {"chunks below one", [](Problem, R r, Random &) { return r.plan->virtualStages = 0, true; }},
      {"micro-batches", [](Problem, R r, Random &) { return ++r.plan->microbatches, true; }},
      {"micro-batches beyond numbers", [](Problem, R r, Random &) { return r.plan->microbatches = INT64_MAX, true; }},
      {"schedule that is not in the search space",
       [](Problem p, R r, Random &) {
         for (unsigned s = 0; s < 4; ++s)
           if (std::find(p.schedules.begin(), p.schedules.end(), static_cast<PipelineSchedule>(s)) == p.schedules.end())
             return r.plan->schedule = static_cast<PipelineSchedule>(s), true;
         return false;
       }},
      {"stage empty",
       [](Problem, R r, Random &random) {
         auto &stage = anyStage(r, random);
         return stage.layers.clear(), stage.recomputeChoices.clear(), true;
       }},
      {"no stages", [](Problem, R r, Random &) { return r.plan->stages.clear(), true; }},
      {"forward time", offTime(&StageTimes::forward)},
      {"backward time", offTime(&StageTimes::backward)},
      {"weight time", offTime(&StageTimes::weight)},
      {"time to send", offTime(&StageTimes::send)},
      {"time to finish", offTime(&StageTimes::stepTail)},
      {"times of a stage missing", [](Problem, R r, Random &) { return r.metrics.times.pop_back(), true; }},
      {"step one longer", off(&PlanMetrics::step, int64_t(1))},
      {"step one shorter", off(&PlanMetrics::step, int64_t(-1))},
      {"host", offOne(&PlanMetrics::host)},
      {"memory", offOne(&PlanMetrics::memory)},
      {"micro-batches in flight", offOne(&PlanMetrics::inFlight)},
      {"devices", off(&PlanMetrics::devices, int64_t(1))},
      {"energy", [](Problem, R r, Random &) { return r.metrics.joules *= 1.00001, true; }},
      {"price", [](Problem, R r, Random &) { return r.metrics.price *= 1.00001, true; }},
      {"value of the plan", [](Problem, R r, Random &) { return r.metrics.value *= 0.9999, true; }},
      {"value of the answer", [](Problem, R r, Random &) { return r.value *= 1.0001, true; }},
      {"value that is no number",
       [](Problem, R r, Random &) { return r.value = r.metrics.value = r.bound = NAN, true; }},
      {"does not fit", [](Problem, R r, Random &) { return r.metrics.fits = false, true; }},
      {"bound raised", [](Problem, R r, Random &) { return r.bound *= 1.00001, true; }},
      {"bound that is no number", [](Problem, R r, Random &) { return r.bound = NAN, true; }},
  };
  return all;
}

TEST(PlacementVerify, EveryMutationIsFound) {
  std::vector<size_t> found(mutations().size());
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed + 5000, 4);
    PlacementResult best = bruteForcePlacement(p);
    if (!best.plan)
      continue;
    Random random(seed);
    for (size_t i = 0; i < mutations().size(); ++i) {
      PlacementResult spoiled = best;
      if (!mutations()[i].apply(p, spoiled, random))
        continue;
      EXPECT_FALSE(verify(p, spoiled).empty()) << mutations()[i].name << " of seed " << seed;
      ++found[i];
    }
  }
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_GT(found[i], 0u) << mutations()[i].name;
}

/// A worse plan than the best, with the bound of what the best would have to beat, and none where
/// there is one.
TEST(PlacementVerify, BoundsAboveABetterPlanAreFound) {
  size_t tried = 0, found = 0, denied = 0, deniedFound = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed + 9000, 4);
    PlacementResult best = bruteForcePlacement(p);
    if (!best.plan)
      continue;
    PlacementResult worse;
    forEachPlacement(p, [&](const Placement &plan, const PlanMetrics &metrics) {
      if (metrics.value > worse.value)
        worse = {plan, metrics, metrics.value, metrics.value, "", 0, 0, {}};
    });
    std::vector<std::string> trusted;
    if (worse.value > best.value * 1.001) {
      ++tried;
      Errors errors = verify(p, worse, &trusted);
      EXPECT_TRUE(!errors.empty() || !trusted.empty());
      found += !errors.empty() && errors[0].code == Code::BoundNotProved;
    }
    // No plan was found, and then that there is none.
    PlacementResult none;
    trusted.clear();
    EXPECT_TRUE(verify(p, none, &trusted).empty());
    EXPECT_FALSE(trusted.empty());
    none.bound = INFINITY;
    trusted.clear();
    ++denied;
    Errors errors = verify(p, none, &trusted);
    ASSERT_FALSE(errors.empty()); // also where the proof found no plan, but left a rest
    deniedFound += llvm::StringRef(errors[0].message).contains("one of objective");
  }
  EXPECT_GT(tried, 50u);
  EXPECT_GE(found * 100, tried * 95);
  EXPECT_GE(deniedFound * 100, denied * 95);
}

/// Replicas that share each sample are no replicas of a step's samples: what says so is proved, and a plan of another
/// context refused.
TEST(PlacementVerify, ContextsShareTheirSamples) {
  size_t shared = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed + 500, 4);
    for (size_t f = 0; f < p.parallelConfigs.size(); ++f)
      if (p.parallelConfigs[f].data == 2 && (seed + f) % 3 != 0)
        p.parallelConfigs[f].context = 2, p.parallelConfigs[f].expert = 1;
    ASSERT_EQ(texts(check(p)), "") << seed;
    PlacementResult best = bruteForcePlacement(p);
    if (!best.plan)
      continue;
    std::vector<std::string> trusted;
    ASSERT_EQ(texts(verify(p, best, &trusted)), "") << seed;
    auto &config = p.parallelConfigs[best.plan->stages[0].parallelConfig];
    if (config.context == 1)
      continue;
    ++shared;
    config.context = 1;
    Errors errors = verify(p, best);
    ASSERT_FALSE(errors.empty()) << seed;
    EXPECT_EQ(errors[0].code, Code::WrongBatch) << seed;
  }
  EXPECT_GT(shared, 20u);
}

TEST(PlacementVerify, LimitsAndMemory) {
  PlacementProblem p = randomPlacementProblem(3, 4);
  for (uint64_t seed = 4; !bruteForcePlacement(p).plan; ++seed)
    p = randomPlacementProblem(seed, 4);
  PlacementResult best = bruteForcePlacement(p);
  auto after = [&](auto change) {
    PlacementProblem changed = p;
    changed.limits = {};
    change(changed);
    Errors errors = verify(changed, best);
    return errors.empty() ? std::string("fine") : numberOf(errors[0].code);
  };
  EXPECT_EQ(after([](auto &) {}), "fine");
  EXPECT_EQ(after([&](auto &q) { q.limits.step = best.metrics.step - 1; }), "A0952");
  EXPECT_EQ(after([&](auto &q) { q.limits.joules = best.metrics.joules * 0.99; }), "A0952");
  EXPECT_EQ(after([&](auto &q) { q.limits.price = best.metrics.price * 0.99; }), "A0952");
  EXPECT_EQ(after([&](auto &q) {
              q.limits.watts = best.metrics.joules / (static_cast<double>(best.metrics.step) * 1e-12) * 0.99;
            }),
            "A0952");
  EXPECT_EQ(after([&](auto &q) {
              for (auto &deviceType : q.deviceTypes)
                deviceType.memory = *std::max_element(best.metrics.memory.begin(), best.metrics.memory.end()) - 1;
            }),
            "A0904");
}

/// Equal layers on equal groups: the arithmetic alone proves the closed form, without trust.
TEST(PlacementVerify, ClosedFormIsProved) {
  PlacementProblem p;
  p.batch = 32;
  p.deviceTypes = {{"a", 8, 8, 1 << 20, 0, 100, 1, {}}};
  p.links = {{{0, 0}, {0, 0}}};
  p.parallelConfigs.resize(1);
  PlacementProblem::Cost cost;
  cost.forward = 100, cost.backward = 150, cost.weight = 50;
  cost.recomputeChoices = {{}};
  p.classes = {{"layer", {cost}}};
  p.layers.resize(48);
  for (uint32_t l = 1; l < 48; ++l)
    p.edges.push_back({l - 1, l, 8});
  PlacementResult result;
  result.plan = Placement{PipelineSchedule::OneFOneB, 1, 32, std::vector<PlacedStage>(8)};
  for (uint32_t l = 0; l < 48; ++l) {
    result.plan->stages[l / 6].layers.push_back(l);
    result.plan->stages[l / 6].recomputeChoices.push_back(0);
  }
  result.metrics = evaluate(p, *result.plan);
  result.value = result.bound = result.metrics.value;
  EXPECT_EQ(result.value, (32 + 8 - 1) * 6 * 300.0);
  std::vector<std::string> trusted;
  EXPECT_EQ(texts(verify(p, result, &trusted)), "");
  EXPECT_EQ(trusted, std::vector<std::string>{});
  ++result.metrics.devices;
  EXPECT_EQ(verify(p, result)[0].code, Code::WrongPlacementMetrics);
  p.deviceTypes[0].devices = 4;
  EXPECT_EQ(verify(p, result)[0].code, Code::PlacementNotInSearchSpace);
}

/// With no work allowed, the proof says what it rests on instead of passing in silence.
TEST(PlacementVerify, WhatIsNotProvedIsTrusted) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PlacementProblem p = randomPlacementProblem(seed, 4);
    PlacementResult best = bruteForcePlacement(p);
    if (!best.plan)
      continue;
    std::vector<std::string> trusted;
    EXPECT_TRUE(verify(p, best, &trusted, {0, 0}).empty());
    ASSERT_GE(trusted.size(), 1u);
    EXPECT_NE(trusted[0].find("too many to replay"), std::string::npos);
  }
}

/// More recomputation makes these steps shorter, so that no replay with the least of it proves anything.
TEST(PlacementVerify, MoreRecomputationMayHideMoreOfAnExchange) {
  for (uint64_t seed : test::kHidingPlacements) {
    const PlacementProblem problem = test::hidingPlacement(seed);
    const test::Enumerated best = test::enumeratePlans(problem);
    ASSERT_TRUE(best.plan) << seed;
    Placement fastest = *best.plan;
    for (PlacedStage &stage : fastest.stages)
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const auto &choices = problem.cost(stage.layers[i], stage.parallelConfig)->recomputeChoices;
        stage.recomputeChoices[i] = static_cast<uint32_t>(
            std::ranges::min_element(choices, {}, &RecomputeChoice::recomputeTime) - choices.begin());
      }
    EXPECT_GT(reevaluate(problem, fastest)->value, best.best) << seed;
    const BoundProof proof = proveBound(problem, best.best + 1, 60'000'000, 2e7);
    EXPECT_TRUE(proof.better || !proof.trusted.empty()) << seed;
  }
}

} // namespace
