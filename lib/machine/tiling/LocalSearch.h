// Local search over the tiles of all memories together, for where branch and bound ends early.
#pragma once
#include "lib/machine/tiling/TileSearch.h"

namespace accord::tile {

/// From a mapping that fits, ever better ones until none of its neighbours is better. Neighbours:
/// one loop at one memory has another extent of `candidates` (tiles inside shrink with it), and
/// where that takes too much room or leaves some, a second loop of the same memory shrinks or grows
/// to the most that fits; the orders are the best ones of each. Deterministic: first improvement,
/// always in the same sequence.
class LocalSearch {
public:
  /// `steps`: orders of all memories looked at, from all starts together.
  LocalSearch(const Nest &nest, const Shape &shape, Orders &orders, const Clock &clock, const ComputeOfTile &compute,
              const ComputeFloor &floor, int64_t steps);
  /// Goes down from tiles of memories 1 to the nearest, each within the one around it. Starts that
  /// do not fit, or compute no time, are left out.
  void from(const std::vector<std::vector<int64_t>> &tiles);

  bool found = false;
  Objective value;          ///< of `best`
  std::vector<Tiling> best; ///< of memories 1 to the nearest
  int64_t steps = 0;        ///< left

private:
  void set(unsigned level, unsigned loop, int64_t extent);
  bool fits(unsigned level) const;
  bool better();
  void choose(unsigned level, double seconds, Objective &at);
  bool neighbours(unsigned level, unsigned loop);
  bool paired(unsigned level, unsigned loop);
  std::vector<int64_t> extents(unsigned level, unsigned loop);
  int64_t largest(unsigned level, unsigned loop, const std::vector<int64_t> &extents);

  struct Saved {
    int64_t tile[kMaxLevels];
  };
  Saved save(unsigned loop) const;
  bool stayingWhole(unsigned level, unsigned loop, const Saved &saved);
  void restore(unsigned loop, const Saved &saved);

  const Nest &nest;
  const Shape &shape;
  Orders &orders;
  const Clock &clock;
  const ComputeOfTile &compute;
  const ComputeFloor &floor;
  unsigned loops, nearest;
  double uncut = 0; ///< seconds of the arithmetic if nothing is cut
  int64_t tile[kMaxLevels][kMaxLoops];
  Split split[kMaxLevels][kMaxLoops];
  const Order *order[kMaxLevels] = {};
  double sums[kMaxLevels][kMaxTensors];
  Objective here, next;                 ///< of this start; of the orders tried
  const Order *chosen[kMaxLevels] = {}; ///< of `next`
  bool reached = false, any = false;    ///< `here` and `next` are set
};

} // namespace accord::tile
