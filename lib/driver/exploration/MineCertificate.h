// What a mining leaves behind for `accord verify`.
#pragma once
#include "lib/driver/exploration/MineJobs.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Writes FOLDER/certificate/mining.json and space.mlir, and the plan of each job on the design
/// that was found: FOLDER/plan for one job, FOLDER/plan-JOB for several, and of a job's own best
/// design FOLDER/plan-JOB-alone; those of jobs on a cluster are written elsewhere. Takes away those
/// of an earlier run first, and leaves it at that where the search was none that proves something.
/// False: an error was reported. `effort`: by which designs were closed; 0: they were not.
bool writeMiningCertificate(const std::string &folder, MineJobs &jobs, unsigned effort, const MiningPlan &plan,
                            Diagnostics &diags);

} // namespace accord
