// The dynamic program over suffixes of a pipeline: for bounds of placements.
#pragma once
#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <cmath>

namespace accord {

/// Of one problem, whose cuts and costs outlive it. What is worth `bound` or more does not count.
class PlacementSuffixes {
public:
  using Id = PlacementProblem::Id;
  /// What the groups of a suffix take at least.
  struct State {
    std::vector<int64_t> used; ///< devices by kind
    int64_t leaves, ends;      ///< E and T of `proveBound`
    double joules;
  };
  /// [groups behind][set that they begin after].
  using Table = std::vector<std::vector<std::vector<State>>>;

  /// `work`: steps taken, which more than `effort` of are too many.
  PlacementSuffixes(const PlacementProblem &problem, const PlacementCuts &cuts, StageCosts &costs, double bound,
                    uint64_t effort, uint64_t &work)
      : p(problem), cuts(cuts), costs(costs), bound(bound), effort(effort), work(work) {}

  /// False: too much work. `groups` matters to ZB-H1 and to layers that are pinned to a stage
  /// alone.
  bool tabulate(const Configuration &c, int64_t groups, Table &table, double share);
  /// The stage before a suffix, whose devices are counted; false: it does not fit.
  bool prepend(const Configuration &c, size_t from, size_t to, Id parallelConfig, int64_t groups, int64_t behind,
               State &state);
  double valueOf(const State &state) const { return valueOf(state.used, state.ends, state.joules); }
  bool roomFor(const std::vector<int64_t> &used, Id parallelConfig) const;
  bool reaches(double value) const { return std::isinf(bound) ? std::isinf(value) : value >= bound * (1 - 1e-9); }
  bool spent(double share = 1) const { return (work + costs.work) > share * effort; }
  /// Micro-batches that a group with `behind` groups from itself on holds.
  static int64_t inFlightOf(const Configuration &c, int64_t groups, int64_t behind);

private:
  /// What layers before a place in a chain take at least, over the forms of a configuration.
  struct PrefixBound {
    double busy = 0; ///< of a micro-batch
    double paid = 0; ///< the same times the rate of the groups that are busy
  };
  std::vector<PrefixBound> prefixBounds(const Configuration &c);
  /// What a suffix of a chain is worth at least with what is before it on `left` groups at most:
  /// these are busy for all micro-batches, each is paid for all of the step, and the last backward
  /// pass goes through all of them.
  double valueWith(const Configuration &c, const PrefixBound &before, int64_t left, const State &state) const;
  /// `ofLayers`: joules without what is idle.
  double valueOf(const std::vector<int64_t> &used, int64_t ends, double ofLayers) const;
  void merge(std::vector<State> &states, const State &state);

  const PlacementProblem &p;
  const PlacementCuts &cuts;
  StageCosts &costs;
  double bound;
  uint64_t effort;
  uint64_t &work;
};

} // namespace accord
