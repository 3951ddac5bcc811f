// What one stage takes at least: for bounds of placements.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <map>
#include <unordered_map>

namespace accord {

/// Sets of layers from which stages are cut: set 0 is empty, the last one is all, and a stage is what a set has more
/// than one that it contains.
class PlacementCuts {
public:
  using Id = PlacementProblem::Id;
  explicit PlacementCuts(const PlacementProblem &problem);

  bool chain() const { return isChain; }
  /// False: layers branch, and there are too many sets.
  bool known() const { return count > 0; }
  size_t size() const { return count; }
  bool contains(size_t set, size_t other) const { return isChain ? other <= set : (sets[other] & ~sets[set]) == 0; }
  std::vector<Id> layers(size_t from, size_t to) const;
  /// Whether constraints and `uniformClass` let the first `stages` of `all` stages have just this set.
  bool mayCut(size_t set, int64_t stages, int64_t all) const;
  /// Whether cuts depend on the number of stages: a constraint names one, or they share evenly.
  bool numbered() const { return constraintsNameStages || !shared.empty(); }
  /// Whether all cuts of a chain into so many stages have sizes that differ by one at most: the fewest that there are
  /// layers for, or one more.
  bool isBalanced(int64_t stages) const;

private:
  bool has(size_t set, Id layer) const { return isChain ? layer < set : (sets[set] >> layer & 1) != 0; }
  bool isChain = true, constraintsNameStages = false;
  std::vector<std::pair<std::optional<int64_t>, std::vector<Id>>> placementConstraints; ///< stage, or together
  size_t count = 0;
  std::vector<uint64_t> sets;
  std::vector<int64_t> shared; ///< by set: layers of the class that stages share evenly
};

/// A stage in a parallel configuration, apart from its place in the pipeline.
struct StageMinCosts {
  bool can = false;
  int64_t forward = 0, backward = 0, weight = 0; ///< with gathers, the host, blocking transfers
  int64_t overlapTime = 0;                       ///< backward and weight of its layers alone
  int64_t busy = 0;                              ///< of a micro-batch, its layers alone
  int64_t recomputeTime = 0;                     ///< if all layers keep what is fastest
  int64_t exchange = 0, update = 0;
  int64_t before = 0, after = 0; ///< where layers branch: path to it, path back from it
  double joules = 0;
  int64_t pass() const { return forward + backward + weight; }
  int64_t stepTail(const PlacementProblem &p, int64_t groupRecomputeTime) const;
};

/// The objective of a group of devices in a parallel configuration, per second; energy: when idle. 0 of a step's time.
double ratePerSecond(const PlacementProblem &problem, PlacementProblem::Id parallelConfig);
/// Whether constraints let a layer be on a device type.
bool mayBeOn(const PlacementProblem &problem, PlacementProblem::Id layer, PlacementProblem::Id deviceType);

class StageCosts {
public:
  using Id = PlacementProblem::Id;
  StageCosts(const PlacementProblem &problem, const PlacementCuts &cuts);

  /// `alone`: no other stage sends it anything or receives anything from it that blocks.
  const StageMinCosts &of(size_t from, size_t to, Id parallelConfig, bool alone);
  /// `StageMinCosts::busy` of layers of a chain; nothing: one of them cannot run so.
  std::optional<int64_t> busy(size_t from, size_t to, Id parallelConfig);
  /// Least time computed again with `inFlight` micro-batches in memory; nothing if none fits.
  std::optional<int64_t> recomputeTime(size_t from, size_t to, Id parallelConfig, int64_t inFlight);
  /// Choices that need it, by layer.
  std::vector<uint32_t> recomputeChoices(const std::vector<Id> &layers, Id parallelConfig, int64_t inFlight) const;

  uint64_t work = 0; ///< steps taken

private:
  /// Of layers in a parallel configuration, with what is fastest kept; if one of them cannot run so, of the others.
  struct Sums {
    int64_t cannot = 0; ///< layers
    int64_t forward = 0, backward = 0, weight = 0, recomputeTime = 0, update = 0;
    int64_t gradients = 0, expertGradients = 0, weights = 0;
    int64_t staticMemory = 0, outside = 0, activations = 0, minActivations = 0;
    Sums &add(const Sums &other, int64_t times);
  };
  /// Of each layer alone, and of a chain's.
  struct ParallelConfigSums {
    std::vector<Sums> layers, upTo;
    std::vector<int64_t> workspace; ///< by layer, with what is fastest
    bool energy = false;            ///< of some layer it is known
  };
  const ParallelConfigSums &sumsOf(Id parallelConfig);
  Sums sum(size_t from, size_t to, Id parallelConfig);
  StageMinCosts compute(size_t from, size_t to, Id parallelConfig, bool alone);
  int64_t exchange(Id parallelConfig, const Sums &all) const;
  AlphaBetaModel bestLink(Id parallelConfig) const;
  void addNeighbours(StageMinCosts &min, size_t from, size_t to, Id parallelConfig, const std::vector<Id> &layers,
                     bool alone) const;
  void paths();

  const PlacementProblem &p;
  const PlacementCuts &cuts;
  std::vector<int64_t> fastest, fastestBack; ///< by layer, over parallel configurations
  std::vector<int64_t> pathTo, pathBack;     ///< ends with the layer
  std::vector<ParallelConfigSums> sums;      ///< by parallel configuration
  std::unordered_map<uint64_t, StageMinCosts> known;
  std::map<std::vector<int64_t>, std::optional<int64_t>> knapsacks;
};

} // namespace accord
