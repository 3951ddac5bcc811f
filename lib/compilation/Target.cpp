#include "lib/compilation/Target.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/machine/translate/FromCluster.h"

namespace accord {

Result<ClusterTarget> clusterTarget(accel::ClusterOp cluster, std::vector<Machine> machines) {
  ACCORD_TRY(found, groupsFrom(cluster, std::move(machines)));
  ClusterTarget target;
  target.groups = std::move(found.groups);
  target.between = std::move(found.between);
  target.cluster = target.groups.front();
  return target;
}

} // namespace accord
