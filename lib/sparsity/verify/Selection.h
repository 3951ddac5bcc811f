// Proves again which options operations take.
#pragma once
#include "lib/sparsity/problem/Selection.h"
#include "lib/support/Result.h"

namespace accord {

struct SelectionProof {
  Errors findings; ///< A0904 what a choice must keep, A0905 its sums, A0906 the bound
  std::vector<std::string> checked, trusted;
  bool holds() const { return findings.empty(); }
};

/// The choice keeps budgets, groups and rules, its sums are those claimed, and no choice is below the bound: with the
/// limits of all that is better, each branch of the choices of one operation after another breaks a sum of limits with
/// multipliers (Farkas). What takes more than `effort` branches is trusted, and said so. Costs and losses of options
/// are proved elsewhere.
SelectionProof verify(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort = 20'000'000);

} // namespace accord
