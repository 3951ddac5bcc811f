// Proves again how layers share the multipliers of a dataflow device.
#pragma once
#include "lib/sparsity/problem/Dataflow.h"
#include "lib/sparsity/verify/Selection.h"

namespace accord {

/// Each layer's cycles and multipliers from its folding, the sums, and that no foldings and zeros have a shorter
/// interval: for each layer the fewest multipliers of all that are shorter (to 10^-9 of the interval), by its zeros, of
/// which no choice keeps multipliers and losses. Where the device states its memories: what each layer takes of them
/// and moves, and all ways to run each layer, weighted so that even the cheapest are more than there is, or branch by
/// branch
/// (`excludeBelow`). A0904 what a folding must keep, A0905 sums and cycles, A0906 the
/// interval.
Verification verify(const DataflowProblem &problem, const DataflowResult &result, uint64_t effort = 20'000'000);

} // namespace accord
