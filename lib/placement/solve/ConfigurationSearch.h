// One configuration with its number of groups: what its stages take at least, how these bounds
// combine, and the search for its best plan.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/DeviceRates.h"
#include "lib/placement/solve/MinimaxProofTree.h"
#include "lib/placement/solve/RecomputeSolver.h"
#include <atomic>
#include <cmath>
#include <functional>
#include <map>

namespace accord::placing {

/// Of which micro-batches, schedule, chunks and forms; the groups are `fewest` to `most`.
struct Configuration {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t microbatches = 1, virtualStages = 1, min = 1, max = 1;
  std::vector<Id> parallelConfigs; ///< that groups may have; if `each`, each of them in some group
  bool each = false;
  double bound = 0;  ///< of the value
  unsigned step = 0; ///< what was done for it so far
};

/// What all configurations share.
struct SearchState {
  std::optional<Placement> plan;
  PlanMetrics metrics;
  double value = INFINITY;
  double residualBound = INFINITY; ///< least bound of what was left without having been searched
  double gap = 0;
  uint64_t examined = 0, pruned = 0;
  int64_t budget = 0; ///< work left
  const std::atomic<bool> *stop = nullptr;
  std::function<void(const Placement &, const PlanMetrics &)> onPlanEvaluated; ///< each plan judged
  ProvedPathBounds proved;

  /// What a plan must be worth less than to be of use.
  double cutoff() const { return std::isinf(value) || gap <= 0 ? value : value - gap * std::abs(value); }
  bool isExhausted() const { return budget <= 0 || (stop && stop->load(std::memory_order_relaxed)); }
  /// Whether something of this bound is no use; if so, it is noted as left.
  bool canPrune(double bound) {
    if (bound < cutoff())
      return false;
    recordPruned(bound);
    return true;
  }
  void recordPruned(double bound) { residualBound = std::min(residualBound, bound); }
};

/// A stage's times, none of them more than in any plan.
struct StageBound {
  int64_t forward = 0, backward = 0, weight = 0, stepTail = 0, send = 0;
  int64_t work() const { return forward + backward + weight; }
};

/// How long a suffix of the pipeline takes, from when its first stage may begin: until its last
/// gradient leaves it, and until all of it is finished. Neither is more than it really is:
/// - a group runs all passes of its m micro-batches: w = F + B + W each;
/// - where each stage waits for the one before it, the suffix behind a stage begins no earlier than
///   after the stage's first forward pass, and its last gradient is followed by the stage's last
///   backward pass. Neither needs equal stages, nor an order of the passes between.
/// - Of ZeroBubble, at most `held` weight gradients are left when the last backward pass ends, and
///   its own comes after it.
/// - Of 1F1B (and ZeroBubble) stage s runs k = min(m, p - s) forward passes before its first and k
///   backward passes after its last forward pass. Before the first backward pass a micro-batch goes
///   through all of the suffix and back, and another one after the last forward pass; between are m
///   - k passes each way (if m > k). With w the work of each stage, for all s:
///     step >= sum of w before s + 2 * sum of w behind s + (m - k + 1) w_s.
///   Weighed with l_s = (c - 1 - sum of l before s) / (m - p + s), which are not negative and sum
///   up to 1 for c = (m + p - 1) / p, each w has the factor c: for m > p no uneven cut beats the
///   closed form of even stages, step >= (m + p - 1) / p * (sum of w).
/// - Of GPipe all forward passes of the last stage come before any backward pass: step >= sum of w
///   + (m - 1) w_s.
struct SuffixBound {
  int64_t leave = 0, end = 0;
  int64_t through = 0; ///< a micro-batch alone, there and back
};

class ConfigurationSearch {
public:
  ConfigurationSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeChoices,
                      const Configuration &configuration, SearchState &searchState);

  /// Lower bound of the value by what groups can hold; see there.
  double capacityBound();
  /// Lower bound of the value of interleaved stages; 0 where it says nothing. See there.
  double balancedBound();
  /// The same by games between paths and plans (`EvenGame`): of all plans, then of parts of them
  /// with so many layers in a group or a stage, the least bound first; so many parts at most. Plans
  /// that the games come upon are judged.
  double minimaxBound(size_t parts);
  /// Judges plans that are easily made; with `moves`, others near them while that helps.
  void seed(bool moves = true);
  /// The dynamic program. Returns the bound of the value that it proves; what only plans no better
  /// than the answer at hand can do is left out.
  double table();
  /// Depth first, within `work`; true if nothing is left to be searched.
  bool search(int64_t work, double bound);

private:
  struct Cell {
    int64_t leave, end, through;
    uint32_t next, parallelConfig, state;
  };
  struct Placed {
    uint32_t from, to;
    Id parallelConfig;
  };
  struct Prefix;

