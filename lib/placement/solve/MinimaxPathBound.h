// Interleaved even stages: how little the longest path of any plan can be.
#pragma once
#include "lib/placement/evaluate/PipelinePaths.h"
#include "lib/placement/solve/RecomputeSolver.h"
#include <cmath>
#include <map>

namespace accord::placing {

/// All plans of one configuration whose stages have `least` layers or one more, in picoseconds and bytes, none of them
/// more than in any plan.
struct BalancedPlans {
  struct Stage {
    double forward = 0, backward = 0;               ///< of the fewest layers, without recomputation
    double moreForward = 0, moreBackward = 0;       ///< of one layer more
    std::vector<std::pair<size_t, double>> classes; ///< of the fewest layers: how many
  };
  struct Class {
    double staticMemory = 0;
    std::vector<RecomputeChoice> recomputeChoices; ///< by ascending `workspace`
  };
  struct Group {
    InFlightStates held;
    /// By number of virtual stages with one layer more: exposed are `exchange` - hidden * (`hides` + recomputation), or
    /// the share of `exchange` that nothing hides. What a group does at the end besides is `update`.
    std::vector<double> exchange, overlapTime, update;
  };
  PipelineShape shape;
  int64_t more = 0;  ///< stages with one layer more
  size_t middle = 0; ///< class of these
  double memory = 0, overlapFraction = 0, maxOverlap = 1;
  std::vector<double> send; ///< behind each stage
  std::vector<Stage> stages;
  std::vector<Class> classes;
  std::vector<Group> groups;
};

/// Some of these plans: how many virtual stages of each group have one layer more, and which stages.
struct BalancedSubset {
  std::vector<std::pair<int64_t, int64_t>> groups; ///< fewest, most
  std::vector<int8_t> stages;                      ///< 0 no, 1 yes, -1 either
};

/// A plan, or a mean of several, as the game sees it.
struct MeanPlan {
  PathTimes times;
  std::vector<double> larger; ///< by stage: has one layer more
};

/// What a bound is proved with: a mean of paths, and of moments of each group.
struct MinimaxProof {
  PathCounts counts;                                                            ///< of the mean
  std::vector<std::pair<std::shared_ptr<const PathBound::Path>, double>> paths; ///< each once, with its weight
  std::vector<std::vector<double>> moments;                                     ///< by group, position in `Group::held`
  void add(const std::shared_ptr<const PathBound::Path> &path, double weight);
};

/// A game between paths and plans. A plan's step is its longest path, so the least step is no less than what a mean of
/// paths takes at least, whatever the weights: and for these, plans fall apart into layers, but for the memory of a
/// group and the number of layers. Memory is a price per byte (Lagrangian relaxation; Geoffrion, Mathematical
/// Programming Study 2, 1974) of a mean of the moments when it may be fullest. Both sides answer the other's best mean
/// in turn (McMahan, Gordon, Blum: Planning in the presence of cost functions controlled by an adversary, ICML 2003).
class MinimaxPathBound {
public:
  explicit MinimaxPathBound(const BalancedPlans &plans);

  /// A lower bound of the steps of these plans: the best within so many rounds, or the first that reaches `enough`.
  /// Infinite where none fits. Paths of earlier calls are remembered; `from`: a proof for more plans, to begin with.
  double bound(const BalancedSubset &part, double enough, size_t rounds, const MinimaxProof *from = nullptr);
  /// Of the last call: the plans that are hardest to beat, and what they take. The bound comes near to it with more
  /// rounds.
  const MeanPlan &mean() const { return mean_; }
  double limit() const { return limit_; }
  const MinimaxProof &proof() const { return proof_; } ///< of the last call's bound
  int64_t work() const { return work_; }

private:
  struct Priced;
  struct Choice {
    double price = 0, threshold = -1;
  };
  double exposedFraction() const;
  bool exchangeShows(const BalancedPlans::Group &group) const;
  Priced priced(size_t group, const PathCounts &counts) const;
  std::vector<double> minCosts(const BalancedSubset &part, size_t group, double ends, const Priced &mine,
                               std::vector<Choice> &choices);
  void takeGroup(const BalancedSubset &part, size_t group, size_t n, const Priced &mine, const Choice &choice,
                 MeanPlan &mean);
  void reweigh(size_t group, const std::vector<double> &full);
  double minMeanLength(const BalancedSubset &part, const PathCounts &counts, MeanPlan &plan);
  MinimaxProof meanOf(const std::vector<double> &weights, const MinimaxProof *other) const;
  void add(PathCounts path);
  void add(MeanPlan plan);
  void forget(const std::vector<double> &weights);

  const BalancedPlans &plans_;
  PassOrder order_;
  std::vector<PathCounts> paths_;
  size_t fixed_ = 0; ///< of the paths
  std::vector<MeanPlan> chosen_;
  std::vector<std::vector<double>> lengths_; ///< by path, plan
  std::vector<std::vector<double>> weights_; ///< by group, moment
  std::vector<double> thresholds_;
  MeanPlan mean_;
  MinimaxProof proof_;
  double limit_ = 0;
  int64_t work_ = 0;
  size_t round_ = 0;
};

/// Halves of the plans of one configuration, and of these, each with the best proof of its bound.
class MinimaxProofTree {
public:
  /// The root is number 0. A half begins with the proof of the whole.
  MinimaxProofTree() : nodes_(1) {}
  /// Cuts in two; `part` as it is said in the certificate, without a mean. Number of the first.
  size_t split(size_t node, PathBound::Part part);
  /// The best one so far, or nothing.
  const MinimaxProof *proofOf(size_t node) const { return nodes_[node].proof.get(); }
  /// Takes the proof if its bound is better.
  void prove(size_t node, const MinimaxProof &proof, double bound);

  /// Paths and moments once each, halves in preorder. `held`: of each group, as of `BalancedPlans`.
  PathBound written(const PipelineShape &shape, uint32_t parallelConfig, const std::vector<InFlightStates> &held) const;

private:
  struct Node {
    PathBound::Part part;
    size_t halves = 0; ///< number of the first one
    std::shared_ptr<const MinimaxProof> proof;
    double bound = -1;
  };
  std::vector<Node> nodes_;
};

/// Of a configuration and its groups: what was proved last.
struct ProvedPathBound {
  double simple = 0, bound = 0; ///< of the value: without paths, and with them
  PathBound paths;
};
using ProvedPathBounds = std::map<std::array<int64_t, 4>, ProvedPathBound>; ///< m, v, p, form

} // namespace accord::placing
