// Fair shares of tenants: a policy of hierarchical fair allocations.
#pragma once
#include "lib/jobs/problem/FairAllocation.h"
#include "lib/jobs/simulate/Simulator.h"
#include <set>

namespace accord::jobs {

struct TenantOptions {
  /// `SimulatedJob::tenant` counts these. Amounts name types of the cluster by their number, or all devices.
  std::vector<FairTenant> tenants;
  double refresh = 600; ///< seconds from one allocation to the next, where no job came or went; 0: each round
  unsigned effort = 4;  ///< of each allocation problem (lib/search/SearchLimits.h)
};

/// Tenants share the devices by weighted max-min fairness, level by level of their tree, with their guarantees and
/// quotas (`FairObjective`, hierarchical); within a tenant, jobs are allocated by its own objective. The isolated rate
/// of a job is that in its worst minimum configuration, as Sia normalizes. Jobs that are still in a restart keep their
/// devices. Then jobs are packed on servers with the fewest moves.
class TenantPolicy : public Policy {
public:
  explicit TenantPolicy(TenantOptions options) : options(std::move(options)) {}
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

private:
  TenantOptions options;
  std::set<size_t> seen; ///< jobs at the last allocation
  std::vector<int64_t> lastCapacity;
  double last = 0; ///< time of the last allocation
};

} // namespace accord::jobs
