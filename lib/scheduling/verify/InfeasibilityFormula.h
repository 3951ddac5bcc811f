// What docs/scheduling-proofs.md says of a problem and a makespan as clauses, for a proof to be replayed on.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include <optional>

namespace accord {

struct InfeasibilityFormula {
  int32_t variables = 0;
  size_t clauses = 0;
  std::vector<int32_t> literals; ///< of one clause after the other, each ended by 0

  /// What variables say of the start of a task, in units.
  struct Starts {
    int64_t first = 0, last = 0;
    int32_t variable = 0;                      ///< of "has started by `first`", the first one of last - first
    std::optional<SchedulingProblem::Id> mode; ///< the one that is left, if it always happens
  };
  std::vector<Starts> starts; ///< by task

  /// By the literals in their order: another problem has another one.
  uint64_t hash() const;
};

/// Literals with the zeros that end clauses: beyond, no proof is read.
constexpr size_t kMaxVerifiedLiterals = size_t{1} << 24;

/// Every schedule of at most `bound.value - 1` satisfies the formula, in whole units of `bound.unit`. Starts are within
/// the windows that the steps of the bound prove. Nothing where they do not follow, or where the formula is too large.
/// Needs a problem that `check` passes.
std::optional<InfeasibilityFormula> infeasibilityFormula(const SchedulingProblem &problem,
                                                         const SchedulingBound &bound);

} // namespace accord
