// A sparsity pattern and a storage format for each layer of a training.
#pragma once
#include "lib/driver/Options.h"
#include "lib/sparsity/solve/SparsityPlan.h"

namespace accord {

class Session;

/// The patterns that the `sparsity for` block of a prepared session allows, with what proves the choice. `confidence`:
/// as for `prune`. The session must have been made to look at the block (`ElaborateOptions::prunes`). Nothing after
/// errors.
std::optional<SparsityPlan> chooseSparsity(Session &session, double confidence);

/// Chooses the patterns that the file's `sparsity for` block allows, writes the folder `options.output` and prints a
/// summary. `confidence`: of the limits of times and memory; 0: as the file says. Returns the exit status of `accord
/// prune`.
int prune(Options options, double confidence);

} // namespace accord
