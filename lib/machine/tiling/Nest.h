// The loop nest of one operation as the mapper sees it, and how many elements a tile of it touches.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace accord::tile {

struct NestLoop {
  int64_t extent = 1; ///< iterations, at least 1
  /// Tiles take a multiple of this, or the whole extent: the rows of an array, 1 where any tile
  /// will do, the extent of a loop that is never tiled. At least 1.
  int64_t granule = 1;
  std::string name; ///< for people: "m"; empty: "d0", "d1", …
  friend auto operator<=>(const NestLoop &, const NestLoop &) = default;
};

/// One summand of a position: stride * iterator. A stride of 0 says nothing, its sign neither.
struct Term {
  unsigned loop = 0;
  int64_t stride = 1;
  friend auto operator<=>(const Term &, const Term &) = default;
};

struct NestTensor {
  std::string name;                          ///< for people: "A"; empty: "t0", "t1", …
  std::vector<std::vector<Term>> dimensions; ///< position in each dimension; empty: fixed
  /// Elements that each dimension really has, 0 or missing: as many as the loops reach. A padded
  /// convolution reaches more rows than its input has.
  std::vector<int64_t> sizes;
  int64_t elementBits = 32;
  bool written = false; ///< a result; what loops do not index it reduce into it
  friend auto operator<=>(const NestTensor &, const NestTensor &) = default;
};

/// Comparable, so that a caller can keep the mappings of shapes it has seen in a `std::map`.
struct Nest {
  std::vector<NestLoop> loops;
  std::vector<NestTensor> tensors;
  friend auto operator<=>(const Nest &, const Nest &) = default;
};

constexpr unsigned kMaxLoops = 24, kMaxTensors = 24;

/// Code A0920 where an extent, granule or width is below 1, a loop does not exist, there are more
/// than `kMaxLoops` loops or `kMaxTensors` tensors, or the nest has more than 2^62 iterations or a
/// tensor more than 2^62 bits.
std::optional<Error> check(const Nest &nest);

/// The nest of an operation (`Operation::domain`, `Operation::tensors`). Of loops that share a
/// position only the longest is tiled: kernel loops (kh, kw) are not. Tensors are named "A", "B", …
/// and "C" if there are three of them and the last is the result; loops "d0", "d1", ….
Nest nestOf(std::span<const Loop> domain, std::span<const LoopTensor> tensors);

/// Loops that index the same tensors, each alone in its position, behave as one loop over all of
/// their iterations: rows of a matrix product over batch and sequence, batch and heads of
/// attention.
struct GroupedNest {
  Nest nest;
  std::vector<std::vector<unsigned>> members; ///< by loop of `nest`: the loops it stands for
};
/// Tiles of the grouped loop are runs of consecutive iterations, which a box of the single loops
/// need not be: the space of tiles is larger. Loops with a granule above 1 stay alone, and all
/// loops of a nest that `check` refuses.
GroupedNest grouped(const Nest &nest);

/// Elements of one tensor that a tile of these extents (one per loop) touches: the product over its
/// dimensions of the different positions, at most `sizes`. One loop reaches t of them; two loops of
/// coprime strides s, d (common factors cancel) and extents t, k reach
/// t*k - max(0, t-d) * max(0, k-s): each collision is a pair (i, j), (i+d, j-s). That is
/// s*(t-1) + k for a window k >= s, and t*k for windows with gaps between them. Three loops and
/// more in one position count as the smaller of the covering box and the product of the extents,
/// which may be too many; so may dimensions that share a loop (a diagonal counts as the box around
/// it).
double elements(const NestTensor &tensor, std::span<const int64_t> extents);

std::string nameOf(const Nest &nest, unsigned loop);
std::string tensorName(const Nest &nest, unsigned tensor);

} // namespace accord::tile
