// What the groups of a configuration can hold within a step: a bound without any cut.
#pragma once
#include "lib/placement/solve/ConfigurationContext.h"
#include "lib/placement/solve/GroupAssignment.h"

namespace accord::placing {

/// Lower bound of the value by what groups can hold. It looks at the layers of the most frequent class only, and at the
/// first and the last layer of a chain, which are in the first and the last group. Each group holds no more of them
/// than fit within the time that a step leaves it and its memory (micro-batches in flight at least as many as in the
/// emptiest of its stages, at any moment), in any parallel configuration of its kind. The least step within which this
/// is enough bounds every plan.
///
/// Of one kind a step leaves each group a micro-batch's share. Of several kinds in a chain, with what groups take at
/// least before and behind it (each holds a layer, and no more groups are fast than there are devices for), a step of
/// `SuffixBound` (ConfigurationContext.h) leaves less: with A before, B behind and W of all groups, (step - A) / m; of
/// 1F1B with m > p - s, (step - W - B) / (m - p + s); of GPipe, (step - W) / (m - 1). Of a range of numbers of groups
/// the most hold all that fewer hold, as groups of these schedules hold what the groups behind them make them hold.
class CapacityBound : protected ConfigurationContext {
public:
  CapacityBound(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver, const Configuration &configuration,
                SearchState &searchState);

  /// 0 where nothing is known: of ranges with schedules other than 1F1B and GPipe.
  double bound();

private:
  /// One group in one parallel configuration.
  struct Capacity {
    double fixed = 0, bytes = 0;                           ///< time that other layers take, memory that they leave
    std::vector<std::pair<double, double>> alternatives{}; ///< time and bytes of a layer by recomputation choice
  };
  struct Group {
    std::vector<std::vector<Capacity>> capacities; ///< by kind, parallel configuration
    double min = 0, max = INFINITY;                ///< of the most frequent layers, where stages are balanced
    bool mayBeEmpty = true;                        ///< of the frequent layers, as others may be in it
    double before = 0, behind = 0;                 ///< that other groups take of a micro-batch at least
  };

  static double layersWithin(const Capacity &one, double time);
  Capacity capacityOf(Id parallelConfig, int64_t inFlight, const std::vector<Id> &ends) const;
  void prune();
  void listGroups();
  std::vector<double> timesOfKinds() const;
  void waits(const std::vector<double> &min);
  double timeWithin(size_t group, double step) const;
  bool holdWithin(double step) const;

  std::vector<int64_t> counts_; ///< layers by class
  Id unit_ = 0;                 ///< the most frequent class
  std::vector<Group> byGroup_;
  std::vector<int64_t> limits_; ///< groups of each kind; empty: any number of any
  bool waits_ = false;
  double all_ = 0; ///< that all groups take of a micro-batch at least
};

} // namespace accord::placing
