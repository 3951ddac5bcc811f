// The best plan of a training on its machine or cluster, with everything that explains and proves it.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

/// Plans the training of `options.file`, verifies the plan, writes the folder `options.output` and prints a summary or,
/// with `options.json`, the plan. Returns the exit status of `accord compile`.
int compile(Options options, const PlanSearchLimits &limits);

} // namespace accord
