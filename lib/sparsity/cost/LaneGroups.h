// Which tiles the units of a lock-step group look at: what of a group's work is the same, shared or drawn from the same
// few elements.
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

/// The same where units whose tiles lie in the same block count once; empty where a row has more than 2^22 units. A
/// tile that is in two blocks is its own.
std::vector<LaneGroups> blockedGroups(int64_t columns, int64_t depth, int64_t tile, int64_t lanes, PatternBlock);

/// P(no tile takes more than a cycles) for a = 0 …, of tiles that are all drawn from `elements` elements of which
/// `nonZeros` are not zero: what one of them has, the others have not. Empty where that changes next to nothing (the
/// elements are more than 512 tiles) or is too long to sum.
std::vector<double> maxTileCyclesCdf(int64_t elements, int64_t nonZeros, const std::vector<int64_t> &tileLengths,
                                     int64_t slots);

} // namespace accord
