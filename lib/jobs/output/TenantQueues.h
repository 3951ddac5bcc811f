// Tenants of a `jobs` block as queues of the systems that enforce decisions: Kueue on Kubernetes, and Slurm.
//
// A plan says who runs when; these files say what a tenant may hold at all, whatever is submitted.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/support/Result.h"
#include <map>
#include <string>
#include <vector>

namespace accord::jobs {

struct TenantQueueOptions {
  std::string resource = "nvidia.com/gpu"; ///< what Kubernetes calls a device
  std::string nodeLabel = "accord/device"; ///< of servers, with the name of their device type
  std::string cohort = "accord";           ///< of the queues, within which devices are lent; also the parent account
};

/// What a tenant holds of one device type.
struct TenantShare {
  int64_t nominal = 0; ///< devices that are its own; over all tenants at most those of the type
  int64_t max = 0;     ///< devices that it may hold, with those that others do not use
  bool operator==(const TenantShare &) const = default;
};

/// Shares of each tenant of the request (first index) of each type of the cluster (second index).
///
/// A tenant may hold at most its quota of a type, and without one all devices of the type; a quota of all types is
/// split over the types by their devices, so that the parts add up to it. Nominal shares divide the devices of a type
/// by the weights of tenants, as far as they may hold them (a tenant at its maximum leaves the rest to the others), in
/// whole devices by largest remainders, ties by the order of tenants.
///
/// Error A1107 with the tenant's place if there are no tenants or no devices, if a quota names a type that the cluster
/// does not have or is below 0, or if a weight is not above 0.
Result<std::vector<std::vector<TenantShare>>> tenantShares(const JobsRequest &request, const Cluster &cluster);

/// YAML of Kueue, kueue.x-k8s.io/v1beta2: a ResourceFlavor for each device type, a WorkloadPriorityClass for each
/// priority of the jobs, and for each tenant a Namespace, a ClusterQueue of one cohort and a LocalQueue. What a tenant
/// may hold beyond its nominal quota it borrows (borrowingLimit). Comments say what has to be configured besides.
/// Errors are those of `tenantShares`; also more than 64 device types, which a ClusterQueue cannot have.
Result<std::string> kueueText(const JobsRequest &request, const Cluster &cluster,
                              const TenantQueueOptions &options = {});

/// A shell script that calls sacctmgr: an account for each tenant with its share of fair-share scheduling and its quota
/// (GrpTRES), and a quality of service for each priority of the jobs. It may be run again. Comments have the lines of
/// slurm.conf that this needs. Errors are those of `tenantShares`.
Result<std::string> slurmAccountsText(const JobsRequest &request, const Cluster &cluster,
                                      const TenantQueueOptions &options = {});

/// Names of a system for arbitrary texts: at most `max` lower case letters, digits and "-", a letter first and no "-"
/// at the end. Two texts never get the same name.
class QueueNames {
public:
  /// `prefix` (of letters and "-") stands before what does not start with a letter or is one of `reserved`.
  QueueNames(std::string prefix, size_t max, std::vector<std::string> reserved)
      : prefix(std::move(prefix)), max(max), reserved(std::move(reserved)) {}
  /// The name of a text; the same text has the same name.
  const std::string &of(const std::string &text);
  /// A comment line for each text whose name is another one: "# 'Vision Lab' is called vision-lab".
  std::string comments() const;

private:
  std::string prefix;
  size_t max;
  std::vector<std::string> reserved;
  std::map<std::string, std::string> names; ///< of texts
  std::map<std::string, size_t> taken;      ///< names, with the number that a next equal one gets
  std::vector<std::string> changed;         ///< texts, in the order in which they were named
};

/// The priorities of the jobs of a request, ascending, each once.
std::vector<double> prioritiesOf(const JobsRequest &request);
/// "accord-priority-200": what both systems call the class of the jobs with the priority of this rank, from 0.
std::string priorityClass(size_t rank);

/// What a system calls device types and tenants.
struct SystemNames {
  QueueNames types, tenants;
};
/// Device types as Slurm's `gres/gpu:TYPE`, tenants as its accounts.
SystemNames slurmNames(const std::vector<std::string> &types);
/// The text whose name is the account of a tenant: one that is called like the parent account is another account.
std::string accountText(const std::string &tenant, const TenantQueueOptions &options);
/// Device types as flavors and labels of servers, tenants as queues and namespaces.
SystemNames kueueNames(const std::vector<std::string> &types);

/// What starts a job in the name of its tenant.
struct TenantNames {
  std::string account, service;     ///< of Slurm: `--account`, `--qos`
  std::string queue, priorityClass; ///< of Kueue
};
/// Of each job of a request, as the texts above call them; empty where a job has no tenant.
std::vector<TenantNames> tenantNames(const JobsRequest &request, const TenantQueueOptions &options = {});

} // namespace accord::jobs
