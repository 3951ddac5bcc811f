// accord mine --stages: a design for each stage of a pipeline.
#pragma once
#include "lib/driver/exploration/MineJobs.h"
#include "lib/exploration/clusters/StagedDesigns.h"

namespace accord {

/// Why stages cannot be mined, with what would do; reported at once. False then.
bool mayMineStages(const MineOptions &options, MineJobs &jobs);
/// Stages of the only job, beginning with its best common design. Nothing where none are in the search space.
std::optional<MinedStages> minedStages(const MineOptions &options, MineJobs &jobs, const PlacedBest &placed,
                                       const Design &common, const std::atomic<bool> *stop);

/// A kind of devices of a cluster, by the name of its accelerator.
struct ClusterDeviceType {
  std::string accelerator;
  int64_t devices = 1;
};
/// The text of a cluster of one kind of servers with devices `accelerator`, with as many servers of
/// devices of each of the kinds as they need. Nothing where it is not of that form.
std::optional<std::string> clusterOfDeviceTypes(const std::string &text, const std::string &accelerator,
                                                int64_t devicesPerNode,
                                                const std::vector<ClusterDeviceType> &deviceTypes);

} // namespace accord
