// Patterns and formats of tests in short.
#pragma once
#include "lib/sparsity/problem/Sparsity.h"

namespace accord::test {

inline ZeroPattern unstructured(double density, bool independent = false) {
  ZeroPattern p;
  p.kind = ZeroPattern::Kind::Unstructured;
  p.density = density;
  p.independent = independent;
  return p;
}

inline ZeroPattern structured(int64_t kept, int64_t of) {
  ZeroPattern p;
  p.kind = ZeroPattern::Kind::Structured;
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
