// Products on cores that use zeros, drawn at random, and the array that steps each of them.
#pragma once
#include "lib/prune/Cycles.h"
#include "test/unit/SparseArraySimulator.h"
#include <string>

namespace accord::test {

struct SparseCase {
  SparseProduct product;
  SparseCore core;
  ProductArray array;
};

/// What is drawn: products of 16 to 400 in each dimension.
struct SparseDraw {
  /// Groups, windows and blocks end where tiles end, and granules where groups do; of two operands
  /// that are skipped at most one has any of these. Else all of it as it comes.
  bool aligned = true;
  int64_t engines = 1; ///< at most
};
SparseCase dotProducts(fuzz::Random &random, const SparseDraw &draw);
SparseCase outerProducts(fuzz::Random &random, const SparseDraw &draw);
/// Weights in N:M that the core takes, and what it does about the other operand and its memory.
SparseCase structuredProducts(fuzz::Random &random);

/// Whether anything of an operand is drawn at random.
bool isRandom(const ZeroPattern &pattern);

/// Cycles with the set-up, and what took a slot.
simulator::SparseRun simulate(const SparseCase &, const simulator::SparseMask &stationary,
                              const simulator::SparseMask &streaming);

std::string told(const SparseCase &);

} // namespace accord::test
