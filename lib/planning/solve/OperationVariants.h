// In which forms each operation of a step may run, and what each takes of cores and memories.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <string>
#include <vector>

namespace accord {

/// Cores, then memories, then the networks that exchanges name, in order of their names: the
/// resources of every region's scheduling problem.
class OperationVariants {
public:
  struct Variant {
    const OperationCost *cost;
    size_t alternative; ///< 0: as priced; else one more than the index into its alternatives
    int64_t duration;   ///< picoseconds
  };

  OperationVariants(const WorkGraph &graph, const Machine &machine, const Costs &costs);

  /// Of an operation that is no repeat, as priced first; only what is better in something than all
  /// others: shorter, or less of a core or of a memory's bandwidth.
  const std::vector<Variant> &of(OperationId id) const { return variants_[id]; }
  size_t resources() const { return names_.size(); }
  const std::string &nameOf(size_t resource) const { return names_[resource]; }
  /// Of cores: operations at a time; of memories: `kWhole`; of networks 1.
  int64_t capacity(size_t resource) const;
  /// Of the capacity, while it runs. Of bandwidth the share is rounded down, so that what bounds
  /// these schedules bounds all; a few parts in a billion too much at a time are no matter.
  int64_t amount(const Variant &variant, size_t resource) const;
  /// Picoseconds of the whole resource that any form takes at least, rounded down: amount *
  /// duration / capacity, of bandwidth the transfer itself.
  int64_t minWork(OperationId id, size_t resource) const;
  /// Picoseconds of the whole resource.
  int64_t work(const Variant &variant, size_t resource) const;
  /// The network whose links an exchange holds while it runs; empty for others.
  static std::string networkOf(const Operation &operation, const OperationCost &cost);

  static constexpr int64_t kFullBandwidth = 1'000'000'000; ///< all of a memory's bandwidth

private:
  bool isBetter(const Variant &a, const Variant &b) const; ///< in something, or the same and before it

  const Machine &machine_;
  size_t links_; ///< the first network
  std::vector<std::string> names_;
  std::vector<std::vector<Variant>> variants_;
};

} // namespace accord
