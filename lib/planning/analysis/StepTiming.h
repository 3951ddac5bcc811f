// The step as it was scheduled, when durations change and every order stays.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Plan.h"
#include "lib/planning/analysis/TimingGraph.h"

namespace accord {

/// One timing graph for each region: an operation waits for those whose results it reads, and for
/// those that came before it on its core, its links, or in what they take of a memory's bandwidth
/// (orders as in the disjunctive graph of Roy, Sussmann 1964). A repeat is one operation that takes
/// count * length of its body, so no iteration is written out and a change inside a body times that
/// body again and then one operation of each region around it.
class StepTiming {
public:
  /// Issues (A0920): a graph that contradicts itself, an operation without a slot, slots that
  /// contradict the dependences (a cycle, named), a step of 2^61 ps or more.
  static Result<StepTiming> of(const Plan &plan);

  /// At most the plan's: what waits for nothing starts earlier here.
  int64_t step() const { return stepFrom(lengths()); }
  /// Of one iteration; of a top region without what the host takes.
  int64_t length(RegionId region) const { return graphs_[region].length(); }
  int64_t earliest(OperationId id) const { return graphs_[regionOf(id)].earliest(node_[id]); }
  int64_t slack(OperationId id) const { return graphs_[regionOf(id)].slack(node_[id]); }
  int64_t duration(OperationId id) const { return graphs_[regionOf(id)].duration(node_[id]); }
  /// Of an operation that is no repeat. Refused as in `TimingGraph`; then nothing changes.
  std::optional<Error> setDuration(OperationId id, int64_t duration);

  /// The step if one operation took so long, without a change. Constant time in each region after
  /// the first call since a change, which is near-linear; refused when the step is 2^61 or more.
  Result<int64_t> stepWith(OperationId id, int64_t duration) const;

  /// Operations of one longest path of a region's iteration, repeats as one.
  std::vector<OperationId> criticalPath(RegionId region) const;
  /// What the host takes in one step.
  int64_t host() const { return microbatches_ * hostMicrobatch_ + hostStep_; }
  /// Operations timed and blocks moved since `of`.
  ArrivalTimes::Work work() const;

private:
  using Wide = __int128;
  RegionId regionOf(OperationId id) const { return region_[id]; }
  std::pair<int64_t, int64_t> lengths() const { return {length(kMicrobatchRegion), length(kUpdateRegion)}; }
  int64_t stepFrom(std::pair<int64_t, int64_t> lengths) const {
    return microbatches_ * (lengths.first + hostMicrobatch_) + lengths.second + hostStep_;
  }
  bool fits(Wide micro, Wide update) const;
  std::optional<Error> build(const Plan &plan, const Dependences &deps, RegionId region);

  std::vector<TimingGraph> graphs_;                  ///< by RegionId
  std::vector<std::vector<OperationId>> operations_; ///< by RegionId, then node
  std::vector<uint32_t> node_;                       ///< by OperationId
  std::vector<RegionId> region_;                     ///< by OperationId
  std::vector<OperationId> owner_;                   ///< by RegionId: the repeat, or kNone
  std::vector<int64_t> count_;                       ///< by RegionId
  int64_t microbatches_ = 1, hostMicrobatch_ = 0, hostStep_ = 0;
  mutable std::vector<std::vector<int64_t>> avoiding_; ///< by RegionId; empty: to be computed
};

} // namespace accord
