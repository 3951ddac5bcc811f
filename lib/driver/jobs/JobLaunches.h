// What starts the jobs of a planned block, for the scripts of its answer.
#pragma once
#include "lib/driver/jobs/JobsPlanner.h"

namespace accord {

/// Of each job of the schedule: the names of its tenant in Slurm and Kueue, and the plans of those configurations that
/// its runs use. Plans of the others are not kept.
std::vector<jobs::JobLaunch> launchesOf(const JobsPlan &plan);

} // namespace accord
