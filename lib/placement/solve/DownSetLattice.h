// What the optimizer of placements knows of a problem before it looks at any plan: down-sets of the
// layers (what stages before a cut hold) and sums over them.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <map>

namespace accord::placing {

using Id = PlacementProblem::Id;

/// Whether no pin of a layer keeps it from a kind.
bool mayRunOn(const PlacementProblem &problem, Id layer, Id deviceType);

/// Sums over a set of layers in one form. Recomputation is counted with the least of each layer.
struct Sums {
  int64_t forward = 0, backward = 0, weight = 0, recomputeTime = 0, maxRecomputeTime = 0, update = 0;
  int64_t staticMemory = 0, gradients = 0, expertGradients = 0, weights = 0, hostStaticMemory = 0;
  int64_t activations = 0;    ///< where nothing more is computed again than must be in roomy memory
  int64_t minActivations = 0; ///< where as little as possible is kept
  double joules = 0;          ///< least of each layer
  int64_t cannot = 0;         ///< layers that cannot run in the form, or are pinned elsewhere

  int64_t time() const { return forward + backward + weight + recomputeTime; }
  friend Sums operator-(Sums a, const Sums &b);
  Sums &operator+=(const Sums &b);
};

/// Down-sets as nodes 0 (nothing) to `last()` (all layers), each after the sets that it contains.
class DownSetLattice {
public:
  /// At most `mostSets` down-sets are listed; of more only those that are prefixes of the given
  /// order.
  DownSetLattice(const PlacementProblem &problem, size_t maxDownSets, double maxTdpTime = 0);

  const PlacementProblem &problem;
  /// A limit besides the problem's: step time * thermal design power, in W s; 0: none.
  double maxTdpTime;
  bool complete = true; ///< all down-sets are listed
  bool linear = false;  ///< the only down-sets are prefixes: nodes are numbers of layers
  bool chain = false;   ///< linear, and each layer waits for what the one before it sends
  bool path = false;    ///< a chain, and nothing goes farther than to the next layer

  uint32_t last() const { return nodes_ - 1; }
  Sums between(Id parallelConfig, uint32_t from, uint32_t to) const {
    const std::vector<Sums> &sums = of(parallelConfig);
    return sums[to] - sums[from];
  }
  /// All layers in a form.
  const Sums &all(Id parallelConfig) const { return all_[parallelConfig]; }
  /// The most `working` that a layer may need in a form.
  int64_t maxWorkspace(Id parallelConfig) const { return workspace_[parallelConfig]; }
  /// Equal for sets with equally many layers of each class.
  uint64_t classesOf(uint32_t from, uint32_t to) const { return hash_[to] - hash_[from]; }
  int64_t count(uint32_t from, uint32_t to) const { return size_[to] - size_[from]; }
  std::vector<Id> layersBetween(uint32_t from, uint32_t to) const;
  bool holds(uint32_t from, uint32_t to, Id layer) const; ///< `layersBetween` has it
  /// Whether pins let a number of stages hold just this set: all layers that are pinned to them,
  /// none that are pinned to later ones, and of layers that have to be together all or none.
  bool mayHold(int64_t stages, uint32_t node) const {
    return constrainedLayers_.empty() || constraintsHold(stages, node);
  }
  /// Whether this many of so many stages may hold just this set, where all have equally many layers
  /// of a class.
  bool isUniformPrefix(int64_t some, int64_t stages, uint32_t node) const {
    return uniformLayers_.empty() || uniformLayers_[node] * stages == uniformLayers_.back() * some;
  }
  /// Sets with one layer more.
  const std::vector<uint32_t> &above(uint32_t node) const { return above_.empty() ? none_ : above_[node]; }
  /// Bytes of a sample that cross into a set from what is before it (`path` only; else 0, which
  /// bounds them).
  int64_t crossing(uint32_t node) const { return path ? crossing_[node] : 0; }
  /// Longest chain of layers that must have run before a set can, with each layer's least time in
  /// the forms `layerTime` was made from.
  int64_t before(const std::vector<int64_t> &chainTo, uint32_t from, uint32_t to) const;
  /// Longest chain that ends with each layer, by each layer's time.
  std::vector<int64_t> chains(const std::vector<int64_t> &time) const;

private:
  bool listSets(size_t maxDownSets);
  void listPrefixes();

  uint32_t nodes_ = 0;
  std::vector<std::vector<uint64_t>> sets_;  ///< bits by layer; empty when linear
  std::vector<std::vector<uint32_t>> above_; ///< empty when linear
  std::vector<uint32_t> none_;
  const std::vector<Sums> &of(Id parallelConfig) const;
  bool constraintsHold(int64_t stages, uint32_t node) const;

  std::vector<int64_t> uniformLayers_; ///< layers of the class `evenly`, by node; empty without one
  std::vector<Id> constrainedLayers_;  ///< layers with a pin to a stage or to each other
  mutable std::map<int64_t, std::vector<char>> constraintsHold_; ///< by number of stages, node
  mutable std::vector<std::vector<Sums>> sums_;                  ///< by form, node; made when first asked for
  std::vector<Sums> all_;
  std::vector<int64_t> workspace_;
  std::vector<uint32_t> below_; ///< by node: a set with one layer less,
  std::vector<Id> added_;       ///< and that layer
  std::vector<uint64_t> hash_;
  std::vector<int64_t> size_, crossing_;
};

} // namespace accord::placing
