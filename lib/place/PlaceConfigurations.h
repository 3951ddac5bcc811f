// All configurations of a problem and a lower bound of each that costs nothing.
#pragma once
#include "lib/place/Place.h"
#include "lib/place/PlaceShape.h"

namespace accord::placing {

/// A first search: `place` for objectives that have bounds by time, without a choice between equal
/// plans. `mostTdpTime`: see `Space`.
PlacementResult least(const PlacementProblem &problem, const PlaceOptions &options,
                      double mostTdpTime = 0);

class Configurations {
public:
  explicit Configurations(const Space &space);

  std::vector<Configuration> list;
  double left = INFINITY; ///< no plan of more than MostPasses is worth less
  bool complete = true;   ///< none left out

  /// Least value of any of its plans, whatever the number of groups in its range.
  double boundOf(const Configuration &configuration) const;

private:
  double deviceTime(const Configuration &configuration) const;
  void listTogether();
  bool fits(const std::vector<Id> &layers, Id form) const;
  void forms(int64_t samples, const std::vector<Id> &with);
  void add(int64_t microbatches, const std::vector<Id> &forms, bool each);

  const Space &space_;
  const PlacementProblem &problem_;
  std::vector<int64_t> counts_; ///< layers by class
  std::vector<Rates> rates_;    ///< by form
  /// By set of layers that pins put into one stage, form: whether the form can hold it.
  std::vector<std::vector<char>> holds_;
};

} // namespace accord::placing
