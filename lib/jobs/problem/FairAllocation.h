// A fair allocation of one moment: jobs of tenants, what fairness is asked, and an answer with its proof, as plain
// data.
//
// A job runs in one of its configurations or waits. Objectives are maximized in layers: the first, among its best the
// second, and so on. A layer is either a sum over jobs, or the smallest level of its members, then the next smallest
// (lexicographic max-min). All numbers are whole, so that levels, sums and bounds are exact.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include <string>

namespace accord::jobs {

/// Levels and terms are in millionths.
constexpr int64_t kFairScale = 1'000'000;

enum class FairObjective : uint8_t {
  /// Lexicographic max-min of floor(10^6 * rate / (isolated * weight)); a job that waits has 0 (Gavel, Narayanan et
  /// al., OSDI 2020, section 4.1).
  MaxMin,
  /// Finish-time fairness (Mahajan et al., Themis, NSDI 2020): the largest ratio of the time to completion to the time
  /// in the job's share is minimized, then the next largest. The level of a job is
  /// -ceil(10^6 * (age + remaining / rate) / isolatedSeconds). A job that waits has its fastest configuration after
  /// `FairProblem::waitSeconds`.
  FinishTime,
  /// Nash welfare: the sum of weight * round(10^6 * log2(max(rate / isolated, floor) / floor)) is maximized, where
  /// `floor` is `FairProblem::waitShare` millionths, which is what a job that waits counts as.
  Nash,
  /// The sum of Sia (Jayaram Subramanya et al., SOSP 2023): with p < 0, weight * round(10^6 * (waitCost - u^p)) is
  /// maximized, where u is rate / isolated and a job that waits has 0: the same as Sia's minimum of the sum of u^p and
  /// of waitCost for each job that waits. With p > 0, it is weight * round(10^6 * (waitCost + u^p)).
  PowerMean,
  /// The sum of weight * rate.
  Throughput
};
/// "max_min_fairness", "finish_time_fairness", "nash_welfare", "power_mean", "throughput".
std::string_view nameOf(FairObjective objective);

struct FairConfiguration {
  int64_t rate = 1;              ///< work in a second, 1 or more
  std::vector<ResourceUse> uses; ///< of `FairProblem::resources`, ascending
};

struct FairJob {
  std::vector<FairConfiguration> configurations;
  int64_t isolated = 1;        ///< rate in its share, in the unit of `rate`; 1 or more
  int64_t weight = 1;          ///< 1 to 2^20; it is entitled to so many times its share
  int64_t tenant = -1;         ///< index into `FairProblem::tenants`; -1: none
  int64_t age = 0;             ///< seconds since its arrival
  int64_t remaining = 1;       ///< work, in the unit of `rate`; 0 or more
  int64_t isolatedSeconds = 1; ///< from arrival to completion in its share; 1 or more
  int64_t running = -1;        ///< the configuration in which it runs already; -1: it does not run
  bool pinned = false;         ///< it keeps the configuration `running`
};

struct FairResource {
  std::string name;
  int64_t capacity = 0; ///< 0 or more
  bool devices = false; ///< its amounts are devices, which tenants share; else watts, for example
};

/// Devices of one resource, or of all that are devices.
struct TenantAmount {
  int64_t resource = -1; ///< index into `FairProblem::resources`; -1: all that are devices
  int64_t amount = 0;
};

/// A tenant of a tree: a department, and its groups below it.
struct FairTenant {
  std::string name;
  int64_t parent = -1; ///< a tenant of a smaller number; -1: none
  int64_t weight = 1;  ///< 1 to 2^20; among the tenants with the same parent
  /// What the jobs of the tenant and of those below it have, whatever others ask: as much of it as they can use.
  std::vector<TenantAmount> guaranteed;
  std::vector<TenantAmount> quota;                 ///< more they do not have
  FairObjective objective = FairObjective::MaxMin; ///< of the tenant's own jobs
};

struct FairProblem {
  std::vector<FairResource> resources;
  std::vector<FairTenant> tenants;
  std::vector<FairJob> jobs;
  FairObjective objective = FairObjective::MaxMin; ///< of all jobs; hierarchical: of those without a tenant
  /// Among tenants with the same parent, the levels floor(10^6 * devices / weight) are max-min first, from the root
  /// down; then come the objectives of each tenant over its own jobs, in the order of the tree.
  bool hierarchical = false;
  int64_t waitShare = 1000; ///< of `Nash`, millionths; 1 or more
  int64_t waitSeconds = 60; ///< of `FinishTime`; 0 or more
  double power = -0.5;      ///< p of `PowerMean`, from -8 to 2, not 0
  double waitCost = 1.1;    ///< of `PowerMean`; 0 to 1000
  /// Steps of each lexicographic layer; the members above the last level are as the next layer likes them. 0: no limit.
  unsigned maxSteps = 0;
};

/// One objective in the order of layers.
struct FairLayer {
  bool ofTenants = false; ///< members are tenants, and their levels shares of devices
  FairObjective objective = FairObjective::MaxMin;
  std::vector<unsigned> members; ///< tenants or jobs, ascending
  auto operator<=>(const FairLayer &) const = default;
};

/// One maximum of the lexicographic order. Of a layer that is a sum, `value` is the sum. Else `value` members have more
/// than `level`; `level` is the smallest of the members that the step before in the layer counts (of the first step: of
/// all members). The last step of a layer has the value 0, unless `FairProblem::maxSteps` ends it. If the bound of each
/// step is its value, the sorted levels are the lexicographic maximum: an allocation that is better has, at the first
/// threshold where the numbers of members above it differ, more than the step says.
struct FairStep {
  unsigned layer = 0;
  int64_t level = 0; ///< 0 of a sum
  int64_t value = 0;
  /// No allocation has more that keeps each step before and, of a layer of levels, has as many members that are not
  /// below `level`.
  int64_t bound = 0;
  AllocationProof proof; ///< of `bound`, in the problem of `stepProblem`
};

/// What a tenant is sure to have of one of its guaranteed amounts: the most that its jobs can use within the amount by
/// themselves.
struct FairReserve {
  unsigned tenant = 0, amount = 0; ///< index into `FairTenant::guaranteed`
  AllocationSolution solution;     ///< of `reserveProblem`; its value is kept
};

struct FairSolution {
  AllocationStatus status = AllocationStatus::Unknown; ///< Optimal if each step and each reserve is at its bound
  std::vector<int64_t> choice; ///< of each job: index of its configuration, -1: it waits; empty if there is none
  std::vector<FairReserve> reserves;
  std::vector<FairStep> steps;
  int64_t kept = 0;              ///< jobs that keep the configuration in which they run
  AllocationProof infeasibility; ///< of an infeasible problem, in the problem without steps
};

/// Why a problem is not well formed (A1104). The places of errors are empty.
Result<void> checkFairProblem(const FairProblem &problem);

/// The objectives in their order. Layers without members are left out.
std::vector<FairLayer> layersOf(const FairProblem &problem);
/// Whether a layer is a sum over jobs.
bool isSum(const FairLayer &layer);

/// The level of a job in a configuration (-1: it waits), of `MaxMin` and `FinishTime`; cut at `kMaxAllocationNumber`.
int64_t levelOf(const FairProblem &problem, FairObjective objective, unsigned job, int64_t configuration);
/// What a job adds to a sum, of the other objectives.
int64_t termOf(const FairProblem &problem, FairObjective objective, unsigned job, int64_t configuration);
/// Devices of a configuration; of a resource, or of all (-1).
int64_t devicesOf(const FairProblem &problem, const FairConfiguration &configuration, int64_t resource = -1);
/// The level of a tenant with so many devices.
int64_t tenantLevel(const FairTenant &tenant, int64_t devices);
/// Whether a job belongs to a tenant or to one below it.
bool belongsTo(const FairProblem &problem, const FairJob &job, unsigned tenant);

/// The most devices that a tenant's jobs can use of a guaranteed amount, as an allocation: values are devices.
AllocationProblem reserveProblem(const FairProblem &problem, unsigned tenant, unsigned amount);

/// What a step maximizes, as an allocation of which the value is `FairStep::value` plus the offset. Its jobs are:
/// - the jobs; each has its configurations and a last one for waiting, or if it is pinned the one in which it runs;
/// - the tenants of each layer of tenants that a step is of. The first configuration of a tenant uses nothing, and one
///   follows for each level that is asked, ascending, as far as all devices that its jobs can use suffice: it uses the
///   fewest devices above the level. Asked are the levels of the steps of the layer and those minus 1.
/// None may wait. A value of a job is its term minus the smallest of its terms, or 1 where a member is above the level.
/// Rows are, in this order:
/// - each resource, with its capacity;
/// - each quota of each tenant: the devices of its jobs and the amount;
/// - each reserve of more than 0, and then each tenant of the layers above: of each of its jobs, the devices that it
///   does not use of the largest number that it could, with the sum of these numbers less the reserve or what the
///   tenant's level uses;
/// - each step before, whose value is kept. Of a sum: the largest of a job's terms minus its term, and the sum of the
///   largest terms - the value. Of levels: 1 for each member below the level, of which there may be as many as are not
///   counted by the step before in the layer; then, if the value is not 0, 1 for each member that is not above it, of
///   which there may be all but the value;
/// - of `step`, where it is of levels, the first of these two rows.
/// Nothing is maximized without a step.
struct StepProblem {
  AllocationProblem allocation;
  int64_t offset = 0; ///< subtracted from the value of the allocation
};
StepProblem stepProblem(const FairProblem &problem, const std::vector<FairReserve> &reserves,
                        const std::vector<FairStep> &before, const FairStep *step);

} // namespace accord::jobs
