#include "lib/placement/output/PlacementDocumentCheck.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"

using namespace llvm;
namespace accord {
using json::Path;
namespace {

constexpr double kMax = 0x1p61;

bool fail(Path at, StringLiteral message) {
  at.report(message);
  return false;
}

bool checkConfigs(const PlacementProblem &p, Path at) {
  for (unsigned i = 0; i < p.parallelConfigs.size(); ++i) {
    const ParallelConfig &config = p.parallelConfigs[i];
    if (config.deviceType >= p.deviceTypes.size())
      return fail(at.index(i).field("device_type"), "no device type has this index");
    const int64_t devices = p.deviceTypes[config.deviceType].devices;
    if (config.tensor > devices || config.data > devices / config.tensor)
      return fail(at.index(i), "more devices than there are");
  }
  return true;
}

bool checkClasses(const PlacementProblem &p, Path at) {
  for (unsigned i = 0; i < p.classes.size(); ++i) {
    if (p.classes[i].costs.size() != p.parallelConfigs.size())
      return fail(at.index(i).field("costs"), "expected one for each parallel configuration");
    for (const auto &cost : p.classes[i].costs)
      if (cost &&
          (cost->weightMemory > cost->staticMemory || cost->gradientMemory > cost->staticMemory - cost->weightMemory))
        return fail(at.index(i).field("costs"), "weights and gradients are more than the static memory");
  }
  return true;
}

bool checkLayers(const PlacementProblem &p, Path at) {
  for (unsigned i = 0; i < p.layers.size(); ++i) {
    if (p.layers[i].of >= p.classes.size())
      return fail(at.index(i).field("class"), "no class has this number");
    for (PlacementProblem::Id constraint : p.layers[i].placementConstraints)
      if (constraint >= p.placementConstraints.size())
        return fail(at.index(i).field("placement_constraints"), "no placement constraint has this index");
  }
  return true;
}

bool checkConstraints(const PlacementProblem &p, Path at) {
  for (unsigned i = 0; i < p.placementConstraints.size(); ++i)
    for (PlacementProblem::Id deviceType : p.placementConstraints[i].deviceTypes)
      if (deviceType >= p.deviceTypes.size())
        return fail(at.index(i).field("device_types"), "no device type has this index");
  return true;
}

/// Of edges and ties: `first` and `second` are layers.
template <typename T, typename Id>
bool checkPairs(const std::vector<T> &pairs, Id T::*first, Id T::*second, size_t layers, Path at) {
  for (unsigned i = 0; i < pairs.size(); ++i)
    if (pairs[i].*first >= pairs[i].*second || pairs[i].*second >= layers)
      return fail(at.index(i), "expected an earlier and a later layer");
  return true;
}

} // namespace

bool checkIndices(const PlacementProblem &p, Path at) {
  using Edge = PlacementProblem::Edge;
  using Tie = PlacementProblem::Tie;
  if (p.deviceTypes.empty() || p.parallelConfigs.empty() || p.layers.empty())
    return fail(at, "a problem without device types, parallel configurations or layers");
  if (p.links.size() != p.deviceTypes.size() * p.deviceTypes.size())
    return fail(at.field("links"), "expected one for each pair of device types");
  if (!checkConfigs(p, at.field("parallel_configs")) || !checkClasses(p, at.field("classes")) ||
      !checkLayers(p, at.field("layers")) || !checkConstraints(p, at.field("placement_constraints")) ||
      !checkPairs(p.edges, &Edge::from, &Edge::to, p.layers.size(), at.field("edges")) ||
      !checkPairs(p.ties, &Tie::a, &Tie::b, p.layers.size(), at.field("ties")))
    return false;
  if (p.overlapFraction > 1)
    return fail(at.field("overlap_fraction"), "a share above one");
  if (p.maxOverlap > 1)
    return fail(at.field("max_overlap"), "a share above one");
  if (!check(p).empty())
    return fail(at, "times or sizes beyond what can be counted");
  return true;
}

bool checkPlan(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics, Path at) {
  if (plan.stages.empty() || plan.stages.size() > problem.layers.size() ||
      plan.virtualStages > int64_t(plan.stages.size()) || plan.microbatches > problem.batch)
    return fail(at.field("plan"), "stages, virtual stages or micro-batches out of range");
  if (1.0 * plan.microbatches * plan.stages.size() > kMaxSearchedPasses)
    return fail(at.field("plan"), "more passes than can be looked at");
  for (const PlacedStage &stage : plan.stages) {
    if (stage.parallelConfig >= problem.parallelConfigs.size())
      return fail(at.field("plan").field("stages"), "no parallel configuration has this index");
    const ParallelConfig &parallelConfig = problem.parallelConfigs[stage.parallelConfig];
    if (1.0 * parallelConfig.data * parallelConfig.microbatch * plan.microbatches > kMax)
      return fail(at.field("plan").field("stages"), "more samples than can be counted");
  }
  if (!findViolations(problem, plan).empty())
    return fail(at.field("plan"), "no plan of this problem: a layer, parallel configuration, schedule or device does "
                                  "not fit");
  size_t stages = plan.stages.size();
  if (metrics.times.size() != stages || metrics.inFlight.size() != stages ||
      metrics.memory.size() != stages / plan.virtualStages || metrics.host.size() != metrics.memory.size())
    return fail(at.field("metrics"), "expected times and micro-batches in flight of each stage, and "
                                     "memory of each device group");
  for (unsigned s = 0; s < stages; ++s)
    if (metrics.inFlight[s] > plan.microbatches)
      return fail(at.field("metrics").field("in_flight").index(s), "more than there are");
  // Times that were made up are found by `verify`; here they only have to stay countable.
  double sum = 0;
  for (const StageTimes &t : metrics.times)
    sum += 1.0 * t.forward + t.backward + t.weight + 2.0 * t.send + t.stepTail;
  if (sum * plan.microbatches > kMax)
    return fail(at.field("metrics").field("times_ps"), "times beyond what can be counted");
  return true;
}

} // namespace accord
