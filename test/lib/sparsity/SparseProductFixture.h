// Products with zeros of tests in short: all cores skip what they can.
#pragma once
#include "lib/sparsity/cost/Cycles.h"
#include "test/lib/sparsity/SparsityPatternFixture.h"
#include <gtest/gtest.h>

namespace accord::test {

inline SparseCore skipping(int64_t tile, int64_t slots, int64_t lanes) {
  SparseCore core;
  core.stationary.mode = core.streaming.mode = SparseAcceleration::Mode::Skip;
  core.tile = tile;
  core.slots = slots;
  core.lanes = lanes;
  return core;
}

inline SparseProduct product(int64_t rows, int64_t columns, int64_t depth, const SparsityPattern &stationary,
                             const SparsityPattern &streaming = {}) {
  SparseProduct p;
  p.rows = rows;
  p.columns = columns;
  p.depth = depth;
  p.stationary = stationary;
  p.streaming = streaming;
  p.stationaryFormat = p.streamingFormat = bitmask();
  return p;
}

inline ProductCycles cycles(const SparseProduct &p, const SparseCore &core, const ProductArray &array = {},
                            double confidence = 0.95) {
  auto found = productCycles(p, core, array, confidence);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

} // namespace accord::test
