// What each operation of a training step costs on a machine, without planning.
#pragma once
#include "lib/driver/Options.h"

namespace accord {

/// Prints costs, totals and energy of a step at the smallest micro-batch that the file allows. Returns the exit status
/// of `accord estimate`.
int estimateStep(Options options);

} // namespace accord
