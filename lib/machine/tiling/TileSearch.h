// Branch and bound over tiles and orders, one memory after another from the farthest.
#pragma once
#include "lib/machine/tiling/Hierarchy.h"
#include <array>
#include <map>

namespace accord::tile {

/// What is minimized: time, then bits of link 1, 2, …. Times that differ by rounding only are
/// equal.
struct Objective {
  double time = 0;
  double bits[kMaxLevels] = {};
  bool below(const Objective &other, unsigned levels) const;
};

/// Into the extents of a loop: at most some thousands, see `candidates`.
using Index = int32_t;

class Search {
public:
  Search(const Nest &nest, std::span<const Level> levels, const ComputeOfTile &compute, const SearchLimits &limits);
  /// Whether one granule of every loop fits into every memory; else the first where it does not.
  std::optional<Error> fits() const;
  /// Searches; false if the compute times are no times.
  bool run();

  std::vector<Tiling> best; ///< of memories 1 to the nearest
  double bound = 0;         ///< seconds
  bool exact = false;
  int64_t nodes = 0;
  bool descends = true; ///< improves by local search (LocalSearch.h) what is not proven best

private:
  /// State of one memory: extents so far, splits by loop, and what is known of its link.
  struct Frame {
    unsigned parent = 0;        ///< the memory around it: the one before, or 0 to look at one level alone
    std::vector<unsigned> open; ///< loops with a choice, in the order they are decided
    const std::vector<int64_t> *extents[kMaxLoops];
    std::vector<int64_t> own[kMaxLoops]; ///< where `extents` points if not into `known`
    int64_t tile[kMaxLoops];
    Split split[kMaxLoops];
    const Order *order = nullptr;
    double bits = 0;
    double compute = 0; ///< seconds if the tiles around were not cut
  };
  /// Tilings of one memory: for each loop a range of its extents.
  struct Box {
    std::array<Index, kMaxLoops> low{}, high{};
    Objective value;          ///< none of them is below this
    double seconds = 0;       ///< nor computes in less
    bool largestFits = false; ///< the largest extents of all loops together
    int64_t serial = 0;
  };

  void enter(unsigned level, unsigned parent);
  void explore(unsigned level);
  bool bounds(unsigned level, Box &box);
  Box wholeBox(unsigned level) const;
  void boundExtentsByCapacity();
  std::optional<unsigned> widest(unsigned level, const Box &box) const;
  double finishLevel(unsigned level);
  Index largest(unsigned level, unsigned loop, Index low, Index high, int64_t *tile) const;
  void setTile(unsigned level, unsigned loop, int64_t extent);
  template <class Each> void eachOrder(unsigned level, Each each);
  double minBits(unsigned level, const Order **order);
  double minBitsWithinCapacity(unsigned level, const int64_t *low);
  Objective objective(unsigned level, double seconds, double bits) const;
  double computeWith(unsigned level, uint32_t decided);
  double floorWith(const int64_t *tile) const;
  bool improves(const Objective &value) const;
  void record(const Objective &value);
  bool consumeNode();
  void raiseFloor(unsigned level, int64_t budget);
  void searchAlone(unsigned level, unsigned parent);
  void incumbents(unsigned level);
  void fill(unsigned level, std::vector<int64_t> base, const std::vector<unsigned> &turn);
  std::vector<std::vector<unsigned>> classes(unsigned level) const;
  void descend();

  const Nest &nest;
  Shape shape;
  Orders orders;
  Clock clock;
  std::span<const Level> levels;
  const ComputeOfTile &compute;
  const SearchLimits &limits;
  const ComputeFloor &floor;
  unsigned loops, nearest; ///< number of loops; index of the nearest memory
  int64_t limit;
  Frame frames[kMaxLevels];
  double floorBits[kMaxLevels] = {}; ///< no mapping moves less over the link
  int64_t maxExtents[kMaxLoops];     ///< extents that the nearest memory has room for at most
  unsigned stop = 0;                 ///< memory whose tiles complete an answer
  bool traffic = false;              ///< the objective is the bits of link `stop` alone
  bool quick = false;                ///< memories inside get first answers only
  bool found = false, broken = false, cut = false;
  Objective incumbent;
  /// Tiles of all memories that local search starts from, besides the best.
  std::vector<std::vector<std::vector<int64_t>>> starts;
  double unexploredBound = 0;                                  ///< seconds that nothing left open by a limit undercuts
  std::map<int64_t, std::vector<int64_t>> known[2][kMaxLoops]; ///< extents inside of 0 and of 1
};

/// Bits over the link of `level` under each order that matters, by the splits as they are:
/// each(order, bits, elements of each tensor that cross).
template <class Each> void Search::eachOrder(unsigned level, Each each) {
  const Split *splits[kMaxLevels];
  const Order *outer[kMaxLevels];
  unsigned depth = 0;
  for (unsigned l = level; l != 0; l = frames[l].parent)
    ++depth;
  for (unsigned l = level, at = depth; l != 0; l = frames[l].parent, --at) {
    splits[at] = frames[l].split;
    outer[at] = frames[l].order;
  }
  splits[0] = frames[0].split;
  double sums[kMaxTensors];
  for (unsigned t = 0; t < shape.tensors.size(); ++t)
    sums[t] = shape.tensors[t].sum(splits[depth]);
  for (const Order &order : orders.of(iterating(shape, splits[depth - 1], splits[depth]))) {
    outer[depth] = &order;
    double moved[kMaxTensors];
    each(order, linkBits(shape, sums, splits, outer, depth, moved), moved);
  }
}

} // namespace accord::tile
