#include "lib/exploration/clusters/StageDeviceTypes.h"
#include "lib/search/ParetoFront.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {
namespace {

/// All numbers of a candidate, less is better; for forms of equal degrees in equal places.
std::vector<double> numbersOf(const StageCandidate &candidate) {
  const PlacementProblem &problem = *candidate.problem;
  std::vector<double> all{candidate.cost};
  for (const PlacementProblem::DeviceType &deviceType : problem.deviceTypes)
    all.push_back(-double(deviceType.memory));
  for (int64_t of : {problem.hostOverheadPerMicrobatch, problem.hostOverheadPerStep})
    all.push_back(of);
  for (const PlacementProblem::LayerClass &cls : problem.classes)
    for (const auto &cost : cls.costs) {
      if (!cost) {
        all.push_back(1e300);
        continue;
      }
      for (int64_t of : {cost->forward, cost->backward, cost->weight, cost->update, cost->staticMemory, cost->gradients,
                         cost->expertGradients, cost->weights, cost->hostStaticMemory, cost->tied})
        all.push_back(of);
      for (const PlacementProblem::RecomputeChoice &choice : cost->recomputeChoices)
        for (int64_t of : {choice.recomputeTime, choice.activations, choice.workspace, choice.hostActivations})
          all.push_back(of);
    }
  return all;
}

bool sameForms(const PlacementProblem &a, const PlacementProblem &b) {
  auto sameCost = [](const std::optional<PlacementProblem::Cost> &x, const std::optional<PlacementProblem::Cost> &y) {
    return x.has_value() == y.has_value() &&
           (!x || llvm::equal(x->recomputeChoices, y->recomputeChoices,
                              [](const auto &one, const auto &other) { return one.policy == other.policy; }));
  };
  return llvm::equal(a.parallelConfigs, b.parallelConfigs,
                     [](const auto &x, const auto &y) { return degreesOf(x) == degreesOf(y); }) &&
         llvm::equal(a.classes, b.classes,
                     [&](const auto &x, const auto &y) { return llvm::equal(x.costs, y.costs, sameCost); });
}

} // namespace

StageDeviceTypes stageDeviceTypes(const std::vector<StageCandidate> &candidates,
                                  const PlacementProblem::ParallelConfig &degrees, double scale) {
  StageDeviceTypes made;
  PlacementProblem &all = made.problem;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const PlacementProblem &one = *candidates[i].problem;
    auto config =
        llvm::find_if(one.parallelConfigs, [&](const auto &other) { return degreesOf(other) == degreesOf(degrees); });
    if (config == one.parallelConfigs.end())
      continue;
    size_t at = config - one.parallelConfigs.begin();
    if (made.deviceTypes.empty()) {
      all = one;
      all.deviceTypes.clear(), all.parallelConfigs.clear(), all.links.clear();
      for (PlacementProblem::LayerClass &cls : all.classes)
        cls.costs.clear();
      for (PlacementProblem::PlacementConstraint &constraint : all.placementConstraints)
        constraint.deviceTypes.clear(); // on the devices that are mined, whatever their design
      all.uniformConfigPerDeviceType = false;
      all.objective = scale > 0 ? PlacementObjective::TdpTime : PlacementObjective::StepTime;
      int64_t devices = one.deviceTypes.front().devices;
      all.limits.devices = all.limits.devices > 0 ? std::min(all.limits.devices, devices) : devices;
    }
    all.hostOverheadPerMicrobatch = std::max(all.hostOverheadPerMicrobatch, one.hostOverheadPerMicrobatch);
    all.hostOverheadPerStep = std::max(all.hostOverheadPerStep, one.hostOverheadPerStep);
    PlacementProblem::DeviceType deviceType = one.deviceTypes.front();
    deviceType.name += "_" + std::to_string(made.deviceTypes.size() + 1);
    if (scale > 0)
      deviceType.tdpWatts = candidates[i].cost * scale;
    all.deviceTypes.push_back(std::move(deviceType));
    all.parallelConfigs.push_back(*config);
    all.parallelConfigs.back().deviceType = made.deviceTypes.size();
    for (size_t cls = 0; cls < all.classes.size(); ++cls)
      all.classes[cls].costs.push_back(one.classes[cls].costs[at]);
    made.deviceTypes.push_back(i);
  }
  for (size_t a : made.deviceTypes)
    for (size_t b : made.deviceTypes) {
      PlacementProblem::Link link = candidates[a].problem->links.front();
      if (a != b)
        link.intraNode = link.interNode;
      all.links.push_back(link);
    }
  return made;
}

std::vector<StageCandidate> undominated(std::vector<StageCandidate> candidates) {
  struct Compared {
    std::vector<double> numbers;
    StageCandidate candidate;
  };
  std::vector<Compared> front;
  for (StageCandidate &candidate : candidates)
    addNondominated(front, {numbersOf(candidate), std::move(candidate)}, [](const Compared &a, const Compared &b) {
      return isAtMost(a.numbers, b.numbers) && sameForms(*a.candidate.problem, *b.candidate.problem);
    });
  std::vector<StageCandidate> left;
  for (Compared &one : front)
    left.push_back(std::move(one.candidate));
  return left;
}

} // namespace accord
