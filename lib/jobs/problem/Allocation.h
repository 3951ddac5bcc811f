// Which configuration each job runs in now: the problem, a solution and the proof of its bound, as plain data.
//
// A job runs in one of its configurations or, if it may wait, in none. A configuration has a value and uses amounts of
// resources: devices of a type, watts, the quota of a tenant. The sum of values is maximized, and no resource is used
// beyond its capacity: a multiple-choice knapsack problem in several dimensions. All numbers are whole, so that values
// and bounds are exact; the caller chooses the scale.
#pragma once
#include "lib/support/Result.h"
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace accord::jobs {

/// Values and amounts are at most this, so that sums over a million jobs are exact in 128 bits with prices.
constexpr int64_t kMaxAllocationNumber = int64_t(1) << 46;

struct ResourceUse {
  unsigned resource = 0; ///< index into `AllocationProblem::capacity`
  int64_t amount = 0;    ///< 1 or more
  auto operator<=>(const ResourceUse &) const = default;
};

struct Configuration {
  int64_t value = 0;             ///< 0 or more
  std::vector<ResourceUse> uses; ///< resources ascending, each once
  auto operator<=>(const Configuration &) const = default;
};

struct AllocationJob {
  std::vector<Configuration> configurations;
  bool mayWait = true; ///< false: it has to run in one of its configurations
  auto operator<=>(const AllocationJob &) const = default;
};

struct AllocationProblem {
  std::vector<int64_t> capacity; ///< of each resource, 0 or more
  std::vector<AllocationJob> jobs;
};

/// Prices for one unit of each resource, 0 or more: numerators over `AllocationProof::denominator`.
using Prices = std::vector<int64_t>;

/// Proves that no allocation has a value above `AllocationSolution::bound`. With any prices p, the sum over resources
/// of p * capacity and over jobs of the best (value - p * uses), or 0 for a job that may wait, bounds the value
/// (Lagrangian relaxation; Fisher, Management Science 27, 1981). A capacity counts as the largest multiple of the
/// greatest common divisor of the amounts that are used of it. Where one set of prices is not enough, the proof
/// branches on the configuration of one job: a node fixes it in each way, and each child is proved by itself. A child
/// that cannot be (a fixed job uses more than is left, or prices of it show that what must run does not fit) needs no
/// more. Equal jobs can change places: of jobs with the same list of configurations, only allocations count where a job
/// never has an earlier configuration than an equal job of a smaller number, and waiting is the last.
struct AllocationProof {
  struct Node {
    int64_t job = -1; ///< on which it branches; -1: a leaf
    /// Of a branch: the node for each configuration, and last for waiting if it may. Where some share a node, it holds
    /// for their largest value and their smallest use of each resource, and so for each of them.
    std::vector<unsigned> next;
    Prices prices; ///< of a leaf; may be empty where the fixed jobs by themselves cannot be
  };
  int64_t denominator = 1;
  std::vector<Node> nodes; ///< the root first, children behind their parents
};

enum class AllocationStatus { Optimal, Feasible, Infeasible, Unknown };

struct AllocationSolution {
  AllocationStatus status = AllocationStatus::Unknown;
  std::vector<int64_t> choice; ///< of each job: index of its configuration, -1: it waits; empty if there is none
  int64_t value = 0;           ///< sum of the values of `choice`
  int64_t bound = 0;           ///< no allocation has more; infeasible: -1
  AllocationProof proof;       ///< of `bound`
};

/// Why a problem is not well formed: a number out of range, a resource that does not exist or stands twice. The places
/// of errors are empty.
Result<void> checkAllocationProblem(const AllocationProblem &problem);

} // namespace accord::jobs