  int64_t groupOf(int64_t stage) const { return model_.groupOf(stage, groups_); }
  /// Stage `index` of a group.
  size_t stageOf(size_t group, size_t index) const {
    return static_cast<size_t>(model_.stageOf(static_cast<int64_t>(group), static_cast<int64_t>(index), groups_));
  }
  /// Whether so many of the stages may hold just this set.
  bool mayHold(int64_t stages, uint32_t node) const {
    return lattice_.mayHold(stages, node) && lattice_.isUniformPrefix(stages, stages_, node);
  }
  std::optional<StageBound> stageAt(Id parallelConfig, uint32_t from, uint32_t to, int64_t stage, int64_t memory);
  int64_t minTransfer(Id parallelConfig, int64_t bytes, int64_t stage) const;
  int64_t minTies(Id parallelConfig, uint32_t from, uint32_t to) const;
  SuffixBound extend(const SuffixBound &behind, const StageBound &stage, int64_t at) const;
  double value(double step, const Rates &rates) const {
    return valueOf(problem_, step + problem_.hostOverheadPerStep, rates, joules_, lattice_.maxTdpTime);
  }
  Rates minRatesOf(const std::vector<Placed> &stages) const;
  int64_t longest() const; ///< step below the answer's value, without perStep

  template <typename Visit> void stagesFrom(uint32_t from, uint32_t max, Visit visit);
  int64_t limitAt(int64_t stage, uint32_t from) const; ///< of its time per micro-batch
  void windows();
  void listStates();
  Cell *cellAt(int64_t stage, uint32_t node, uint32_t state);

  /// Whether an interleaved stage, and `left` ones behind it, can be even.
  bool canBeBalanced(uint32_t from, uint32_t to, int64_t left) const;
  struct Middle {
    int64_t first = 0, last = 0; ///< layers before and behind
  };
  std::optional<Middle> middle() const;
  /// With `evenly`: the sizes of the stages. Nothing where several cuts are left, or sizes that
  /// differ by more than one.
  std::optional<std::vector<int64_t>> onlyCut() const;
  std::optional<BalancedPlans> balancedPlans(const Middle &middle) const;
  void seedBalanced(bool moves);

  std::optional<std::vector<Placed>> greedy(int64_t bottleneck);
  uint32_t reach(int64_t stage, uint32_t from, Id parallelConfig, int64_t bottleneck, int64_t memory);

  void dive(Prefix &prefix, uint32_t node);

  /// Least value of a plan with these stages that was judged, infinite if none was. Unless all
  /// choices of what is kept were looked at, `complete_` is unset.
  double leaf(const std::vector<Placed> &stages, bool exhaustive);
  double choose(const std::vector<Placed> &stages, Placement &plan,
                const std::vector<RecomputeSolver::Options> &options, bool exhaustive);
  int64_t minStepOf(const PlanMetrics &metrics, const StageEdges &edges) const;

  const DownSetLattice &lattice_;
  RecomputeSolver &recomputeSolver_;
  const PlacementProblem &problem_;
  const Configuration &configuration_;
  SearchState &searchState_;
  const ScheduleModel &model_;
  bool splitsWeights_; ///< weight gradients are passes of their own
  int64_t groups_, stages_, microbatches_;
  std::vector<InFlightStates> held_; ///< by group
  std::vector<int64_t> inFlight_;    ///< by stage, the most by itself
  std::vector<Rates> rates_;         ///< by position in `forms`
  Rates minRates_;
  double joules_ = 0;
  std::vector<int64_t> chainForward_, chainBackward_; ///< of layers, when not a chain
  std::vector<uint32_t> line_;                        ///< nodes, each a layer more than the one before it
  bool balanced_ = false;                             ///< interleaved, with a `middle`
  /// Then, keeps of the least recomputation by group, form and classes of its chunks' layers.
  std::map<std::vector<uint64_t>, RecomputeSolver::Options> known_;
  std::vector<int64_t> maxLarger_; ///< by group: chunks of one layer more, in a better plan
  // The table.
  int64_t longest_ = 0;
  bool tabled_ = false, collapsed_ = false;
  std::vector<uint32_t> low_, high_;                      ///< by stage: nodes where it may begin
  std::vector<std::vector<std::vector<int64_t>>> states_; ///< by groups: devices used by kind
  std::vector<std::vector<int64_t>> follow_;              ///< by groups: [state * forms + form]: state, or -1
  std::vector<std::vector<Cell>> cells_;
  std::vector<uint32_t> stamp_;
  uint32_t stamps_ = 0;
  int64_t work_ = 0;
  bool complete_ = true;
};

/// Calls `visit` with the sets that contain `from`, up to `most` layers long, until it says that
/// larger ones are no use.
template <typename Visit> void ConfigurationSearch::stagesFrom(uint32_t from, uint32_t max, Visit visit) {
  if (lattice_.above(0).empty()) { // a line
    for (uint32_t to = from + 1; to <= max && visit(to); ++to)
      ;
    return;
  }
  if (stamp_.empty())
    stamp_.assign(lattice_.last() + 1, 0);
  ++stamps_;
  std::vector<uint32_t> queue{from};
  for (size_t at = 0; at < queue.size(); ++at)
    for (uint32_t to : lattice_.above(queue[at]))
      if (stamp_[to] != stamps_) {
        stamp_[to] = stamps_;
        uint32_t mine = stamps_;
        if (visit(to))
          queue.push_back(to);
        stamps_ = mine;
      }
}

} // namespace accord::placing
