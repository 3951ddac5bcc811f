// What interleaved even stages of a chain take at least, wherever they begin.
#pragma once
#include "lib/placement/verify/PlacementConfigurations.h"
#include <functional>

namespace accord {

/// How often a mean of paths (lib/placement/problem/PlacementPaths.h) runs the passes of a group, by virtual stage, and
/// ends there.
struct GroupShare {
  std::vector<double> forward, backward;
  double ends = 0;
};

/// Of one parallel configuration; of what goes between groups only if it is the configuration's only one. Stage s of S
/// has l = L / S layers or one more (L % S stages have it), and begins between layers s l and s l + min(s, L % S).
class BalancedStages {
public:
  BalancedStages(const PlacementProblem &problem, const Configuration &configuration,
                 PlacementProblem::Id parallelConfig, int64_t groups, uint64_t &work);

  /// Whether each stage has a layer, and each layer can run in the parallel configuration.
  bool can() const { return possible; }
  int64_t stages() const { return count; }
  int64_t more() const { return larger; }                           ///< stages that have a layer more
  int64_t max() const { return std::min(larger, c.virtualStages); } ///< in a group
  double joules() const;

  /// The least a pass of the stage takes, transfers that block with it.
  double forward(int64_t stage) const;
  double backward(int64_t stage) const;
  /// Of what goes from a stage to the next one, or back, and no pass waits for while it runs.
  double sends(int64_t stage) const { return p.blockingTransfers ? 0 : arrives(stage + 1); }

  /// The least weighed time of a group's passes and of what it does at the end, by the number of its stages with a
  /// layer more; infinite where none fits. `held`: micro-batches of each virtual stage in memory, a mean of moments.
  /// `fixed`, by virtual stage: 0 has no layer more, 1 has, -1 either. Times and price * (bytes - memory) of a plan
  /// that fits are no more than its times, for any price; layers are apart in it, but for the most that one works with,
  /// of which each is tried. What an exchange shows is no less than either of exchange - hidden * (backward passes) and
  /// the share of it that nothing hides. Sums of doubles: to be taken for 1e-10 less.
  std::vector<double> group(int64_t group, const GroupShare &share, const std::vector<double> &held,
                            const std::vector<int8_t> &fixed) const;

private:
  using Id = PlacementProblem::Id;
  /// Layers of a stage: how many of each class.
  using Window = std::vector<std::pair<uint32_t, double>>;
  struct Stage {
    std::vector<Window> windows[2]; ///< of l layers, and of one more
    double gather[2] = {0, 0}, gradients[2] = {0, 0}, experts[2] = {0, 0};
    double arrives = 0;
  };

  void cut();
  bool onOneNode(int64_t a, int64_t b) const;
  double transfer(int64_t stage) const;
  double arrives(int64_t stage) const { return stage <= 0 || stage >= count ? 0 : parts[stage].arrives; }
  double minOverWindows(const std::vector<Window> &windows, const std::vector<double> &byClass) const;
  double exchange(int64_t group, int64_t larger) const;
  double tied(int64_t group) const;
  std::vector<double> atPrice(int64_t group, const GroupShare &share, const std::vector<double> &held,
                              const std::vector<int8_t> &fixed, double overlapFraction, double price, double room,
                              double threshold) const;

  const PlacementProblem &p;
  const Configuration &c;
  int64_t groups;
  uint64_t &work;
  Id parallelConfig;
  int64_t layers, count, min, larger;
  bool possible = true;
  double memory;
  std::vector<const PlacementProblem::Cost *> costs; ///< by class, of those there are
  std::vector<uint32_t> classes;                     ///< by layer
  std::vector<double> thresholds;                    ///< what a layer may work with
  std::vector<int64_t> crossing;                     ///< bytes of a sample into a layer from the one before
  std::vector<Stage> parts;
};

} // namespace accord
