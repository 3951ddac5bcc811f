// Times of arrays and lanes from their cycles, as expressions.
#pragma once
#include "lib/latency/forms/SymbolicCosts.h"

namespace accord {

/// Extents of the product that a domain is: by the tensors that each loop indexes (both operands and the result: batch;
/// one operand and the result: m or n; else k), or, where no tensors are known, the last parallel loop is n, the others
/// m, reductions k.
struct ProductNodes {
  NodeId batch, m, n, k;
};
ProductNodes productOf(const SymbolicOperation &op, Expressions &e);

/// Seconds of an array: load + stream + skew + (folds - 1) * interval cycles for output, weight and input stationary
/// (SCALE-Sim v3, arXiv 2504.15377), whose folds all instances share unless `Core::oneEach`, long streams cut for idle
/// ones; and of lanes: rounds of elements, or of rows with 1, 2, 4, … lanes each and their results combined pairwise.
/// At the clock that the peak implies, or the machine's.
std::vector<NodeId> symbolicCycles(const SymbolicOperation &op, Expressions &e);

} // namespace accord
