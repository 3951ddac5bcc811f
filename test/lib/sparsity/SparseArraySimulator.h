// Arrays that make something of zeros, stepped cycle by cycle over masks: lanes with what they still have to do, a
// memory that delivers some words in each cycle, every multiply-accumulate counted by itself. Nothing here knows a
// formula for a number of cycles.
#pragma once
#include "test/lib/sparsity/SparseMasks.h"

namespace accord::simulator {

/// What was counted.
struct SparseRun {
  int64_t cycles = 0;
  int64_t active = 0; ///< multiply-accumulates that took a slot and moved the multiplier
  int64_t gated = 0;  ///< that took a slot only
};

/// result[m][n] = sum over k of streaming[m][k] * stationary[n][k].
struct MaskedProduct {
  const SparseMask &stationary, &streaming;
};

/// What a lane does with an operand's zeros.
struct LaneUse {
  bool skip = false;   ///< no slot for them …
  int64_t granule = 1; ///< … where so many neighbours, counted from the start of the tile, are all zero
  bool gate = false;   ///< a slot, but no energy
};

/// Dot products. A lane takes `tile` neighbours of the reduction of one result, and in each cycle does `slots` of those
/// places that nobody skips. `lanes` of them start together with neighbouring tiles of one row of the result (then
/// tiles of the next result of that row), and start again when all have finished. `engines` of such groups work side by
/// side; who has finished takes the next.
struct LaneArray {
  int64_t tile = 1, slots = 1, lanes = 1, engines = 1;
  LaneUse stationary, streaming;
};
SparseRun step(const MaskedProduct &product, const LaneArray &array);

/// Outer products: at each place of the reduction, `tile` results' elements of each operand. Both tiles hand out their
/// elements, but for zeros that are skipped, some at a time; all pairs of these handfuls take one cycle each.
struct OuterArray {
  struct Use {
    int64_t width = 1; ///< elements of a tile in a cycle
    bool skip = false, gate = false;
  };
  int64_t tile = 1, engines = 1;
  Use stationary, streaming;
};
SparseRun step(const MaskedProduct &product, const OuterArray &array);

/// N:M. `multipliers` take the stationary operand's places in order, `kept` for each group of `of`, whatever is in
/// them, up to a whole number of tiles of `tile` places. Each of their cycles asks for `wordsKept` words of the
/// stationary operand with `metadataBits` each, and for one tile of the streaming operand, stored as `streaming`. A
/// memory delivers `wordsPerCycle` (0: all that is asked for) ahead of them into a buffer of `ahead` cycles' words.
struct StructuredArray {
  int64_t multipliers = 1, kept = 1, of = 1, tile = 1;
  double wordsKept = 0, metadataBits = 0, wordsPerCycle = 0;
  SparseFormat streamingFormat;
  int64_t elementBits = 16, ahead = 64;
  bool gateStationary = false, gateStreaming = false;
};
SparseRun step(const MaskedProduct &product, const StructuredArray &array);

} // namespace accord::simulator
