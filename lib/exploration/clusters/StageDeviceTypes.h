// One placement problem of several: designs as kinds of devices.
#pragma once
#include "lib/exploration/clusters/StageLayers.h"

namespace accord {

/// A design as a candidate for stages.
struct StageCandidate {
  Design design;
  std::shared_ptr<const PlacementProblem> problem; ///< on it alone
  double cost = 1;                                 ///< of `StageLayers::cost`
};

/// Candidates as kinds, each in the form of these degrees where it has one; `kinds` says which candidate each kind is.
/// As many devices in all as the cluster has. Devices of different kinds are in different servers. Where `scale` is
/// above 0, what is made least is time * the sum of the devices' costs * scale (as `TdpTime`), else time.
struct StageDeviceTypes {
  PlacementProblem problem;
  std::vector<size_t> deviceTypes;
};
StageDeviceTypes stageDeviceTypes(const std::vector<StageCandidate> &candidates,
                                  const PlacementProblem::ParallelConfig &degrees, double scale);

/// Without those that another one is no worse than in everything: times, memory, cost.
std::vector<StageCandidate> undominated(std::vector<StageCandidate> candidates);

} // namespace accord
