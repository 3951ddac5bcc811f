// How one loop is cut: which sizes of tiles there are, how many of each, and which sizes to try.
#pragma once
#include <cstdint>
#include <vector>

namespace accord::tile {

constexpr unsigned kMaxLevels = 8; ///< memories of a hierarchy

/// The tiles of one loop at one level. A tile of extent t leaves one remainder in each kind of tile
/// around it, so that a level has at most one kind more than the level outside.
struct Split {
  int64_t extent = 1; ///< of the whole loop
  int64_t tile = 1;   ///< extent of a full tile
  int64_t tiles = 1;  ///< how many there are of all sizes, over the whole loop
  unsigned kinds = 1;
  int64_t size[kMaxLevels + 1] = {1}, times[kMaxLevels + 1] = {1};

  static Split whole(int64_t extent);
  /// Each tile of this split cut into tiles of `tile`, the last of each shorter. `tile` >= 1.
  Split cut(int64_t tile) const;
};

/// Extents of tiles to try inside of `around`, ascending, the first one granule (or the loop, if
/// that is shorter), the last `around.tile`.
///
/// For each trip count the smallest multiple of the granule that reaches it. For one level this is
/// all that an exact search needs: two extents of one trip count cause the same traffic wherever
/// elements(t) = a*t + b (one loop in a position, or two of coprime strides of which one is 1), the
/// smaller needs less room, and the arithmetic sees the same number of granules and of tiles. Where
/// windows are dilated (elements(t) only concave) or the arithmetic rounds to something else than
/// granules, it is the space that the search is exact in. Trip counts above 128 grow in steps of
/// 1/128 or more: that leaves out none below 32768 granules.
///
/// Remainders of outer tiles have trip counts of their own; their extents are tried as well. `all`:
/// every multiple of the granule where the tile around has at most 16 of them (inside of an outer
/// tile, one of more extents than its own trip count asks for may suit the inner ones better).
std::vector<int64_t> candidates(const Split &around, int64_t granule, bool all);

} // namespace accord::tile
