// Small placements with zeros to choose from, and the best of all choices and plans by brute force.
#pragma once
#include "lib/placement/problem/SparsePlacement.h"
#include "test/support/PlacementEnumerator.h"

namespace accord::test {

/// At most five layers on about four devices (`randomPlacement`), in some each of a class of its own. One to five units
/// have most of the classes, one or two decisions each of two or three options. An alternative mostly takes less time,
/// memory and energy than no zeros; in some numbers it may take more, and in some parallel configurations it cannot
/// run. In a third of the problems it is only shorter, by one part of all passes. In a fifth, all layers cost the same,
/// and so many may have zeros. No, one or two budgets, of numbers of layers or of losses, of which most are tight.
SparsePlacementProblem randomSparsePlacement(uint64_t seed);

/// What all alternatives of a choice take of a budget.
int64_t takenBy(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice, size_t budget);
bool isWithinBudgets(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice);
PlacementProblem withSparsity(const SparsePlacementProblem &problem, const std::vector<uint32_t> &choice);
/// Choices of one alternative for each unit, whatever they take.
std::vector<std::vector<uint32_t>> allChoices(const SparsePlacementProblem &problem);

/// The least of `enumeratePlans` over all choices within the budgets.
struct EnumeratedZeros {
  bool complete = true;
  double best = INFINITY;
  std::vector<uint32_t> choice; ///< the first one that is best; empty: none has a plan
  uint64_t choices = 0, plans = 0;
};
EnumeratedZeros enumerateZeros(const SparsePlacementProblem &problem);

} // namespace accord::test
