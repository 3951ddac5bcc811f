// Why a problem of jobs has no schedule: constraints that exclude each other, and what repairs it.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// Of an infeasible problem, a set of deadlines, capacities, limits, dependences and jobs that must run, of which none
/// can be left out: with any of them relaxed, the rest was not proved infeasible any more (deletion filter; Chinneck
/// and Dravnieks, ORSA Journal on Computing 3, 1991). For each of them the smallest change that repairs alone, where
/// one does: each is checked by a schedule that was found. Nothing where the problem is not proved infeasible.
std::optional<JobConflict> explainConflict(const JobScheduleProblem &problem, const SearchLimits &limits);

/// The problem without a constraint: a deadline dropped, a capacity raised to the sum of all that could be used, a
/// limit or dependence dropped, a job that may be rejected.
JobScheduleProblem relaxed(const JobScheduleProblem &problem, const JobConstraint &constraint);
/// The problem after a repair.
JobScheduleProblem repaired(const JobScheduleProblem &problem, const JobRepair &repair);

} // namespace accord::jobs
