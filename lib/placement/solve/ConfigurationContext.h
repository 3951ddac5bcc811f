// One configuration with its number of groups: what its stages take at least, and how these bounds combine.
#pragma once
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/DownSetLattice.h"
#include "lib/placement/solve/MinimaxPathBound.h"
#include "lib/placement/solve/RecomputeSolver.h"
#include <atomic>
#include <cmath>
#include <functional>
#include <map>

namespace accord::placing {

/// Of devices in use; sums of groups add up.
struct Rates {
  double watts = 0, price = 0, tdp = 0; ///< idle; per second; thermal design power
  int64_t devices = 0;

  Rates &operator+=(const Rates &b);
};
/// So many devices of a type.
Rates ratesOf(const DeviceType &deviceType, int64_t devices);
/// A group in a parallel configuration.
Rates ratesOf(const PlacementProblem &problem, Id parallelConfig);
Rates operator*(int64_t groups, const Rates &each);
/// Least of each.
Rates minRates(Rates a, const Rates &b);

/// No plan with these or higher rates that takes `step` or longer and works with `joules` or more is worth less; of a
/// limit of power a step takes joules / (limit - idle power) at least. Infinite where a limit is passed. `maxTdpTime`
/// is a limit, too, of step time * thermal design power in W s (0: none).
double valueOf(const PlacementProblem &problem, double step, const Rates &rates, double joules, double maxTdpTime);

/// Steps longer than this have no value below `value`, at these rates or higher ones.
double stepFor(const PlacementProblem &problem, double value, const Rates &rates, double joules);

/// Micro-batches, schedule, virtual stages and parallel configurations; the number of groups is `min` to `max`.
struct Configuration {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t microbatches = 1, virtualStages = 1, min = 1, max = 1;
  std::vector<Id> parallelConfigs; ///< that groups may have; if `each`, some group has each of them
  bool each = false;
  /// Of each device type one of these is still to be chosen, for all of its groups, and some group has it. Not `each`.
  bool undecided = false;
  double bound = 0;  ///< of the value
  unsigned step = 0; ///< what was done for it so far

  bool splits() const { return undecided || min < max; }
};

/// Groups of one kind: positions in `Configuration::parallelConfigs` of the configurations that they may have. Kinds
/// are apart where some group has each: single configurations if `each`, device types if `undecided`; else one has all.
std::vector<std::vector<size_t>> kindsOf(const PlacementProblem &problem, const Configuration &configuration);

/// What all configurations share.
struct SearchState {
  std::optional<Placement> plan;
  PlanMetrics metrics;
  double value = INFINITY;
  double residualBound = INFINITY; ///< min bound of what was pruned or left
  double gap = 0;
  uint64_t examined = 0, pruned = 0;
  int64_t budget = 0; ///< work left
  const std::atomic<bool> *stop = nullptr;
  ProvedPathBounds proved;

  /// A plan is of use if its value is below this.
  double cutoff() const { return std::isinf(value) || gap <= 0 ? value : value - gap * std::abs(value); }
  bool isExhausted() const { return budget <= 0 || (stop && stop->load(std::memory_order_relaxed)); }
  /// Whether nothing of this bound is of use; if so, the bound is recorded as pruned.
  bool canPrune(double bound) {
    if (bound < cutoff())
      return false;
    recordPruned(bound);
    return true;
  }
  void recordPruned(double bound) { residualBound = std::min(residualBound, bound); }
  /// Takes a plan that is better than the best known one.
  void take(const Placement &better, PlanMetrics its) {
    value = its.value;
    plan = better;
    metrics = std::move(its);
  }
};

/// Whether a plan fits and is within the limits; `maxTdpTime` as above.
bool isFeasible(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics, double maxTdpTime);

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

/// A stage with its layers, between two nodes of the lattice.
struct StagePlacement {
  uint32_t from, to;
  Id parallelConfig;
};

/// Adds the layers' work without recomputation.
StageWork &operator+=(StageWork &work, const Sums &sums);

/// What the bounds and the searches of one configuration share.
class ConfigurationContext {
protected:
  ConfigurationContext(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                       const Configuration &configuration, SearchState &searchState);

  int64_t groupOf(int64_t stage) const { return model_.groupOf(stage, groups_); }
  /// Stage `index` of a group.
  size_t stageOf(int64_t group, int64_t index) const { return model_.stageOf(group, index, groups_); }
  PipelineShape shape() const {
    return {configuration_.schedule, groups_, configuration_.virtualStages, microbatches_};
  }
  /// Whether the first `stages` stages may hold just this set.
  bool mayHold(int64_t stages, uint32_t node) const {
    return lattice_.mayHold(stages, node) && lattice_.isUniformPrefix(stages, stages_, node);
  }
  /// Times of a stage with this work, recomputation included; `in` and `out`: bytes of a sample that cross into it and
  /// out of it.
  StageBound boundOf(Id parallelConfig, const Sums &sums, int64_t recomputeTime, int64_t stage, int64_t in,
                     int64_t out) const;
  /// What a stage takes at least; nothing where it does not fit into the memory of its devices.
  std::optional<StageBound> stageAt(Id parallelConfig, uint32_t from, uint32_t to, int64_t stage);
  /// Least time of a transfer of `bytes` of a sample between `stage` and the next one.
  int64_t minTransfer(Id parallelConfig, int64_t bytes, int64_t stage) const;
  /// What the ties of a stage with another group take on the best link there is.
  int64_t minTies(Id parallelConfig, uint32_t from, uint32_t to) const;
  /// The suffix that begins with `stage`. `at`: its index, or -1 for a stage of which nothing is known but its own
  /// work.
  SuffixBound extend(const SuffixBound &behind, const StageBound &stage, int64_t at) const;
  double value(double step, const Rates &rates) const {
    return valueOf(problem_, step + problem_.hostOverheadPerStep, rates, joules_, lattice_.maxTdpTime);
  }
  /// Groups that there are devices for of each of `kinds_`, if some group is of each.
  std::vector<int64_t> maxGroupsOfKinds() const;
  Rates minRatesOf(const std::vector<StagePlacement> &stages) const;
  int64_t longest() const; ///< step below the value of the best plan known, without the host's overhead per step

  const DownSetLattice &lattice_;
  RecomputeSolver &recomputeSolver_;
  const PlacementProblem &problem_;
  const Configuration &configuration_;
  SearchState &searchState_;
  const ScheduleModel &model_;
  bool splitsWeights_;                     ///< weight gradients are passes of their own
  int64_t groups_, stages_, microbatches_; ///< of a range of numbers of groups, the most
  std::vector<std::vector<size_t>> kinds_;
  std::vector<InFlightStates> held_; ///< by group
  std::vector<int64_t> inFlight_;    ///< by stage, the most by itself
  std::vector<Rates> rates_;         ///< by position in `Configuration::parallelConfigs`
  Rates minRates_;
  double joules_ = 0;
  std::vector<uint32_t> line_; ///< nodes, each a layer more than the one before it
};

} // namespace accord::placing
