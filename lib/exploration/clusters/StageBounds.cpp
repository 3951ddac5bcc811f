#include "lib/exploration/clusters/StageBounds.h"
#include "lib/exploration/clusters/StagedDesigns.h"
#include "lib/placement/solve/HeterogeneousStages.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace accord {
namespace {

using Id = PlacementProblem::Id;
constexpr size_t kMaxLayers = 400;
constexpr double kInterval = 1.004; ///< of lengths of a step

/// Least sum of costs of steps no longer than `longest`.
double costWithin(const StageLowerBounds &bounds, const std::vector<double> &time, const std::vector<double> &costTime,
                  double longest) {
  size_t layers = bounds.time.size();
  int64_t p = bounds.stages;
  double m = bounds.microbatches;
  std::vector<double> behind(layers + 1, INFINITY), here;
  behind[layers] = 0;
  for (int64_t s = p; s-- > 0;) {
    here.assign(layers + 1, INFINITY);
    for (size_t from = s; from < layers; ++from)
      for (size_t to = from + 1; to <= layers; ++to) {
        if (std::isinf(behind[to]))
          continue;
        double before = time[from], after = time[layers] - time[to], own = time[to] - time[from];
        double value = costTime[to] - costTime[from], cost = bounds.cost;
        // A way that takes `fixed` besides `times` of the stage's own passes.
        auto way = [&](double fixed, double times) {
          double left = longest - fixed;
          if (left < own * times)
            return false;
          if (left > 0)
            cost = std::max(cost, value * times / left);
          return true;
        };
        bool can = way(0, m);
        if (can && bounds.chain) {
          double k = std::min(bounds.microbatches, p - s);
          if (bounds.schedule == PipelineSchedule::GPipe)
            can = way(before + after, m);
          else
            can = way(before, m) && (!(m > k) || way(before + 2 * after, m - k + 1));
        }
        if (!can)
          break; // nor do more layers
        here[from] = std::min(here[from], behind[to] + cost);
      }
    behind.swap(here);
  }
  return behind[0];
}

} // namespace

double minStageCost(const StageLowerBounds &bounds, double shortest, double below) {
  size_t layers = bounds.time.size();
  if (layers == 0 || bounds.stages < 1 || size_t(bounds.stages) > layers)
    return INFINITY;
  double floor = shortest * bounds.stages * bounds.cost;
  if (layers > kMaxLayers || !(shortest > 0) || !(bounds.cost > 0) || !std::isfinite(below))
    return std::min(floor, below);
  std::vector<double> time{0}, costTime{0};
  for (size_t i = 0; i < layers; ++i)
    time.push_back(time.back() + bounds.time[i]), costTime.push_back(costTime.back() + bounds.costTime[i]);
  double best = below;
  for (double from = shortest; from * bounds.stages * bounds.cost < best; from *= kInterval)
    best = std::min(best, from * costWithin(bounds, time, costTime, from * kInterval * (1 + 1e-12)));
  return best;
}

std::vector<int64_t> stageCounts(const PlacementProblem &problem, const PlacementProblem::ParallelConfig &degrees) {
  std::vector<int64_t> all;
  int64_t devices = problem.deviceTypes.front().devices;
  if (problem.limits.devices > 0)
    devices = std::min(devices, problem.limits.devices);
  int64_t max = std::min<int64_t>(devices / degrees.devices(), problem.layers.size());
  for (int64_t p = 1; p <= max; ++p)
    if (problem.mayHaveGroups(p) && problem.mayHaveStages(p))
      all.push_back(p);
  return all;
}

double stageStepBound(const StageLayers &layers, const std::vector<double> &times, double below) {
  auto ideal = layers.ideal(times);
  return ideal ? std::max(layers.root(), lowerBoundByCuts(*ideal, below)) : layers.root();
}

double stageCostBound(const StageLayers &layers, const std::vector<double> &times,
                      const std::vector<double> &minCostTimes, double cost, MiningMetric metric, double below) {
  auto ideal = layers.ideal(times);
  if (!ideal)
    return 0;
  const PlacementProblem &common = layers.common();
  StageLowerBounds bounds;
  bounds.cost = cost;
  std::set<std::pair<Id, Id>> edges;
  for (const PlacementProblem::Edge &edge : common.edges)
    edges.insert({edge.from, edge.to});
  for (Id layer = 0; layer < common.layers.size(); ++layer) {
    Id cls = common.layers[layer].of;
    bounds.time.push_back(layers.fastest(times, cls));
    bounds.costTime.push_back(minCostTimes[cls]);
    bounds.chain &= layer == 0 || edges.contains({layer - 1, layer});
  }
  // What forms have besides their devices and micro-batches is only in the length of a step.
  double lowest = below, work = std::accumulate(bounds.time.begin(), bounds.time.end(), 0.0);
  for (PipelineSchedule schedule : ideal->schedules)
    for (Id config = 0; config < ideal->parallelConfigs.size(); ++config) {
      const PlacementProblem::ParallelConfig &degrees = ideal->parallelConfigs[config];
      int64_t samples = degrees.data * degrees.microbatch;
      if (ideal->batch % samples != 0)
        continue;
      bounds.schedule = schedule;
      bounds.microbatches = ideal->batch / samples;
      for (int64_t p : stageCounts(*ideal, degrees)) {
        bounds.stages = p;
        double each = 1e-12 * (metric == MiningMetric::AreaTime ? 1.0 / p : degrees.devices());
        double even = work * bounds.microbatches / p;
        if (minStageCost(bounds, even, lowest / each) * each >= lowest)
          continue;
        PlacementProblem only = *ideal; // with room for what its stages hold
        only.schedules = {schedule}, only.groups = {{p, p}};
        only.parallelConfigs = {degrees};
        for (PlacementProblem::LayerClass &cls : only.classes)
          cls.costs = {cls.costs[config]};
        double step = lowerBoundByCuts(only, INFINITY);
        if (std::isfinite(step))
          lowest = std::min(lowest, minStageCost(bounds, std::max(step, even), lowest / each) * each);
      }
    }
  return lowest * (1 - 1e-9);
}

} // namespace accord
