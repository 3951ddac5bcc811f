// The best plan of a training on its machine or cluster, with everything that explains and proves it.
#pragma once
#include "lib/driver/Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace accord {
class Session;
class SolverMonitor;
struct PlacementPlan;

/// Plans the training of `options.file`, verifies the plan, writes the folder `options.output` and prints a summary or,
/// with `options.json`, the plan. Returns the exit status of `accord compile`.
int compile(Options options, const PlanSearchLimits &limits);

/// The answer of a prepared session on a cluster: searches under the monitor, lets `complete` add to the plan, verifies
/// it, writes its folder and prints it. Returns the exit status of the command.
int answerPlacement(Session &session, const Options &options, SolverMonitor &monitor, llvm::StringRef command,
                    llvm::function_ref<void(PlacementPlan &)> complete);

} // namespace accord
