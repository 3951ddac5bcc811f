// Small random placement problems, and all their plans one by one.
#pragma once
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "test/support/PlacementProblems.h"
#include <functional>
#include <random>

namespace accord::testing {

/// Up to three parallel configurations, or four on two device types.
inline void pickParallelConfigs(PlacementProblem &p, std::mt19937_64 &random) {
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  size_t deviceTypes = p.deviceTypes.size();
  size_t parallelConfigs = static_cast<size_t>(pick(1, deviceTypes == 2 ? 4 : 3));
  for (size_t f = 0; f < parallelConfigs; ++f) {
    PlacementProblem::ParallelConfig parallelConfig;
    parallelConfig.deviceType = static_cast<uint32_t>(f % deviceTypes);
    parallelConfig.tensor = pick(1, 2);
    parallelConfig.data = pick(1, 2);
    parallelConfig.microbatch = pick(1, 2);
    if (parallelConfig.data > 1)
      parallelConfig.gradientSyncs = {{1, {{static_cast<double>(pick(0, 20)), 0.75}}}, {2, {{1, 0.25}}}};
    if (pick(0, 3) == 0)
      parallelConfig.zero = 3, parallelConfig.gather = {{2, 0.1}, {0, 0.5}};
    p.parallelConfigs.push_back(parallelConfig);
  }
}

/// Classes of layers; not each runs in each parallel configuration.
inline void pickClasses(PlacementProblem &p, std::mt19937_64 &random, size_t classes) {
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  for (size_t c = 0; c < classes; ++c) {
    PlacementProblem::LayerClass one;
    one.name = "c" + std::to_string(c);
    for (size_t f = 0; f < p.parallelConfigs.size(); ++f) {
      PlacementProblem::Cost cost;
      cost.forward = pick(1, 60), cost.backward = pick(1, 60), cost.weight = pick(0, 40);
      cost.update = pick(0, 30);
      cost.staticMemory = pick(5, 30), cost.gradients = pick(0, 40), cost.weights = pick(0, 40);
      cost.joules = 1e-9 * static_cast<double>(pick(1, 50)), cost.recomputeJoules = 1e-11;
      cost.recomputeChoices = {{"none", 0, pick(10, 60), pick(0, 20)}};
      if (pick(0, 1))
        cost.recomputeChoices.push_back({"full", pick(1, 50), pick(0, 10), pick(0, 40)});
      one.costs.push_back(cost);
      if (pick(0, 15) == 0 && f > 0)
        one.costs.back().reset();
    }
    p.classes.push_back(one);
  }
}

/// Chains, chains with edges that skip layers, or DAGs of 2 to `mostLayers` layers on one or two
/// kinds of devices.
inline PlacementProblem randomPlacementProblem(uint64_t seed, unsigned maxLayers = 5) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  PlacementProblem p;
  p.name = "random";
  p.objective = static_cast<PlacementObjective>(pick(0, 5) > 2 ? 0 : pick(1, 3));
  p.batch = int64_t(1) << pick(0, 3);
  if (pick(0, 4) == 0)
    p.batch = 6;
  auto deviceTypes = static_cast<size_t>(pick(0, 3) == 0 ? 2 : 1);
  for (size_t k = 0; k < deviceTypes; ++k) {
    PlacementProblem::DeviceType deviceType;
    deviceType.name = k ? "b" : "a";
    deviceType.devices = pick(1, deviceTypes == 2 ? 2 : 4);
    deviceType.devicesPerNode = pick(1, 4);
    deviceType.memory = pick(0, 2) ? pick(90, 600) : 100000;
    deviceType.idleWatts = static_cast<double>(pick(0, 100)), deviceType.hostWatts = deviceType.idleWatts / 2;
    deviceType.tdpWatts = static_cast<double>(pick(100, 500));
    deviceType.pricePerHour = static_cast<double>(pick(1, 9));
    p.deviceTypes.push_back(deviceType);
  }
  for (size_t i = 0; i < deviceTypes * deviceTypes; ++i)
    p.links.push_back({{static_cast<double>(pick(0, 5)), 0.5}, {static_cast<double>(pick(3, 20)), 1.25}});
  pickParallelConfigs(p, random);
  auto layers = static_cast<size_t>(pick(2, maxLayers));
  auto classes = static_cast<size_t>(pick(1, 3));
  pickClasses(p, random, classes);
  for (size_t l = 0; l < layers; ++l) {
    PlacementProblem::Layer layer;
    layer.name = "l" + std::to_string(l);
    layer.of = static_cast<uint32_t>(static_cast<size_t>(pick(0, 9)) % classes);
    if (pick(0, 20) == 0)
      layer.placementConstraints.push_back(static_cast<uint32_t>(p.placementConstraints.size())),
          p.placementConstraints.push_back(
              {"pin", {static_cast<uint32_t>(pick(0, static_cast<int64_t>(deviceTypes) - 1))}, {}, false, {}});
    p.layers.push_back(layer);
  }
  int64_t shape = pick(0, 3); // 0, 1: chain · 2: with edges that skip · 3: DAG
  for (uint32_t to = 1; to < layers; ++to)
    for (uint32_t from = 0; from < to; ++from)
      if ((shape < 3 && from + 1 == to) || (shape >= 2 && pick(0, 2) == 0))
        p.edges.push_back({from, to, pick(0, 12)});
  p.schedules.clear();
  for (int64_t s = 0; s < 4; ++s)
    if (pick(0, 1))
      p.schedules.push_back(static_cast<PipelineSchedule>(s));
  if (p.schedules.empty())
    p.schedules = {PipelineSchedule::OneFOneB};
  p.virtualStages = {2};
  if (int64_t way = pick(0, 3); way == 0)
    p.groups = {{1, 2}};
  else if (way == 1)
    p.groups = {{1, 1}, {3, 4}};
  p.uniformConfigPerDeviceType = pick(0, 2) > 0;
  p.blockingTransfers = pick(0, 1);
  p.overlapFraction = pick(0, 1) ? 0.5 : 0;
  p.hostOverheadPerMicrobatch = pick(0, 3);
  p.hostOverheadPerStep = pick(0, 9);
  if (pick(0, 7) == 0)
    p.limits.devices = pick(1, 3);
  if (pick(0, 7) == 0)
    p.limits.step = pick(200, 2000);
  test::addOtherChoices(p, seed);
  return p;
}

