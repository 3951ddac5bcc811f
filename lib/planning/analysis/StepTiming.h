// The step as it was scheduled, when durations change and every order stays.
#pragma once
#include "lib/machine/model/Dependences.h"
#include "lib/machine/model/Plan.h"
#include "lib/planning/analysis/TimingGraph.h"
#include <optional>

namespace accord {

/// One timing graph for each region: an operation waits for those whose results it reads, and for
/// those that came before it on its core, its links, or in what they take of a memory's bandwidth
/// (orders as in the disjunctive graph of Roy, Sussmann 1964). A repeat is one operation that takes
/// count * length of its body, so no iteration is written out; where iterations overlap, the graph is that of a period,
/// and what the last iteration takes beyond it stays as it was. The plan's graph has to live as long.
class StepTiming {
public:
  /// Issues (A0920): a graph that contradicts itself, an operation without a slot, slots that
  /// contradict the dependences (a cycle, named), a step of 2^61 ps or more.
  static Result<StepTiming> of(const Plan &plan);

  /// At most the plan's: what waits for nothing starts earlier here.
  int64_t step() const { return stepFrom(lengths()); }
  /// Of one iteration; of a top region without what the host takes.
  int64_t length(RegionId region) const { return graphs_[region].length(); }
  int64_t slack(OperationId id) const { return graphs_[regionOf(id)].slack(node_[id]); }
  int64_t duration(OperationId id) const { return graphs_[regionOf(id)].duration(node_[id]); }

  /// The step if one operation that is no repeat took so long. Constant time in each region after the first call,
  /// which is near-linear; refused when the step is 2^61 or more.
  Result<int64_t> stepWith(OperationId id, int64_t duration) const;

  /// Operations of one longest path of a region's iteration, repeats as one.
  std::vector<OperationId> criticalPath(RegionId region) const;
  /// What the host takes in one step.
  int64_t host() const { return graph_->microbatches * hostMicrobatch_ + hostStep_; }

private:
  using Wide = __int128;
  RegionId regionOf(OperationId id) const { return graph_->operations[id].region; }
  std::pair<int64_t, int64_t> lengths() const { return {length(kMicrobatchRegion), length(kUpdateRegion)}; }
  int64_t stepFrom(std::pair<int64_t, int64_t> lengths) const {
    return graph_->microbatches * (lengths.first + hostMicrobatch_) + lengths.second + hostStep_;
  }
  bool fits(Wide micro, Wide update) const;
  /// All iterations of a body that start `length` apart.
  Wide repeated(RegionId body, Wide length) const {
    int64_t count = graph_->regions[body].count;
    return count > 0 ? count * length + overhang_[body] : Wide(0);
  }
  std::optional<Error> build(const Plan &plan, const Dependences &deps, RegionId region);

  const WorkGraph *graph_ = nullptr;
  std::vector<TimingGraph> graphs_; ///< by RegionId
  std::vector<int64_t> overhang_;   ///< by RegionId
  std::vector<uint32_t> node_;      ///< by OperationId: place in its region
  int64_t hostMicrobatch_ = 0, hostStep_ = 0;
  mutable std::vector<std::vector<int64_t>> avoiding_; ///< by RegionId; empty: to be computed
};

} // namespace accord
