// A sparsity pattern and a storage format for each layer of a training.
#pragma once
#include "lib/driver/Session.h"

namespace accord {

/// Chooses the patterns that the file's `sparsity for` block allows, writes the folder `options.output` and prints a
/// summary. `confidence`: of the limits of times and memory; 0: as the file says. Returns the exit status of `accord
/// prune`.
int prune(Options options, double confidence);

} // namespace accord
