// The answer to a scheduling problem as JSON and for the terminal.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Status `done`, `infeasible`, or `unknown` where neither a schedule nor a proof that there is
/// none was found. Times are in periods.
llvm::json::Value projectScheduleJson(const SchedulingProblem &problem, const SchedulingResult &result);

/// At most 60 tasks: a line each, by start, with a bar. Then the load of each resource over time,
/// and makespan, bound, gap and work. Of an infeasible problem the conflict.
std::string projectScheduleText(const SchedulingProblem &problem, const SchedulingResult &result,
                                const TextStyle &style);

/// "makespan 43, at least 40 (critical path), gap 6.98 %"
std::string gapLine(const std::string &what, const std::string &value, const std::string &bound,
                    const std::string &proof, double gap);

/// Why no schedule is shorter than the bound.
std::string describeBound(const SchedulingProblem &problem, const SchedulingBound &bound);

/// Tasks that follow one another without a gap, the last of which ends with the makespan; by start. Each begins when
/// the one before it ends: it waits for it (with the delay), or for what it holds of a resource. The chain begins at
/// time 0, unless what comes before is explained by neither (a buffer that did not fit, a start later than needed).
std::vector<SchedulingProblem::Id> criticalChain(const SchedulingProblem &problem, const SchedulingSolution &solution);

/// What cannot hold together in an infeasible problem; never empty.
std::vector<std::string> conflictsOf(const SchedulingProblem &problem, const SchedulingResult &result);

} // namespace accord
