// A lower bound of interleaved even stages, by arithmetic of its own.
#pragma once
#include "lib/placement/verify/PathBoundVerifier.h"

namespace accord {

/// What configurations have in common, by groups, chunks and micro-batches.
struct BalancedStepCache {
  std::map<std::array<int64_t, 4>, std::vector<double>> held; ///< of a group besides: by chunk
  std::map<std::array<int64_t, 3>, PathOrders> orders;
};

struct BalancedStepBound {
  double step = 0;     ///< picoseconds that no step is below; infinite where nothing fits
  bool proved = false; ///< steps are `enough`
  std::string error;   ///< of the paths, if they are `Wrong`
};

/// Of the configuration on so many groups, of a chain of layers. A group runs all
/// passes of its chunks, m times, after one pass forward through the stages before it; passes
/// backward through these come behind it, or what it does at the end. Each is a path, and what its
/// group takes `EvenStages::group`, with the micro-batches of one mean of moments in memory and of
/// the first full one. The step is long enough where the groups' larger stages within it are L % S
/// together. Of several forms, each group may have any of which there are devices; with `sameForm`
/// each is in some group, for plans without it are of another configuration. Where that is not
/// `enough`, of one form, and there are `paths`, see `weigh`; not those of more passes than
/// `passes`.
BalancedStepBound balancedStepBound(const PlacementProblem &problem, const Configuration &configuration, int64_t groups,
                                    const PathBound *paths,
                                    const std::function<bool(double step, double joules)> &enough, double passes,
                                    BalancedStepCache &known, uint64_t &work);

} // namespace accord
