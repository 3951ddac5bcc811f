// All configurations of a problem and a lower bound of each that costs nothing.
#pragma once
#include "lib/placement/solve/ConfigurationSearch.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <array>

namespace accord::placing {

constexpr size_t kMaxDownSets = 40'000; ///< down-sets of layers, see `DownSetLattice`

/// A first search: `place` for objectives that have bounds by time, without a choice between equal plans. `maxTdpTime`:
/// see `DownSetLattice`.
PlacementResult solveByTimeBounds(const PlacementProblem &problem, const PlacementOptions &options,
                                  double maxTdpTime = 0);

/// Those of lower bounds come first; the order of a search.
bool later(const Configuration &a, const Configuration &b);

class Configurations {
public:
  /// `stop`: from then on bounds do without what takes longest, the order of groups of several device types.
  explicit Configurations(const DownSetLattice &lattice, const std::atomic<bool> *stop = nullptr);

  std::vector<Configuration> list;
  double left = INFINITY; ///< no plan that is not listed is worth less
  bool complete = true;   ///< none left out

  /// Least value of any of its plans, whatever the number of groups in its range.
  double boundOf(const Configuration &configuration) const;
  /// The same with each number of groups bounded by itself; `until` or more will do.
  double refinedBoundOf(Configuration configuration, double until) const;
  /// Groups that there are devices for.
  int64_t maxGroups(const std::vector<Id> &parallelConfigs) const;
  /// Whether a chosen configuration is in the space.
  bool mayHave(const Configuration &configuration) const;
  /// Two configurations that have all plans of one that `splits`, with their bounds: fewer parallel configurations to
  /// choose from, or else the lower and the upper half of its numbers of groups.
  std::array<Configuration, 2> halvesOf(const Configuration &configuration) const;

private:
  /// Picoseconds besides the layers, in all stages together: of a micro-batch's passes, and after the last one.
  struct Outside {
    double passes = 0, exposed = 0;
  };
  Outside outsideOf(const Configuration &configuration) const;
  double deviceTime(const Configuration &configuration) const;
  double mixedStep(const Configuration &configuration) const;
  double balancedStep(const Configuration &configuration) const;
  void listTogether();
  std::array<std::vector<Id>, 2> halvesOfChoice(const Configuration &configuration) const;
  bool fits(const std::vector<Id> &layers, Id parallelConfig) const;
  void parallelConfigs(int64_t samples, const std::vector<Id> &with);
  void add(int64_t microbatches, const std::vector<Id> &parallelConfigs, bool each);

  const DownSetLattice &lattice_;
  const PlacementProblem &problem_;
  const std::atomic<bool> *stop_;
  std::vector<int64_t> counts_; ///< layers by class
  int64_t crossing_ = 0;        ///< bytes of a sample between any two stages, at least
  std::vector<Rates> rates_;    ///< by parallel configuration
  /// By set of layers that constraints put into one stage, parallel configuration: whether the parallel configuration
  /// can hold it.
  std::vector<std::vector<char>> holds_;
};

} // namespace accord::placing
