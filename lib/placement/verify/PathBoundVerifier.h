// Means of paths of a certificate, checked pass by pass.
#pragma once
#include "lib/placement/verify/BalancedStages.h"
#include <array>
#include <map>
#include <string>

namespace accord {

/// What configurations of the same groups, chunks and micro-batches have in common: the order of
/// their passes does not depend on what these take.
class PathOrders {
public:
  /// Counts of one path: how often it runs each pass, by 2 * stage, 1 more if backward; how often
  /// it goes from a stage to the next one or back; and where it ends.
  struct Counts {
    std::vector<double> passes, sends;
    size_t end = 0;
  };
  PathOrders(int64_t groups, int64_t virtualStages, int64_t microbatches);
  /// Nothing: it is no path, see `fault`.
  std::optional<Counts> follow(const PathBound::Path &path, std::string &error) const;
  /// Micro-batches in memory by chunk; of a number of forward passes that the group has.
  const std::vector<int64_t> &held(int64_t group, uint32_t passes);

private:
  int64_t p, v, m;
  std::vector<std::vector<uint32_t>> order; ///< by group: 2 * stage + backward
  std::vector<uint32_t> at;                 ///< by pass, micro-batch: place in its group's order
  std::vector<std::vector<uint32_t>> which; ///< by group: micro-batch
  std::map<std::pair<int64_t, uint32_t>, std::vector<int64_t>> known;
};

enum class PathsVerdict : uint8_t { Enough, TooLittle, Wrong };

/// Whether the parts are all plans of the configuration, each has a mean of paths and of moments,
/// and each such mean, by the least weighed times of its groups together, is a step that is
/// `enough`. `most`: of each group, stages with a layer more in any plan that is looked for.
/// Wrong: what is stated is no path, no mean, or no part of all plans (A0967); `fault` says which.
PathsVerdict checkPathMeans(const PathBound &bound, const BalancedStages &stages, PathOrders &orders,
                            const std::vector<int64_t> &max, const std::function<bool(double)> &enough,
                            std::string &error);

} // namespace accord
