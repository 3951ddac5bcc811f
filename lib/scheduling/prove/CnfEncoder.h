// "A schedule of at most so long exists" as clauses, for a SAT solver to refute.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include <map>
#include <optional>

namespace accord::prove {

/// What windows decide, in place of a literal.
constexpr int32_t kTrue = INT32_MAX, kFalse = -INT32_MAX;

/// Clauses one after the other, each ended by 0; literals as in DIMACS.
struct CnfFormula {
  using Id = SchedulingProblem::Id;

  int32_t variables = 0;
  size_t clauses = 0;
  std::vector<int32_t> literals;

  std::vector<int64_t> first, last; ///< by task: starts, in units
  std::vector<int32_t> started;     ///< by task: the first of its variables
  /// Of pairs that collide, the lower number first: whether it is before the other.
  std::map<std::pair<Id, Id>, int32_t> orders;

  /// The task has started by `time`.
  int32_t by(Id task, int64_t time) const {
    return time < first[task] ? kFalse : time >= last[task] ? kTrue : started[task] + int32_t(time - first[task]);
  }
};

/// The formula that docs/scheduling-proofs.md describes, variable by variable and clause by clause: the verifier writes
/// it anew (lib/scheduling/verify/InfeasibilityFormula.h), so the two have to agree. Satisfiable if there is a schedule
/// whose starts are within `windows`, in which tasks end before their tails; where `unit` is 1, only if. Nothing where
/// the formula would pass `kMaxFormulaLiterals`. Needs a problem that `check` passes.
std::optional<CnfFormula> encodeInClauses(const SchedulingProblem &problem, int64_t unit, const StartWindows &windows);

/// Literals with the zeros that end clauses: 64 MB.
constexpr size_t kMaxFormulaLiterals = size_t{1} << 24;

} // namespace accord::prove
