// Clusters of the accel dialect -> plain data.
#pragma once
#include "lib/machine/collectives/Cluster.h"

namespace accord {
namespace accel {
class AcceleratorOp;
class ClusterOp;
} // namespace accel

/// The accelerator that every device of the cluster is. A0456 where servers or devices differ or a
/// count is left open.
Result<accel::AcceleratorOp> acceleratorOf(accel::ClusterOp cluster);

/// `machine` is one device, from `machineFrom`. Of several networks that connect the same devices
/// or servers the one with the most bandwidth is taken. Errors at the place of the key: A0456 as
/// above, and for a value that is left open or an expression; A0454 for numbers that cannot be
/// computed with.
Result<Cluster> clusterFrom(accel::ClusterOp cluster, Machine machine);

/// The accelerators of a cluster whose servers or devices may be of several kinds, in the order of
/// `groupsFrom`.
Result<std::vector<accel::AcceleratorOp>> acceleratorsOf(accel::ClusterOp cluster);

/// A group for the devices of one kind in the servers of one kind; `machines` by group. A0456 where
/// no network connects all groups.
Result<ClusterGroups> groupsFrom(accel::ClusterOp cluster, std::vector<Machine> machines);

} // namespace accord
