// One option for each of several groups: the sum of their values is minimized, and sums of what they use stay within
// capacities.
//
// This is a multiple-choice knapsack problem in several dimensions whose numbers are doubles (Kellerer, Pferschy and
// Pisinger, Knapsack Problems, 2004, chapter 11).
#pragma once
#include "lib/search/SearchLimits.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace accord::offers {

struct ChoiceCandidate {
  unsigned option = 0;      ///< what the caller calls it
  double value = 0;         ///< finite, 0 or more
  std::vector<double> uses; ///< of each resource, finite, 0 or more
};

struct ChoiceProblem {
  std::vector<double> capacities; ///< finite
  std::vector<std::vector<ChoiceCandidate>> groups;
};

struct ChoiceSolution {
  bool found = false;
  std::vector<unsigned> choice; ///< options, of each group
  double value = 0;
  double bound = 0;  ///< no choice has less; infinite where it is proved that there is none
  uint64_t work = 0; ///< partial choices that were looked at
};

/// Removes each candidate for which another one has at most its value and uses; of equal ones the first stays.
void removeDominated(std::vector<ChoiceCandidate> &candidates);

/// Extends partial choices group by group. A partial choice is dropped where another one of the same groups has at most
/// its value and uses, where it cannot be completed within a capacity, or where its Lagrangian bound is not below the
/// best value known. Where more partial choices are left than `limits.effort` allows, the bound of those dropped
/// remains as the bound. Sums are taken in the order of the groups; the value is minimal up to a share of 1e-12.
ChoiceSolution searchChoice(ChoiceProblem problem, const SearchLimits &limits);

} // namespace accord::offers
