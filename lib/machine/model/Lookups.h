// Operations that reach rows of a table by index.
#pragma once
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// What a lookup touches of its table: `rows` rows of `rowBytes`, each read, and written as well by
/// a gradient. Rows are contiguous: the last loop of the domain.
struct LookupRows {
  double rows = 0;
  double rowBytes = 0;
  bool written = false;
};

/// Of `embedding`, `embedding_bag`, `gather` and their gradients: from their bytes, which hold the
/// touched rows, the indices (4 or 8 B each) and what is there once per sample. Nothing for other
/// kinds, and where bytes and domain do not fit such an operation. A `gather` is taken as one along
/// a leading axis.
std::optional<LookupRows> lookupRows(const Operation &op);

/// Bytes that a memory moves beyond the useful ones when it moves whole sectors: rows start at a
/// sector, and the rest of the last one is not used. 0 without a sector.
double sectorOverhead(const LookupRows &lookup, double sectorBytes);

} // namespace accord
