// The optimizer of placements against all plans there are.
#include "lib/placement/solve/Place.h"
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/verify/PlacementEven.h"
#include "test/lib/placement/PlacementProblems.h"
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
    PlacementProblem problem =
        test::randomPlacement(seed, 2 + seed % 6, 2 + static_cast<int64_t>(seed % 7));
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
      problem.limits.watts =
          free.worth.joules / (static_cast<double>(free.worth.step) * 1e-12) * 0.9;
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

/// Interleaved chains of equal layers between other ones, in memory that makes the chunks compute
/// again: bounds by games between paths and plans.
TEST(Place, FindsTheBestEvenStages) {
  std::mt19937_64 random(11);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  size_t scarce = 0, none = 0, close = 0;
  for (int compared = 0; compared < 150;) {
    PlacementProblem problem;
    auto layers = static_cast<uint32_t>(pick(4, 8));
    problem.batch = 2 * pick(1, 4);
    problem.kinds = {{"device", 2, pick(1, 2), pick(60, 700), 10, 100, 1, {}}};
    problem.forms = {{}};
    problem.classes.resize(3);
    for (auto &one : problem.classes) {
      PlacementProblem::Cost cost;
      cost.forward = pick(1, 60), cost.backward = pick(1, 60), cost.weight = pick(0, 40);
      cost.update = pick(0, 30), cost.resident = pick(0, 20), cost.gradients = pick(0, 40);
      cost.keeps = {{"none", 0, pick(10, 60), pick(0, 20)}};
      if (pick(0, 2))
        cost.keeps.push_back({"full", pick(1, 50), pick(0, 10), pick(0, 40)});
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
    problem.chunks = {2, 3};
    problem.blockingTransfers = pick(0, 1);
    problem.hidden = pick(0, 1) ? 0.5 : 0;
    problem.perMicrobatch = pick(0, 3), problem.perStep = pick(0, 9);
    BruteForce all{problem, 8000};
    if (!all.run())
      continue;
    expectAllPlans(problem, static_cast<uint64_t>(compared), all.best);
    // The verifier's own bound is not above the best either.
    double least = INFINITY;
    uint64_t work = 0;
    EvenKnown known;
    auto never = [](double, double) { return false; };
    for (int64_t chunks : problem.chunks)
      if (problem.batch % 2 == 0 && 2 * chunks <= static_cast<int64_t>(layers)) {
        Configuration one{problem.batch, chunks, PipelineSchedule::Interleaved, {0}};
        least = std::min(least, evenStep(problem, one, 2, nullptr, never, 2e7, known, work).step);
      }
    least += static_cast<double>(problem.perStep);
    EXPECT_LE(least * (1 - 1e-9), all.best) << compared;
    close += least >= 0.8 * all.best;
    ++compared;
    none += std::isinf(all.best);
    problem.kinds[0].memory = 100'000;
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
      for (auto &kind : more.kinds)
        kind.devices += 2;
      break;
    case 1:
      for (auto &kind : more.kinds)
        kind.memory = kind.memory * 5 / 4;
      break;
    default:
      for (auto &link : more.links)
        link.inside.perByte /= 2, link.across.perByte /= 2;
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
    problem.hidden = 0;                                            // rounds down
    auto latencyOnly = [](LinearTime &time) { time.perByte = 0; }; // rounds up
    for (auto &link : problem.links)
      latencyOnly(link.inside), latencyOnly(link.across);
    for (auto &form : problem.forms) {
      for (auto *syncs : {&form.syncs, &form.expertSyncs})
        for (auto &sync : *syncs)
          std::for_each(sync.ways.begin(), sync.ways.end(), latencyOnly);
      std::for_each(form.gather.begin(), form.gather.end(), latencyOnly);
    }
    PlacementProblem scaled = problem;
    auto scale = [](LinearTime &time) { time.latency *= 7; };
    for (auto &link : scaled.links)
      scale(link.inside), scale(link.across);
    for (auto &form : scaled.forms) {
      for (auto *syncs : {&form.syncs, &form.expertSyncs})
        for (auto &sync : *syncs)
          std::for_each(sync.ways.begin(), sync.ways.end(), scale);
      std::for_each(form.gather.begin(), form.gather.end(), scale);
    }
    for (auto &layer : scaled.classes)
      for (auto &cost : layer.costs)
        if (cost) {
          cost->forward *= 7, cost->backward *= 7, cost->weight *= 7, cost->update *= 7;
          for (auto &keep : cost->keeps)
            keep.again *= 7;
        }
    scaled.perMicrobatch *= 7, scaled.perStep *= 7, scaled.leastStep *= 7;
    EXPECT_EQ(valueOf(scaled), 7 * valueOf(problem)) << "seed " << seed;
  }
}

TEST(Place, OrderOfKindsAndFormsDoesNotMatter) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    PlacementProblem problem = test::randomPlacement(seed, 6, 8), turned = problem;
    std::reverse(turned.forms.begin(), turned.forms.end());
    for (auto &layer : turned.classes)
      std::reverse(layer.costs.begin(), layer.costs.end());
    std::reverse(turned.kinds.begin(), turned.kinds.end());
    std::reverse(turned.links.begin(), turned.links.end()); // [a * 2 + b] both ways round
    auto last = static_cast<uint32_t>(problem.kinds.size() - 1);
    for (auto &form : turned.forms)
      form.kind = last - form.kind;
    for (auto &pin : turned.pins) {
      for (uint32_t &kind : pin.kinds)
        kind = last - kind;
      std::sort(pin.kinds.begin(), pin.kinds.end());
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
    PlaceOptions little, rough;
    little.effort = 0;
    rough.gap = 0.1;
    for (const PlaceOptions &options : {little, rough}) {
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
    EXPECT_TRUE(faults(problem, *result.plan).empty());
  }
}

/// A sample takes 40 s: three take 120 s on one device and 40 s on three replicas, at equal device
/// seconds; devices in a row wait for each other and take more of these.
TEST(Place, OfEqualPlansTheShortestStep) {
  constexpr int64_t Second = 1'000'000'000'000;
  PlacementProblem problem;
  problem.batch = 3;
  problem.kinds = {{"device", 4, 4, 1000, 50, 400, 3.6, {}}};
  problem.forms.resize(2);
  problem.forms[1].data = 3;
  PlacementProblem::Cost cost;
  cost.forward = 4 * Second, cost.backward = 6 * Second, cost.resident = 100;
  cost.keeps = {{"none", 0, 10, 0}};
  problem.classes = {{"class", {cost, cost}}};
  problem.layers.resize(4);
  problem.edges = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  problem.links = {{}};
  for (PlacementObjective objective : {PlacementObjective::Price, PlacementObjective::TdpTime,
                                       PlacementObjective::Energy, PlacementObjective::Memory}) {
    problem.objective = objective;
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
    default: // two layers in the last of three stages, which holds one micro-batch
      EXPECT_EQ(result.value, 220);
      EXPECT_EQ(result.worth.devices, 3);
      continue;
    }
    EXPECT_EQ(result.worth.step, 40 * Second) << name(objective);
    EXPECT_EQ(result.worth.devices, 3);
  }
}

