// What a mining leaves behind for `accord verify`.
#pragma once
#include "lib/emit/Mining.h"
#include "lib/mine/StepProblem.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Writes FOLDER/certificate/mining.json and space.mlir, and the plan of each job on the design
/// that was found: FOLDER/plan for one job, FOLDER/plan-JOB for several, and of a job's own best
/// design FOLDER/plan-JOB-alone. Takes away those of an earlier run first, and leaves it at that
/// where the search was none that proves something, or a job is placed on a cluster. False: an
/// error was reported. `effort`: by which designs were closed; 0: they were not.
bool writeMiningCertificate(const std::string &folder, const DesignSpace &space,
                            const std::vector<MiningJob> &jobs, MiningMetric metric,
                            unsigned effort, const MiningPlan &plan, Diagnostics &diags);

} // namespace accord