inline bool withinLimits(const PlacementProblem &p, const PlanMetrics &w) {
  const auto &l = p.limits;
  return w.fits && (l.step == 0 || w.step <= l.step) && (l.devices == 0 || w.devices <= l.devices) &&
         (l.joules == 0 || w.joules <= l.joules) && (l.price == 0 || w.price <= l.price) &&
         (l.watts == 0 || w.joules <= l.watts * static_cast<double>(w.step) * 1e-12);
}

/// Every plan that fits and is within the limits: each layer in each stage in each form with each
/// choice.
inline void forEachPlacement(const PlacementProblem &p,
                             const std::function<void(const Placement &, const PlanMetrics &)> &look) {
  size_t n = p.layers.size();
  for (PipelineSchedule schedule : p.schedules)
    for (int64_t virtualStages : virtualStagesOf(p, modelOf(schedule)))
      for (size_t stages = static_cast<size_t>(virtualStages); stages <= n;
           stages += static_cast<size_t>(virtualStages)) {
        size_t groups = stages / static_cast<size_t>(virtualStages);
        std::vector<uint32_t> parallelConfig(groups), stage(n), recomputeChoice(n);
        auto count = [](std::vector<uint32_t> &digits, auto max) { // false: all seen
          for (size_t i = 0; i < digits.size(); ++i) {
            if (++digits[i] < max(i))
              return true;
            digits[i] = 0;
          }
          return false;
        };
        do {
          const auto &first = p.parallelConfigs[parallelConfig[0]];
          int64_t m = p.batch / first.samples();
          do {
            bool back = false;
            for (const auto &edge : p.edges)
              back |= stage[edge.from] > stage[edge.to];
            if (back || m < 1)
              continue;
            auto recomputeChoices = [&](size_t l) {
              const auto &cost = p.cost(static_cast<uint32_t>(l),
                                        parallelConfig[static_cast<size_t>(
                                            modelOf(schedule).groupOf(stage[l], static_cast<int64_t>(groups)))]);
              return cost ? static_cast<uint32_t>(cost->recomputeChoices.size()) : 1u;
            };
            std::fill(recomputeChoice.begin(), recomputeChoice.end(), 0);
            do {
              Placement plan{schedule, virtualStages, m, std::vector<PlacedStage>(stages)};
              for (size_t s = 0; s < stages; ++s)
                plan.stages[s].parallelConfig = parallelConfig[plan.groupOf(s)];
              for (uint32_t l = 0; l < n; ++l) {
                plan.stages[stage[l]].layers.push_back(l);
                plan.stages[stage[l]].recomputeChoices.push_back(recomputeChoice[l]);
              }
              if (!findViolations(p, plan).empty())
                break;
              PlanMetrics metrics = evaluate(p, plan);
              if (withinLimits(p, metrics))
                look(plan, metrics);
            } while (count(recomputeChoice, recomputeChoices));
          } while (count(stage, [&](size_t) { return static_cast<uint32_t>(stages); }));
        } while (count(parallelConfig, [&](size_t) { return static_cast<uint32_t>(p.parallelConfigs.size()); }));
      }
}

/// The best of all, its value as bound; without a plan where none fits.
inline PlacementResult bruteForcePlacement(const PlacementProblem &p, size_t *seen = nullptr) {
  PlacementResult best;
  forEachPlacement(p, [&](const Placement &plan, const PlanMetrics &metrics) {
    if (seen)
      ++*seen;
    if (!best.plan || metrics.value < best.value) {
      best.plan = plan, best.metrics = metrics;
      best.value = best.bound = metrics.value;
    }
  });
  return best;
}

} // namespace accord::testing
