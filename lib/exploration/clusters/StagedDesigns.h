// A design for each stage of a pipeline (heterogeneous pipelines), beginning with the best common design: WHAM's
// individual designs for the stages of one model (arXiv 2404.14632), here with a bound of all of them.
#pragma once
#include "lib/exploration/clusters/PlacedProblem.h"

namespace accord {

struct StageOptions {
  unsigned each = 4;    ///< candidates for each mix of layers; 1 to 64
  uint64_t few = 64;    ///< of spaces with no more designs all are candidates
  unsigned threads = 1; ///< nothing in the result depends on it
  /// WHAM's two levels: for each stage of the common design's plan, as it is cut, the best `each` designs by
  /// critical-path search (`mineByCriticalPath`); then plans of all sets of these. It proves no bound.
  bool localSearch = false;
  const std::atomic<bool> *stop = nullptr; ///< the result is then what was found so far, bound 0
};

/// Stages in a row, each of a design of the same space that keeps all requirements, on devices of
/// equal degrees; as many devices as the cluster has, of whatever kinds.
struct StagedDesigns : StageSearch {
  std::vector<Design> designs; ///< by kind of `problem`, each used in some stage
  PlacementProblem problem;    ///< kinds are designs
  Placement plan;
  PlanMetrics metrics;
  bool all = false; ///< every design of the space was a candidate
};

/// Whatever the objective, values are `judge`'s. Stages are cut between the layers that the common
/// design's step is cut into, which for models of repeated blocks are those of all designs; GPipe
/// and 1F1B. Candidates are the least designs of each class of layers and, round after round, of
/// the mix of layers that each stage of the best plan has; with `tdp_time` and `area_time` of cost
/// * time^q for several q. Plans of candidates are `placeStages`'s. The bound is of all designs: the least time of each
/// class of layers over the space, by exact searches, in a dynamic program over cuts (`lowerBoundByCuts`); with a cost,
/// the least cost * time, shared by the stages of a step of any length (`minStageCost`). Nothing where no pipeline of
/// GPipe or 1F1B on the common design is in the search space.
std::optional<StagedDesigns> mineStages(const DesignSpace &space, const PlacedWork &work, MiningMetric metric,
                                        const Design &common, const PlacedBest &placed,
                                        const StageOptions &options = {});

/// Layers of a chain by the least time of each over a space, and by the least of time * cost.
struct StageLowerBounds {
  std::vector<double> time, costTime;
  double cost = 0;   ///< of a device, at least
  bool chain = true; ///< each layer waits for the one before it
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t stages = 1, microbatches = 1;
};
/// Least step * sum of the stages' costs (one device each), for steps of `shortest` and longer, where it is below
/// `below`. In stage s of p a step T of 1F1B has T >= A + 2 B + (m - k + 1) w for k = p - s < m, A and B the work
/// before and behind, w its own (`SuffixBound`, lib/placement/solve/ConfigurationContext.h), so that cost >= cost * w
/// (m - k + 1) / (T - A - 2 B); GPipe and k >= m alike. By a dynamic program over cuts for each of many intervals of T.
double minStageCost(const StageLowerBounds &bounds, double shortest, double below);

} // namespace accord
