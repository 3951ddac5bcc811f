// A lower bound of interleaved even stages, by arithmetic of its own.
#pragma once
#include "lib/placement/verify/BalancedStages.h"
#include <array>
#include <map>
#include <string>

namespace accord {

/// What configurations of the same groups, virtual stages and micro-batches have in common: the order of their passes
/// does not depend on what these take.
class PathOrders {
public:
  /// Counts of one path: how often it runs each pass, by 2 * stage, 1 more if backward; how often it goes from a stage
  /// to the next one or back; and where it ends.
  struct Counts {
    std::vector<double> passes, sends;
    size_t end = 0;
  };
  PathOrders(int64_t groups, int64_t virtualStages, int64_t microbatches);
  /// Nothing: it is no path, see `error`.
  std::optional<Counts> follow(const PathBound::Path &path, std::string &error) const;
  /// Micro-batches in memory by virtual stage; of a number of forward passes that the group has.
  const std::vector<int64_t> &held(int64_t group, uint32_t passes);

private:
  int64_t p, v, m;
  std::vector<std::vector<uint32_t>> order; ///< by group: 2 * stage + backward
  std::vector<uint32_t> at;                 ///< by pass, micro-batch: place in its group's order
  std::vector<std::vector<uint32_t>> which; ///< by group: micro-batch
  std::map<std::pair<int64_t, uint32_t>, std::vector<int64_t>> known;
};

enum class PathsVerdict : uint8_t { Enough, TooLittle, Wrong };

/// Whether the parts are all plans of the configuration, each has a mean of paths and of moments, and each such mean,
/// by the least weighed times of its groups together, is a step that is `enough`. `most`: of each group, stages with a
/// layer more in any plan that is looked for. Wrong: what is stated is no path, no mean, or no part of all plans
/// (A0967); `error` says which.
PathsVerdict checkPathMeans(const PathBound &bound, const BalancedStages &stages, PathOrders &orders,
                            const std::vector<int64_t> &max, const std::function<bool(double)> &enough,
                            std::string &error);

/// What configurations have in common, by groups, virtual stages and micro-batches.
struct BalancedStepCache {
  std::map<std::array<int64_t, 4>, std::vector<double>> held; ///< of a group besides: by virtual stage
  std::map<std::array<int64_t, 3>, PathOrders> orders;
};

struct BalancedStepBound {
  double step = 0;     ///< picoseconds that no step is below; infinite where nothing fits
  bool proved = false; ///< steps are `enough`
  std::string error;   ///< of the paths, if they are `Wrong`
};

/// Of the configuration on so many groups, of a chain of layers. A group runs all passes of its virtual stages, m
/// times, after one pass forward through the stages before it; passes backward through these come behind it, or what it
/// does at the end. Each is a path, and what its group takes `BalancedStages::group`, with the micro-batches of one
/// mean of moments in memory and of the first full one. The step is long enough where the groups' larger stages within
/// it are L % S together. Of several parallel configurations, each group may have any of which there are devices; with
/// `uniformConfigPerDeviceType` each is in some group, for plans without it are of another configuration. Where that is
/// not `enough`, of one parallel configuration, and there are `paths`, see `checkPathMeans`; not those of more passes
/// than `passes`.
BalancedStepBound balancedStepBound(const PlacementProblem &problem, const Configuration &configuration, int64_t groups,
                                    const PathBound *paths,
                                    const std::function<bool(double step, double joules)> &enough, double passes,
                                    BalancedStepCache &known, uint64_t &work);

} // namespace accord
