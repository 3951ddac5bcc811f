// How many of a tile's elements are not zero: distributions, from which times and sizes follow with their mean and
// their quantiles.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "lib/support/Result.h"
#include <cstdint>
#include <vector>

namespace accord {

/// An operand as a matrix: a row for each output (a column of the product's result for weights, a row of it for
/// activations), a column for each step of the reduction. Rows of `SparsityPattern::mask` and `blockRows` are of this
/// matrix.
struct OperandShape {
  int64_t outputs = 1, reduction = 1;
  bool operator==(const OperandShape &) const = default;
};

/// Where a tile's elements lie: neighbours along the reduction (one output), or along the outputs (one step of the
/// reduction).
using TileDirection = SparsityPattern::Along;

/// Distribution of a count from 0 to `max()`.
struct Occupancy {
  std::vector<double> probability = {1.0}; ///< by count
  int64_t max() const { return std::ssize(probability) - 1; }
  double mean() const;
  double variance() const;
};

inline double number(int64_t value) { return value; }
inline int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// A1010: zeros that cannot be counted or skipped, and why.
Error notSkipped(std::string message);

/// No probabilities yet for the counts from 0 to `max`.
Occupancy emptyOccupancy(int64_t max);
/// The count is `count`, of at most `max`.
Occupancy certain(int64_t max, int64_t count);
/// The count is 0 or `max`, with these probabilities.
Occupancy allOrNone(int64_t max, double none, double all);

/// A tile is a row of parts that are independent of each other; within a part every run of `run` neighbours is equally
/// likely to be the one that is not zero. `of` has `length` + 1 probabilities.
struct TilePart {
  int64_t length = 0;
  Occupancy of;
  int64_t run = 1; ///< neighbours that are zero together or not at all; divides `length`
};
using TileParts = std::vector<TilePart>;

/// Independent counts added.
Occupancy sum(const Occupancy &, const Occupancy &);
Occupancy total(const TileParts &);
/// Number of non-zeros among `draws` of `elements`, of which `nonZeros` are not zero.
/// All its probabilities at once, outward from the likeliest, so that no size of an operand overflows (Boost.Math
/// counts elements in 32 bits; the tests compare with it).
Occupancy hypergeometric(int64_t elements, int64_t nonZeros, int64_t draws);
Occupancy binomial(int64_t draws, double probability);

/// Non-zeros of a tile of `tile` neighbours, a multiple of its length from the edge, averaged over all such tiles:
/// - unstructured: hypergeometric on the whole operand with ceil(density * elements) non-zeros, or binomial if
///   `independent`;
/// - N:M: `kept` in each whole group along its direction, a part of a group hypergeometric; across it binomial with
///   N/M;
/// - blocks: ceil(density * blocks) of all blocks, or each with `density` if `independent`;
/// - banded and mask: as they are; a mask's rows are outputs, and it has the operand's shape;
/// - histogram: windows follow each other along the reduction; across them binomial with the mean.
/// A1010: the pattern contradicts itself or the shape (density outside of 0 to 1, shares that do not add up to 1, …),
/// or a tile is not 1 to 4,096 elements.
/// `last`: of what is left of a line behind longer tiles, so it ends where the line ends.
Result<TileParts> tileParts(const SparsityPattern &, OperandShape, int64_t tile,
                            TileDirection = TileDirection::Reduction, bool last = false);

/// Share of elements that are not zero, after the roundings above. A1010 as above.
Result<double> density(const SparsityPattern &, OperandShape);

/// Places where both of two tiles of equal length are not zero, of operands independent of each other: hypergeometric
/// for each pair of counts (part by part where both have the same parts).
Occupancy overlap(const TileParts &, const TileParts &);

/// Elements of granules of `granule` neighbours that are not all zero: what is left when zeros are skipped `granule` at
/// a time. A last, shorter granule counts with its length.
TileParts inGranules(const TileParts &, int64_t granule);

/// ceil(count / slots).
Occupancy rounds(const Occupancy &, int64_t slots);

} // namespace accord
