// Interleaved stages are balanced. How long a step takes at least, and first plans, where all but the first and the
// last layers are equal, as in a transformer.
#pragma once
#include "lib/placement/solve/GroupAssignment.h"
#include "lib/placement/solve/MinimaxPathBound.h"
#include "lib/placement/solve/StagePlanner.h"

namespace accord::placing {

class BalancedStageSearch : protected StagePlanner {
public:
  /// Lower bound of the value of interleaved stages; 0 where it says nothing. A group runs all passes of its stages, m
  /// times. Before its first one, the groups before it have run the first micro-batch through their first stages; after
  /// its last one, its gradient goes back through these. With n stages of one layer more than the fewest it recomputes
  /// no less than where these are the stages with the fewest micro-batches in flight. What all groups can take within a
  /// step has to be all layers, where they have several parallel configurations as well as there are devices for each.
  double balancedBound();
  /// Lower bound of the same by minimax path bounds (`MinimaxPathBound`): of all plans, then of subsets of them with so
  /// many layers in a group or a stage, the least bound first; of `maxSubsets` at most. Evaluates the plans that it
  /// comes upon.
  double minimaxBound(size_t maxSubsets);

protected:
  BalancedStageSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                      const Configuration &configuration, SearchState &searchState);

  /// Whether a stage, and `left` ones behind it, can be balanced, if they are interleaved.
  bool canBeBalanced(uint32_t from, uint32_t to, int64_t left) const;
  /// Evaluates balanced cuts: a layer more for the ends and then the middle, for the first, for the last, or spread;
  /// with `moves`, then from one stage to another while that helps.
  void seedBalanced(bool moves);

private:
  struct Minimax;
  struct Node;
  struct Middle {
    int64_t first = 0, last = 0; ///< layers before and behind
  };
  std::optional<Middle> middle() const;
  /// Sizes of the stages where constraints leave one cut, and no stage has two layers more than another.
  std::optional<std::vector<int64_t>> onlyCut() const;

  int64_t minCrossing(int64_t stage) const;
  Part partOf(int64_t stage, int64_t size) const;
  StageBound boundOf(Id parallelConfig, const Part &part, int64_t stage) const;
  /// Time behind the last backward pass of a group that ties to the other end of the chain take.
  int64_t minTiesOf(Id parallelConfig, int64_t group) const;
  std::optional<std::vector<int64_t>> balancedSteps(Id parallelConfig, int64_t group, int64_t front, int64_t drain);
  GroupAssignment largerStagesWithin(int64_t step) const;
  bool takeWithin(int64_t step) const;
  std::optional<int64_t> minBalancedStep() const;
  std::optional<BalancedPlans> balancedPlans() const;

  std::optional<BalancedSubset> rootSubset() const;
  void evaluateMean(Minimax &minimax);
  void tighten(Minimax &minimax, Node &node, size_t rounds);
  double branch(Minimax &minimax, Node root, size_t maxSubsets);
  static std::vector<BalancedSubset> split(const Node &node, PathBound::Part &how);

  /// `kinds`: positions of the groups' parallel configurations; empty: all have the first one.
  double evaluateSizes(const std::vector<int64_t> &sizes, const std::vector<size_t> &kinds = {});
  /// As `seedBalanced`, where groups have several parallel configurations: those kinds of groups that hold all layers
  /// in the least step by `steps_`, and in somewhat longer ones.
  void seedMixed();
  std::vector<int64_t> sizesOf(const std::vector<int64_t> &larger) const;
  /// Sizes of stages that each have equally many layers of the uniform class, cut as early as can be; empty if none.
  std::vector<int64_t> uniformSizes() const;
  void moveLayers(std::vector<int64_t> sizes, double value);

  int64_t layers_, minSize_, larger_; ///< of a stage, and stages with one layer more
  std::optional<Middle> middle_;      ///< if `balanced_`
  std::vector<int64_t> maxLarger_;    ///< by group: stages of one layer more, in a better plan, of the first kind
  /// By group, parallel configuration and stages of one layer more: a bound of the step.
  std::vector<std::vector<std::vector<int64_t>>> steps_;
};

} // namespace accord::placing
