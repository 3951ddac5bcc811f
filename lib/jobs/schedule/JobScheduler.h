// Finds when each job runs in which configuration, with a proved bound for each objective.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/search/SearchLimits.h"

namespace accord::jobs {

/// Solves a well-formed problem, one objective after the other, each with the values of those before as limits. Where
/// all trajectories can be listed (`kMaxTrajectories`), an objective that is a sum is one allocation of trajectories,
/// solved with a proof, and a max is found by bisection over its possible values. Else trajectories are generated as
/// prices of the resources ask for them (column generation; Gilmore and Gomory, Operations Research 9, 1961), and the
/// prices prove the bound. The same problem and limits give the same schedule, and jobs in another order the same
/// values. `limits.gap` ends the search for a sum, `limits.effort` counts the work of each allocation. Stopped, the
/// best so far is returned: Feasible, or Unknown if there is none. Of schedules that are as good, it is one in which no
/// job could begin earlier with the same runs.
///
/// `known`: trajectories of all jobs, each of which does its work and keeps its own times; or empty. If they keep the
/// capacities, dependences and limits of the problem, no schedule that is worse in the order of objectives is returned.
JobSchedule solveJobSchedule(const JobScheduleProblem &problem, const SearchLimits &limits,
                             const std::vector<JobTrajectory> &known = {});

/// Whether the trajectories of all jobs are few enough to be listed.
bool canListTrajectories(const JobScheduleProblem &problem);

} // namespace accord::jobs
