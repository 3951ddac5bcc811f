// Accounts and qualities of service of Slurm: a script that calls sacctmgr.
#include "lib/jobs/output/TenantQueues.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr size_t kMaxName = 40;
constexpr double kMaxWholeShare = 1'000'000, kShares = 10'000;

/// Shares of fair-share scheduling are whole numbers: weights as they are where all are whole, else with the largest as
/// 10,000.
std::vector<int64_t> fairShares(const JobsRequest &request) {
  double largest = 0;
  bool whole = true;
  for (const JobsRequest::Tenant &tenant : request.tenants) {
    largest = std::max(largest, tenant.weight);
    whole &= tenant.weight == std::floor(tenant.weight) && tenant.weight <= kMaxWholeShare;
  }
  std::vector<int64_t> shares;
  for (const JobsRequest::Tenant &tenant : request.tenants)
    shares.push_back(
        static_cast<int64_t>(whole ? tenant.weight : std::max(1.0, std::round(tenant.weight / largest * kShares))));
  return shares;
}

/// "gres/gpu=16,gres/gpu:a100=8"; -1 takes a limit of an earlier run away.
std::string limitsOf(const JobsRequest::Tenant &tenant, const Cluster &cluster, QueueNames &typeNames) {
  auto limit = [&](const std::string &type) {
    const auto found = tenant.quota.find(type);
    return found == tenant.quota.end() ? int64_t(-1) : found->second;
  };
  std::string text = fmt::format("gres/gpu={}", limit(""));
  for (const std::string &type : cluster.types)
    text += fmt::format(",gres/gpu:{}={}", typeNames.of(type), limit(type));
  return text;
}

std::string configuration(const Cluster &cluster, QueueNames &typeNames) {
  std::string tracked;
  for (const std::string &type : cluster.types)
    tracked += fmt::format(",gres/gpu:{}", typeNames.of(type));
  return fmt::format("# slurm.conf needs these lines, with a running slurmdbd:\n"
                     "#   GresTypes=gpu\n"
                     "#   AccountingStorageType=accounting_storage/slurmdbd\n"
                     "#   AccountingStorageTRES=gres/gpu{}\n"
                     "#   AccountingStorageEnforce=associations,limits,qos\n"
                     "#   PriorityType=priority/multifactor\n"
                     "#   PriorityWeightFairshare=100000\n"
                     "#   PriorityWeightQOS=10000\n",
                     tracked);
}

std::string serviceTexts(const JobsRequest &request, std::string &names) {
  std::string text;
  const std::vector<double> priorities = prioritiesOf(request);
  for (size_t rank = 0; rank < priorities.size(); ++rank) {
    const std::string name = priorityClass(rank);
    text += fmt::format("# priority = {}\nadd qos {}\nsacctmgr -i modify qos where name={} set priority={}\n",
                        priorities[rank], name, name, 100 * (rank + 1));
    names += (names.empty() ? "" : ",") + name;
  }
  return text;
}

} // namespace

SystemNames slurmNames(const std::vector<std::string> &types) {
  SystemNames names{QueueNames("d-", kMaxName, {}), QueueNames("t-", kMaxName, {"root", "none", "parent"})};
  for (const std::string &type : types)
    names.types.of(type);
  return names;
}

std::string accountText(const std::string &tenant, const TenantQueueOptions &options) {
  return tenant == options.cohort ? tenant + " tenant" : tenant;
}

Result<std::string> slurmAccountsText(const JobsRequest &request, const Cluster &cluster,
                                      const TenantQueueOptions &options) {
  ACCORD_TRY(shares, tenantShares(request, cluster)); // checks the request
  (void)shares;
  auto [typeNames, tenantNames] = slurmNames(cluster.types);
  const std::string &parent = tenantNames.of(options.cohort);
  const std::string head = configuration(cluster, typeNames);
  std::string services, accounts, names;
  services = serviceTexts(request, names);
  const std::vector<int64_t> fair = fairShares(request);
  for (size_t i = 0; i < request.tenants.size(); ++i) {
    const JobsRequest::Tenant &tenant = request.tenants[i];
    const std::string &name = tenantNames.of(accountText(tenant.name, options));
    accounts += fmt::format("add account {0} \"cluster=$CLUSTER\" parent={1}\n"
                            "sacctmgr -i modify account where name={0} \"cluster=$CLUSTER\" set fairshare={2} "
                            "GrpTRES={3}\n",
                            name, parent, fair[i], limitsOf(tenant, cluster, typeNames));
    if (!names.empty())
      accounts +=
          fmt::format("sacctmgr -i modify account where name={} \"cluster=$CLUSTER\" set qos={}\n", name, names);
  }
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "# Accounts of {} tenants on {} devices: ./accounts.sh CLUSTER (ClusterName of slurm.conf)\n{}"
      "# A limit of one type counts jobs that ask for it: --gpus=TYPE:N. A job submit plugin refuses the others.\n"
      "# Users: sacctmgr add user NAME account=TENANT. Jobs: sbatch --account=TENANT --qos=CLASS.\n{}{}"
      "set -euo pipefail\nCLUSTER=\"${{1:?name of the cluster}}\"\n"
      "known() {{ # account|qos NAME\n"
      "  if [ \"$1\" = qos ]; then sacctmgr -nP list qos \"name=$2\" format=name\n"
      "  else sacctmgr -nP list associations \"cluster=$CLUSTER\" \"account=$2\" format=account; fi | grep -qx "
      "\"$2\"\n}}\n"
      "add() {{ # account|qos NAME [OPTION...]: unless it is there\n"
      "  known \"$1\" \"$2\" || sacctmgr -i add \"$@\"\n}}\n"
      "{}add account {} \"cluster=$CLUSTER\"\n{}",
      request.tenants.size(), cluster.devices(), head, typeNames.comments(), tenantNames.comments(), services, parent,
      accounts);
}

} // namespace accord::jobs
