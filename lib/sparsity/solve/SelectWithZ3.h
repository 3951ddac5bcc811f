// Side constraints on what is selected, by Z3.
#pragma once
#include "lib/sparsity/solve/Select.h"

namespace accord {

/// Like `select`, of any problem. `from` is a bound of it: no choice is below. Z3's exceptions end here; what it does
/// not decide within `SelectOptions::effort` stays a gap.
SelectionResult selectWithZ3(const SelectionProblem &problem, int64_t from, const SelectOptions &options);

} // namespace accord
