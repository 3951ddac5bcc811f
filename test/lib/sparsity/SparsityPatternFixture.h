// Patterns and formats of tests in short.
#pragma once
#include "lib/machine/model/Sparsity.h"

namespace accord::test {

inline SparsityPattern unstructured(double density, bool independent = false) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Unstructured;
  p.density = density;
  p.independent = independent;
  return p;
}

inline SparsityPattern structured(int64_t kept, int64_t of) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Structured;
  p.kept = kept;
  p.of = of;
  return p;
}

inline SparseFormat bitmask() {
  SparseFormat f;
  f.kind = SparseFormat::Kind::Bitmask;
  return f;
}

} // namespace accord::test
