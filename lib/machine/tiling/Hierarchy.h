// The formulas of Mapping.h: traffic of a link, its time, the time of the whole.
#pragma once
#include "lib/machine/tiling/LoopOrders.h"
#include "lib/machine/tiling/Mapping.h"
#include "lib/machine/tiling/NestShape.h"

namespace accord::tile {

/// How often the tiles of one tensor cross a link, all levels outside included: the factor on the
/// sum over its tiles. `levels` points at splits by loop ([0]: the whole nest), `orders` likewise
/// ([0] unused); `level` is the memory inside of the link.
double visits(const Shape &shape, unsigned tensor, const Split *const *levels, const Order *const *orders,
              unsigned level);

/// Bits over link `level`, of all tensors, `sums[t]` being their sums over the tiles of that level; `moved` gets the
/// elements of each that cross it, partial results once.
double linkBits(const Shape &shape, const double *sums, const Split *const *levels, const Order *const *orders,
                unsigned level, double *moved);

/// Mask of loops with more than one tile of `inner` in a full tile of `outer`.
uint32_t iterating(const Shape &shape, const Split *outer, const Split *inner);

/// Times of links and of the whole.
class Clock {
public:
  Clock(std::span<const Level> levels, Seconds minCompute);
  Seconds link(unsigned level, double bits) const;
  Seconds total(Seconds compute, const double *bits) const;                   ///< bits[l] of link l
  double capacityBits(unsigned level) const { return capacitiesBits[level]; } ///< bits that one tile may take
  unsigned count() const { return capacitiesBits.size(); }

private:
  std::vector<double> capacitiesBits, otherBytes,
      rates; ///< rates: bytes per second of link l; infinite: no limit
  std::vector<Seconds> latencies;
  std::vector<bool> overlapped;
  Seconds min;
};

/// Sum of the compute times of all tiles, each loop cut as its split says: one call per kind of
/// tile. Not a number if one of them is negative or not a number.
Seconds computeOf(const ComputeOfTile &compute, const Split *const *splits, unsigned loops);

/// Code A0921, see `price`.
std::optional<Error> check(std::span<const Level> levels);
/// A0453: `bits` for one tile at `level`.
Error doesNotFitError(std::span<const Level> levels, unsigned level, double bits);

} // namespace accord::tile
