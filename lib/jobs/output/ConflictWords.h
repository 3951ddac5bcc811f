// A conflict of a problem of jobs, and what repairs it, in words.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"

namespace accord::jobs {

/// "the deadline of job 'a', 2.00 h". `problem` is that of the conflict, `requirements` are its limits as written (may
/// be empty).
std::string wordsOf(const JobConstraint &constraint, const JobScheduleProblem &problem,
                    const std::vector<std::string> &requirements);
/// "a deadline of job 'a' of 3.50 h", "4 more of 'h100' at all times".
std::string wordsOf(const JobRepair &repair, const JobScheduleProblem &problem,
                    const std::vector<std::string> &requirements);

} // namespace accord::jobs
