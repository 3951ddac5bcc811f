// report.html of a schedule of jobs: one self-contained page.
#pragma once
#include "lib/jobs/problem/JobAnswer.h"

namespace accord::jobs {

/// The page: jobs over time by tenant, servers over time, what is in use of each resource, why jobs wait, objectives
/// with their bounds, and of an infeasible problem its conflict. It shows `jobScheduleJson`, whose SHA-256 it states.
std::string jobScheduleReport(const JobAnswer &answer);

} // namespace accord::jobs
