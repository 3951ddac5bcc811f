// What the optimizer of placements knows of a problem before it looks at any plan: down-sets of the layers (what stages
// before a cut hold) and sums over them.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <map>

namespace accord::placing {

using Id = PlacementProblem::Id;

/// Whether no constraint of a layer keeps it from a device type.
bool mayRunOn(const PlacementProblem &problem, Id layer, Id deviceType);

/// Sums over a set of layers in one form. Recomputation is counted with the least of each layer.
struct Sums {
  int64_t forward = 0, backward = 0, weight = 0, recomputeTime = 0, maxRecomputeTime = 0, update = 0;
  int64_t staticMemory = 0, gradients = 0, expertGradients = 0, weights = 0, hostStaticMemory = 0;
  int64_t activations = 0;    ///< where nothing more is computed again than must be in roomy memory
  int64_t minActivations = 0; ///< where as little as possible is kept
  double joules = 0;          ///< least of each layer
  int64_t cannot = 0; ///< layers that cannot run in the parallel configuration, or are constrained to other devices

  int64_t time() const { return forward + backward + weight + recomputeTime; }
  /// Adds another sum so many times.
  Sums &add(const Sums &b, int64_t times = 1) {
    auto each = [&](auto... field) { ((this->*field += times * (b.*field)), ...); };
    each(&Sums::forward, &Sums::backward, &Sums::weight, &Sums::recomputeTime, &Sums::maxRecomputeTime, &Sums::update,
         &Sums::staticMemory, &Sums::gradients, &Sums::expertGradients, &Sums::weights, &Sums::hostStaticMemory,
         &Sums::activations, &Sums::minActivations, &Sums::joules, &Sums::cannot);
    return *this;
  }
};

/// Down-sets as nodes 0 (nothing) to `last()` (all layers), each after the sets that it contains.
class DownSetLattice {
public:
  /// At most `maxDownSets` down-sets are listed; of more only those that are prefixes of the given order.
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
    return Sums(sums[to]).add(sums[from], -1);
  }
  /// All layers in a parallel configuration.
  const Sums &all(Id parallelConfig) const { return all_[parallelConfig]; }
  /// The most `workspace` that a layer may need in a parallel configuration.
  int64_t maxWorkspace(Id parallelConfig) const { return workspace_[parallelConfig]; }
  /// Equal for sets with equally many layers of each class.
  uint64_t classesOf(uint32_t from, uint32_t to) const { return hash_[to] - hash_[from]; }
  int64_t count(uint32_t from, uint32_t to) const { return size_[to] - size_[from]; }
  std::vector<Id> layersBetween(uint32_t from, uint32_t to) const;
  /// Whether `layersBetween` has a layer.
  bool holds(uint32_t from, uint32_t to, Id layer) const { return has(to, layer) && !has(from, layer); }
  /// Whether constraints let a number of stages hold just this set: all layers that are constrained to them, none that
  /// are constrained to later ones, and of layers that have to be together all or none.
  bool mayHold(int64_t stages, uint32_t node) const {
    return constrainedLayers_.empty() || constraintsHold(stages, node);
  }
  /// Whether this many of so many stages may hold just this set, where all have equally many layers of a class.
  bool isUniformPrefix(int64_t some, int64_t stages, uint32_t node) const {
    return uniformLayers_.empty() || uniformLayers_[node] * stages == uniformLayers_.back() * some;
  }
  /// Nodes from nothing to all layers, each with a layer more than the one before it.
  std::vector<uint32_t> line() const;
  /// Sets with one layer more.
  const std::vector<uint32_t> &above(uint32_t node) const { return above_.empty() ? none_ : above_[node]; }
  /// Bytes of a sample that cross into a set from what is before it (`path` only; else 0, which bounds them).
  int64_t crossing(uint32_t node) const { return path ? crossing_[node] : 0; }
  /// Longest chain of layers that must have run before a set can, with each layer's least time in the parallel
  /// configurations `layerTime` was made from.
  int64_t before(const std::vector<int64_t> &chainTo, uint32_t from, uint32_t to) const;
  /// Longest chain that ends with each layer, by each layer's time.
  std::vector<int64_t> chains(const std::vector<int64_t> &time) const;

private:
  bool listSets(size_t maxDownSets);
  bool has(uint32_t node, Id layer) const {
    return sets_.empty() ? layer < node : (sets_[node][layer / 64] >> (layer % 64) & 1) != 0;
  }

  uint32_t nodes_ = 0;
  std::vector<std::vector<uint64_t>> sets_;  ///< bits by layer; empty when linear
  std::vector<std::vector<uint32_t>> above_; ///< empty when linear
  std::vector<uint32_t> none_;
  const std::vector<Sums> &of(Id parallelConfig) const;
  bool constraintsHold(int64_t stages, uint32_t node) const;

  std::vector<int64_t> uniformLayers_; ///< layers of the class `uniformClass`, by node; empty without one
  std::vector<Id> constrainedLayers_;  ///< layers with a constraint to a stage or to each other
  mutable std::map<int64_t, std::vector<char>> constraintsHold_; ///< by number of stages, node
  mutable std::vector<std::vector<Sums>> sums_; ///< by parallel configuration, node; made when first asked for
  std::vector<Sums> all_;
  std::vector<int64_t> workspace_;
  std::vector<uint32_t> below_; ///< by node: a set with one layer less,
  std::vector<Id> added_;       ///< and that layer
  std::vector<uint64_t> hash_;
  std::vector<int64_t> size_, crossing_;
};

} // namespace accord::placing
