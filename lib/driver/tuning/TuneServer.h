// A tuning of a server's parameters: of a training that runs, or on a table.
#pragma once
#include "lib/driver/Workspace.h"
#include "lib/driver/tuning/Tune.h"
#include "lib/tuning/problem/ServerTuning.h"

namespace accord {

/// The `tuning` block that the options name, or the only one, if it is of a server; its file was read without errors.
std::optional<tuning::ServerProblem> serverProblemOf(Workspace &workspace, const TuneOptions &options);

/// Exit status as of `tune`; 4 where the training failed.
int tuneServer(const TuneOptions &options, Workspace &workspace, tuning::ServerProblem problem);

} // namespace accord
