// Products on cores that use zeros, drawn at random, and the array that steps each of them.
#pragma once
#include "lib/sparsity/cost/Cycles.h"
#include "test/lib/sparsity/SparseArraySimulator.h"
#include <string>

namespace accord::test {

struct SparseCase {
  SparseProduct product;
  SparseCore core;
  ProductArray array;
};

/// Products of 16 to 400 in each dimension, any pattern of either operand on any tiles; at most so many engines.
SparseCase dotProducts(fuzz::Random &random, int64_t engines);
SparseCase outerProducts(fuzz::Random &random, int64_t engines);
/// Weights in N:M that the core takes, and what it does about the other operand and its memory.
SparseCase structuredProducts(fuzz::Random &random);

/// A tensor of up to 60 by 90, and how it is stored; its pattern need not fit.
struct StoredCase {
  SparsityPattern pattern;
  SparseFormat format;
  OperandShape shape;
  int64_t bits = 8;
};
StoredCase stored(fuzz::Random &random);

/// Whether anything of an operand is drawn at random.
bool isRandom(const SparsityPattern &pattern);

/// Cycles with the set-up, and what took a slot.
simulator::SparseRun simulate(const SparseCase &, const simulator::SparseMask &stationary,
                              const simulator::SparseMask &streaming);

std::string told(const SparseCase &);

} // namespace accord::test
