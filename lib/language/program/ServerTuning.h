// `tuning NAME { server { … } baseline { … } … }` -> parameters of a server, and how they are tuned while a training
// runs.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/tuning/problem/ServerTuning.h"

namespace accord {

/// Whether a `tuning` block is one of a server's parameters.
bool tunesServer(const ast::Declaration &block);

/// The block as plain data; nothing after errors. Names in it are constants of its own file.
std::optional<tuning::ServerProblem> serverTuningRequest(const ast::Declaration &block, const ast::File &file,
                                                         Diagnostics &diags);

} // namespace accord
