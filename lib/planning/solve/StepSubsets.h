// What the operations of a whole step can do at once, and what follows for its length however iterations overlap.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/planning/solve/OperationVariants.h"
#include "lib/scheduling/problem/SchedulingResult.h"
#include "llvm/ADT/BitVector.h"
#include <map>
#include <memory>
#include <shared_mutex>

namespace accord {

/// What follows from a graph alone, for all machines: by region and operations that take time, which are apart. Safe to
/// share between threads; of one graph.
class ExecutionOrders {
public:
  using Apart = std::vector<llvm::BitVector>;
  std::shared_ptr<const Apart> find(RegionId top, const std::vector<OperationId> &operations) const;
  void add(RegionId top, const std::vector<OperationId> &operations, Apart apart);

private:
  mutable std::shared_mutex mutex_;
  std::map<std::pair<RegionId, std::vector<OperationId>>, std::shared_ptr<const Apart>> known_;
};

struct StepSubsetOptions {
  int64_t goal = INT64_MAX;          ///< a bound of so much is enough
  int64_t subsets = 2'000'000;       ///< that are looked at, in all
  ExecutionOrders *orders = nullptr; ///< looked up and added to
};

/// Of one iteration of a top region, by feasible subsets (lib/scheduling/problem/ConcurrentWork.h): each operation as
/// often as its repeats run it, in any of its forms. Two operations are apart if some chain of dependences leads
/// through all of their executions, so that the bound holds even where iterations overlap as far as their values allow.
/// `tasks` are OperationIds, of bodies as well. A bound of `goal` is enough. Value 0: there are too many operations or
/// executions (see below).
SchedulingBound stepSubsets(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
                            RegionId top, const StepSubsetOptions &options);

/// Operations that take any time, and executions of all operations of the region.
constexpr size_t kMaxSubsetOperations = 240, kMaxSubsetExecutions = 30'000;

} // namespace accord
