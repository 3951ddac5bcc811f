// Patterns and formats as expressions: nm(2, 4), unstructured(density = {0.5, 0.2}), bitmask.
#pragma once
#include "lib/language/requests/BlockReader.h"
#include "lib/sparsity/problem/SparsityRequest.h"

namespace accord {

/// What stands behind `weights of … =`: one pattern or a set of them, densities in sets or ranges
/// multiplied out (at most 1,000 patterns). `transposable`: of every N:M of the rule. Fills
/// choices, given and texts of a rule whose `of` is set.
void readPatterns(const Constant &value, bool transposable, SparsityRequest::Rule &rule, BlockReader &reader);

/// A format or a set of them.
std::vector<SparseFormat> readFormats(const Constant &value, BlockReader &reader);

} // namespace accord
