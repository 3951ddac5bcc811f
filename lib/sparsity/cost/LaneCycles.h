// Dot products in lanes that wait for the slowest of them after each tile: of groups of units, what is the same, shared
// or drawn from the same few elements.
#pragma once
#include "lib/sparsity/cost/CycleSum.h"

namespace accord {

/// Tiles of a group, all of them whole or all the last of their line, each of which `units` units with zeros of their
/// own use.
struct EquivalentTiles {
  bool last = false;
  int64_t tiles = 0, units = 0;
};
/// So many groups of a row of the result are of this kind.
struct LaneGroups {
  std::vector<EquivalentTiles> tiles;
  double count = 0;
};

/// Groups of `lanes` units of a row of `columns` results of `tiles` tiles, of which the last one is `shorter` or not.
std::vector<LaneGroups> laneGroups(int64_t columns, int64_t tiles, bool shorter, int64_t lanes);

/// Groups of a row of the result, of `inRow`, that share a tile of the streaming operand with one of them, which counts
/// too; with blocks of `sameTiles` tiles also those beside them.
double numGroupsSharingTile(double inRow, int64_t tiles, int64_t lanes, int64_t sameTiles);

CycleSum laneCycles(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                    const TiledOperand &streaming);

/// Whether `laneCycles` knows the mean without drawing: tiles are whole groups, windows or blocks, and granules parts
/// of them; of two operands that are skipped one has its zeros anywhere, and units of a lock-step group that share a
/// tile do not share groups of N:M across outputs; exact shares are of many blocks or granules.
bool hasClosedForm(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                   const TiledOperand &streaming);

/// Mean cycles of all groups from groups drawn one by one, evenly over the product, element by element: an estimate
/// whose standard error is at most 0.15 % unless 2^25 elements were drawn before, with a limit of the true mean. The
/// same numbers for the same input, everywhere. The variance is a limit: that of a group as it was drawn (and of what
/// stays of it when one operand is drawn anew), for all pairs of groups that share anything. Nothing where lines are
/// longer than 2^22 elements, zeros that are known are too many to have been counted, or 64 groups are too much to
/// draw.
std::optional<CycleSum> sampledLaneCycles(const SparseProduct &, const SparseCore &, const TiledOperand &stationary,
                                          const TiledOperand &streaming);

} // namespace accord
