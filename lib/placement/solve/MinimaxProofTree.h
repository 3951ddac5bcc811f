// What games of even stages have proved, as a certificate says it.
#pragma once
#include "lib/placement/solve/MinimaxPathBound.h"
#include <map>

namespace accord::placing {

/// Halves of the plans of one configuration, and of these, each with the best proof of its bound.
class MinimaxProofTree {
public:
  /// The root is number 0. A half begins with the proof of the whole.
  MinimaxProofTree() : nodes_(1) {}
  /// Cuts in two; `part` as it is said in the certificate, without a mean. Number of the first.
  size_t split(size_t node, PathBound::Part part);
  /// Takes the proof if its bound is better.
  void prove(size_t node, const MinimaxProof &proof, double bound);

  /// Paths and moments once each, halves in preorder. `held`: of each group, as of `EvenPlans`.
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