TEST(Place, StopsWhenTold) {
  std::atomic<bool> stop = true;
  PlaceOptions options;
  options.stop = &stop;
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.schedules = {PipelineSchedule::OneFOneB};
  PlacementResult result = place(problem, options);
  EXPECT_LT(result.bound, place(problem).value);
}

TEST(Place, RunnersUpDifferInDegrees) {
  PlacementProblem problem = test::languageModelPlacement(96);
  problem.schedules = {PipelineSchedule::OneFOneB};
  PlacementResult result = place(problem);
  auto others = runnersUp(problem, result, 5);
  ASSERT_EQ(others.size(), 5u);
  auto degrees = [&](const Placement &plan) {
    const auto &form = problem.forms[plan.stages[0].form];
    return std::tuple(plan.stages.size(), form.tensor, form.data);
  };
  std::vector<std::tuple<size_t, int64_t, int64_t>> seen{degrees(*result.plan)};
  double last = result.value;
  for (const RunnerUp &other : others) {
    EXPECT_TRUE(faults(problem, other.plan).empty());
    EXPECT_EQ(judge(problem, other.plan).value, other.worth.value);
    EXPECT_GE(other.worth.value, last);
    last = other.worth.value;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), degrees(other.plan)), 0);
    seen.push_back(degrees(other.plan));
  }
}

TEST(Place, NamesWhatConflicts) {
  // One device of 100 bytes, two layers that need 90 and 60: memory and devices conflict.
  PlacementProblem problem;
  problem.kinds = {{"small", 1, 1, 100, 0, 0, 0, {}}};
  problem.forms.emplace_back();
  for (int64_t resident : {90, 60}) {
    PlacementProblem::Cost cost;
    cost.forward = cost.backward = 10, cost.resident = resident;
    cost.keeps = {{"none", 0, 0, 0}};
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
  EXPECT_EQ(conflict.conflicts[1].detail, "needs 1 more devices of 'small'");
  // A step that no plan is short enough for.
  problem.kinds[0].memory = 1000;
  problem.limits.step = 5;
  conflict = conflictsOf(problem);
  ASSERT_EQ(conflict.conflicts.size(), 1u);
  EXPECT_EQ(conflict.conflicts[0].constraint, "step time");
  EXPECT_EQ(conflict.conflicts[0].detail, "needs a step of 4e-11 s");
  problem.limits.step = 0;
  EXPECT_TRUE(conflictsOf(problem).conflicts.empty());
}
