#include "lib/compilation/Target.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/machine/translate/FromCluster.h"

namespace accord {

std::variant<ClusterTarget, Issue> clusterTarget(accel::ClusterOp cluster, std::vector<Machine> machines) {
  auto groups = groupsFrom(cluster, std::move(machines));
  if (auto *issue = std::get_if<Issue>(&groups))
    return *issue;
  auto &found = std::get<ClusterGroups>(groups);
  ClusterTarget target;
  target.groups = std::move(found.groups);
  target.between = std::move(found.between);
  target.cluster = target.groups.front();
  return target;
}

} // namespace accord
