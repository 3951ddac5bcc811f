#include "lib/exploration/clusters/StageBounds.h"
#include "lib/exploration/clusters/Stages.h"
#include "lib/placement/solve/PlaceStages.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
using Id = PlacementProblem::Id;

} // namespace

std::vector<int64_t> stagesOf(const PlacementProblem &problem,
                              const PlacementProblem::Form &degrees) {
  std::vector<int64_t> all;
  int64_t devices = problem.kinds.front().devices;
  if (problem.limits.devices > 0)
    devices = std::min(devices, problem.limits.devices);
  int64_t most = std::min(devices / degrees.devices(), static_cast<int64_t>(problem.layers.size()));
  for (int64_t p = 1; p <= most; ++p)
    if (problem.mayHaveGroups(p) && problem.mayHaveStages(p))
      all.push_back(p);
  return all;
}

double stageStepBound(const StageLayers &layers, const std::vector<double> &times, double below) {
  auto ideal = layers.ideal(times);
  return ideal ? std::max(layers.root(), leastByCuts(*ideal, below)) : layers.root();
}

double stageCostBound(const StageLayers &layers, const std::vector<double> &times,
                      const std::vector<double> &worths, double cost, MiningMetric metric,
                      double below) {
  auto ideal = layers.ideal(times);
  if (!ideal)
    return 0;
  const PlacementProblem &common = layers.common();
  StageLeast least;
  least.cost = cost;
  std::set<std::pair<Id, Id>> edges;
  for (const PlacementProblem::Edge &edge : common.edges)
    edges.insert({edge.from, edge.to});
  for (Id layer = 0; layer < common.layers.size(); ++layer) {
    Id cls = common.layers[layer].of;
    double fastest = kNever;
    for (size_t policy = 0; policy < layers.policies(); ++policy)
      fastest = std::min(fastest, times[cls * layers.policies() + policy]);
    least.time.push_back(fastest);
    least.worth.push_back(worths[cls]);
    least.chain &= layer == 0 || edges.contains({layer - 1, layer});
  }
  // What forms have besides their devices and micro-batches is only in the length of a step.
  double lowest = below, work = std::accumulate(least.time.begin(), least.time.end(), 0.0);
  for (PipelineSchedule schedule : ideal->schedules)
    for (Id form = 0; form < ideal->forms.size(); ++form) {
      const PlacementProblem::Form &degrees = ideal->forms[form];
      int64_t samples = degrees.data * degrees.microbatch;
      if (ideal->batch % samples != 0)
        continue;
      least.schedule = schedule;
      least.microbatches = ideal->batch / samples;
      for (int64_t p : stagesOf(*ideal, degrees)) {
        least.stages = p;
        double each =
            1e-12 * (metric == MiningMetric::AreaTime ? 1 / static_cast<double>(p)
                                                      : static_cast<double>(degrees.devices()));
        double even = work * static_cast<double>(least.microbatches) / static_cast<double>(p);
        if (leastStageCost(least, even, lowest / each) * each >= lowest)
          continue;
        PlacementProblem only = *ideal; // with room for what its stages hold
        only.schedules = {schedule}, only.groups = {{p, p}};
        only.forms = {degrees};
        for (PlacementProblem::LayerClass &cls : only.classes)
          cls.costs = {cls.costs[form]};
        double step = leastByCuts(only, kNever);
        if (std::isfinite(step))
          lowest =
              std::min(lowest, leastStageCost(least, std::max(step, even), lowest / each) * each);
      }
    }
  return lowest * (1 - 1e-9);
}

} // namespace accord
