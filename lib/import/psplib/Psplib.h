// Projects of PSPLIB, single-mode (.sm) and multi-mode (.mm) -> a scheduling problem.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct PsplibImport {
  SchedulingProblem problem;
  std::vector<std::string> notes; ///< what was understood in one of several ways
};

/// The format of Kolisch, Sprecher (1997), PSPLIB, as its generator ProGen writes it. Jobs become
/// tasks "1", "2", … at the line of their successors; renewable resources "R1", "R2", …;
/// nonrenewable ones budgets "N1", …; a doubly constrained "D1" both, each of its one availability.
/// Due date and tardiness cost are no part of the makespan and not kept; several projects in one
/// file and release dates are refused. nullopt after errors, which are all at their words: at most
/// 1,000,000 jobs, numbers from 0 to 2^40, precedences without a cycle, a mode for each job that
/// fits the availabilities.
std::optional<PsplibImport> importPsplib(Diagnostics &diags, FileId file);

} // namespace accord
