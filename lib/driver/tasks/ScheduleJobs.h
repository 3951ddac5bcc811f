// accord jobs FILE: a `jobs` block scheduled on its cluster, after its command line is read.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

/// Plans, solves, proves again, writes the answer folder and prints a summary. The exit status.
int scheduleJobs(const Options &options, const PlanSearchLimits &limits);

} // namespace accord
