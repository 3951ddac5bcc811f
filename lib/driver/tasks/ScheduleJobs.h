// accord jobs FILE: a `jobs` block scheduled on its cluster, after its command line is read.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

/// A cluster that runs already, and is planned again.
struct GoOnOptions {
  std::string after;  ///< the folder of the plan that runs; empty: none runs
  std::string at;     ///< now, on the clock of the block: "3h"
  std::string events; ///< a file, or empty: all went as planned
};

/// Plans, or plans again what is left, solves, proves again, writes the answer folder and prints a summary. The exit
/// status.
int scheduleJobs(const Options &options, const PlanSearchLimits &limits, const GoOnOptions &goOn = {});

} // namespace accord
