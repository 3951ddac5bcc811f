// How the multipliers of a dataflow device are divided among layers, exactly.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"
#include <variant>

namespace accord {

/// As `DataflowCycles` and `DataflowFolding` say; without zeros dense.
DataflowCycles cyclesOf(const DataflowLayer &, const DataflowFolding &, const DataflowSparsity *sparsity);
int64_t multipliersOf(const DataflowLayer &, const DataflowFolding &, const DataflowFabric &);

/// Foldings and zeros of all layers that take the least interval with the multipliers there are, exactly (`select`:
/// layers are stages; to the picosecond). Or what is wrong: as `check` says, a layer that no folding fits or that takes
/// days, two zeros of one name.
std::variant<DataflowResult, std::string> planDataflow(const DataflowProblem &problem);

/// Zeros of windows whose products are zero independently with this probability.
std::vector<double> binomialZeroHistogram(int64_t window, double share);

} // namespace accord
