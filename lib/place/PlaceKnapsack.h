// A multiple-choice knapsack over counted equal items with a threshold: the core of which layers
// are computed again.
#pragma once
#include "lib/model/Placement.h"

namespace accord::placing {

/// `count` equal layers, each of which keeps what one of `keeps` says, `inFlight` times over.
struct KnapsackItem {
  const std::vector<PlacementProblem::Keep> *keeps = nullptr;
  int64_t count = 0, inFlight = 1;
  size_t part = 0;
  double joulesAgain = 0;
};
struct KnapsackChoice {
  std::vector<std::vector<int64_t>> counts; ///< by item and keep
};
struct KnapsackLeast {
  int64_t bound = 0;     ///< of the sum of `again`; reached by `choice` if `exact`
  KnapsackChoice choice; ///< empty if none was found
  bool exact = true;
};
/// Least sum of `again` with sum of inFlight * kept + the largest `working` <= budget. Nothing: no
/// choice fits. `quick`: a good choice and the bound of the linear relaxation.
std::optional<KnapsackLeast> leastOf(const std::vector<KnapsackItem> &items, int64_t budget,
                                     bool quick = false);
/// All choices that fit. False, and some of them, where there are more than `most`.
bool allOf(const std::vector<KnapsackItem> &items, int64_t budget, size_t most,
           std::vector<KnapsackChoice> &choices);

} // namespace accord::placing
