// How the multipliers of a dataflow device are divided among layers, exactly.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"
#include <variant>

namespace accord {

/// As `DataflowCycles` and `DataflowFolding` say; without zeros dense.
DataflowCycles cyclesOf(const DataflowLayer &, const DataflowFolding &, const DataflowSparsity *sparsity);
int64_t multipliersOf(const DataflowLayer &, const DataflowFolding &, const DataflowFabric &);

/// Foldings and zeros of all layers that take the least interval with the multipliers there are, exactly (`select`:
/// layers are stages; to the picosecond). Where the device states its memories, with where weights and buffers lie
/// (`layOut`). Or what is wrong: as `check` says, a layer that no folding fits or that takes days, two zeros of one
/// name.
std::variant<DataflowResult, std::string> planDataflow(const DataflowProblem &problem);

/// "dense" and the names of all zeros, in their order.
std::vector<std::string> labelsOf(const DataflowProblem &problem);
/// With the zeros of this name alone.
DataflowProblem withLabel(DataflowProblem problem, const std::string &label);

/// Zeros of windows whose products are zero independently with this probability.
std::vector<double> binomialZeroHistogram(int64_t window, double share);

} // namespace accord
