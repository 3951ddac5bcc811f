// What a training runs on, as plain data.
#pragma once
#include "lib/machine/collectives/Cluster.h"
#include "lib/support/Result.h"
#include <optional>
#include <vector>

namespace accord {
namespace accel {
class ClusterOp;
}

/// A cluster with one or several types of devices.
struct ClusterTarget {
  Cluster cluster;                ///< the first group, which has the name and the location of all
  std::vector<Cluster> groups;    ///< equal devices, a group each
  std::optional<Network> between; ///< connects servers of different groups
};

/// The groups of a cluster whose devices are these machines, by group: see `acceleratorsOf` and `groupsFrom`.
Result<ClusterTarget> clusterTarget(accel::ClusterOp cluster, std::vector<Machine> machines);

} // namespace accord
