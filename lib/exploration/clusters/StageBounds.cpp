#include "lib/exploration/clusters/StageBounds.h"
#include "lib/exploration/clusters/StagedDesigns.h"
#include "lib/placement/solve/HeterogeneousStages.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
using Id = PlacementProblem::Id;

} // namespace

std::vector<int64_t> stageCounts(const PlacementProblem &problem, const PlacementProblem::ParallelConfig &degrees) {
  std::vector<int64_t> all;
  int64_t devices = problem.deviceTypes.front().devices;
  if (problem.limits.devices > 0)
    devices = std::min(devices, problem.limits.devices);
  int64_t max = std::min(devices / degrees.devices(), static_cast<int64_t>(problem.layers.size()));
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
    double fastest = kNever;
    for (size_t policy = 0; policy < layers.policies(); ++policy)
      fastest = std::min(fastest, times[cls * layers.policies() + policy]);
    bounds.time.push_back(fastest);
    bounds.costTime.push_back(minCostTimes[cls]);
    bounds.chain &= layer == 0 || edges.contains({layer - 1, layer});
  }
  // What forms have besides their devices and micro-batches is only in the length of a step.
  double lowest = below, work = std::accumulate(bounds.time.begin(), bounds.time.end(), 0.0);
  for (PipelineSchedule schedule : ideal->schedules)
    for (Id parallelConfig = 0; parallelConfig < ideal->parallelConfigs.size(); ++parallelConfig) {
      const PlacementProblem::ParallelConfig &degrees = ideal->parallelConfigs[parallelConfig];
      int64_t samples = degrees.data * degrees.microbatch;
      if (ideal->batch % samples != 0)
        continue;
      bounds.schedule = schedule;
      bounds.microbatches = ideal->batch / samples;
      for (int64_t p : stageCounts(*ideal, degrees)) {
        bounds.stages = p;
        double each = 1e-12 * (metric == MiningMetric::AreaTime ? 1 / static_cast<double>(p)
                                                                : static_cast<double>(degrees.devices()));
        double even = work * bounds.microbatches / p;
        if (minStageCost(bounds, even, lowest / each) * each >= lowest)
          continue;
        PlacementProblem only = *ideal; // with room for what its stages hold
        only.schedules = {schedule}, only.groups = {{p, p}};
        only.parallelConfigs = {degrees};
        for (PlacementProblem::LayerClass &cls : only.classes)
          cls.costs = {cls.costs[parallelConfig]};
        double step = lowerBoundByCuts(only, kNever);
        if (std::isfinite(step))
          lowest = std::min(lowest, minStageCost(bounds, std::max(step, even), lowest / each) * each);
      }
    }
  return lowest * (1 - 1e-9);
}

} // namespace accord
