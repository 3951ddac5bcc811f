// Clusters of other sizes than the one that describes their servers and networks.
#pragma once
#include "lib/machine/collectives/Cluster.h"
#include "lib/support/Result.h"

namespace accord {

/// The same servers, another number of them, and of devices in each. The host of a server is in proportion to its
/// devices: memory, bandwidths, cores and power of each device stay, and so does its price. A mesh or torus gets the
/// shape of most equal extents, none above the described one where that is possible. Levels of one endpoint are left
/// out. Errors: A1107 where either number is below 1, or there would be several devices in a server, or several
/// servers, and the cluster describes no network for them; A0454 as `check` of the fabric.
Result<Cluster> resizedCluster(const Cluster &cluster, int64_t devicesPerServer, int64_t servers);

} // namespace accord
