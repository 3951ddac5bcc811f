// Cycles of a matrix product on a core that uses zeros: mean, and a quantile that the stated confidence holds for.
#pragma once
#include "lib/sparsity/cost/Occupancy.h"
#include <string>

namespace accord {

/// result[m][n] = sum over k of streaming[m][k] * stationary[n][k], for m < rows, n < columns, k < depth. So both
/// operands are matrices of outputs by reduction (`OperandShape`): streaming is rows x depth, stationary is columns x
/// depth.
struct SparseProduct {
  int64_t rows = 1, columns = 1, depth = 1;
  SparsityPattern stationary, streaming;
  /// A zero is skipped only where it is not stored: `Dense` forbids `Skip`, not `Gate`. A core that takes N:M reads the
  /// size of its metadata and of compressed words from here.
  SparseFormat stationaryFormat, streamingFormat;
  int64_t elementBits = 16;
};

/// The multipliers of a core, beside what `SparseCore` says of them.
struct ProductArray {
  double perCycle = 1; ///< multiply-accumulates in a cycle
  /// Outer products (below): elements of the stationary and of the streaming tile that meet in a cycle. 0: dot
  /// products.
  int64_t outerStationary = 0, outerStreaming = 0;
  /// Kept words of the stationary operand that enter in a cycle (N:M alone); 0: they stay long enough to cost nothing.
  double stationaryWords = 0;
};

/// Cycles of one execution on the whole core.
///
/// What saves cycles: an operand whose use is `Skip` and whose format is not `Dense`. Every other operand counts as
/// full.
///
/// 1. N:M (the stationary or streaming use names `kept` of `of`): depth is padded to whole tiles (`SparseCore::tile`;
///    whole groups of `of` where tile is 1), and cycles = ceil(rows * columns * padded depth * kept / of / perCycle *
///    max(1, demand / wordsPerCycle)) with the core's `kept` and `of`, whatever sparser pattern is stored. demand =
///    stationaryWords * (1 + (ceil(log2 of) + metadataBits) / elementBits) + tile * (share of dense size that the
///    streaming format has, if it is compressed). (Zhu et al.: Sparse tensor core, MICRO 2019, as modelled in
///    Sparseloop, MICRO 2022.) Nothing is random but the size of a compressed other operand. The other operand is not
///    skipped.
/// 2. Dot products in lanes (outerStationary is 0). A UNIT is a triple (m, n, t): tile t of `tile` neighbours along the
///    reduction (the last one may be shorter) of the dot product (m, n). A lane computes a unit in ceil(e / slots)
///    cycles, e being the places among the tile's at which no operand that is skipped has a zero (zero cycles if there
///    are none); with `granule` > 1 whole granules, counted from the start of the tile, count as not zero if one
///    element is not. A GROUP is `lanes` units in lock-step: it takes as long as its slowest unit. Groups are formed
///    within one m: its units in the order u = n * tiles + t, `lanes` at a time, the last group of each m possibly of
///    fewer. perCycle / (lanes * slots), rounded down and at least 1, ENGINES take groups, the next free engine the
///    next group (m slowest); the operation ends with the last. (Four lanes, tile 8, slots 1, density 1/2 independent:
///    a group takes 2915816807 / 536870912 cycles on average.) tile = slots = lanes = 1 is a processing element that
///    meets non-zeros only: products * density * density (Eyeriss v2).
/// 3. Outer products (both given). For each k: tiles of `tile` neighbours along the outputs of each operand (the last
///    one may be shorter); each pair of a stationary tile with A non-zeros and a streaming one with B takes ceil(A /
///    outerStationary) * ceil(B / outerStreaming) cycles. perCycle / (outerStationary * outerStreaming) engines, as
///    above; lanes are ignored. (Wang et al.: Dual-side sparse tensor core, ISCA 2021.)
///
/// Randomness: elements are placed as `SparsityPattern` says: both operands independent of each other; with
/// `independent` every element is a draw of its own; without, ceil(density * elements) places of the whole operand, all
/// choices equally likely. An operand is drawn once: its tiles are the same wherever they are used.
///
/// The quantile q: P(cycles <= q) >= confidence for every such operand. Units that share a tile are not independent,
/// hence: the variance of the sum from pairs of groups that share something (negatively associated draws without
/// replacement add none), Cantelli's inequality q = mean + sd * sqrt(c / (1 - c)), and no more than what happens when
/// nothing is zero. Where only one operand is skipped and nothing but its tiles is random, also Chernoff's bound; the
/// smaller is taken. With several engines one longest group per engine is added (greedy dispatch). Masks and bands are
/// counted where they are, up to 2^28 places. The mean is exact where tiles are whole groups, windows and blocks and at
/// most one operand has any of them, or an exact share of many elements; else it is estimated from groups drawn at
/// random (lib/sparsity/cost/SampledLaneCycles.cpp), the quantile from limits of what was drawn. Where that is too much
/// to draw, units of a group count as independent and the quantile is `max`. Of several engines the mean is their even
/// share, in whole groups.
struct ProductCycles {
  double mean = 0;              ///< with set-up
  double quantile = 0;          ///< whole cycles; with set-up
  double max = 0;               ///< nothing is zero, with set-up
  double dense = 0;             ///< the dense mode of the same core: no padding to groups, no set-up
  double deviation = 0;         ///< upper limit of the standard deviation
  double active = 1, gated = 0; ///< shares of all multiply-accumulates; what is neither is skipped
  bool sampled = false;         ///< the mean is an estimate from draws (`sampledLaneCycles`)
  std::string formula;          ///< in words and numbers
};

/// A pattern that the core does not use saves nothing, and is no error. A1010: a pattern that contradicts itself or the
/// shape; extents outside of 1 to 2^40, a tile outside of 1 to 4,096, slots, granules or lanes outside of 1 to 2^20; a
/// confidence that is not above 0 and below 1; more cycles than a double counts.
Result<ProductCycles> productCycles(const SparseProduct &, const SparseCore &, const ProductArray &, double confidence);

/// Whether a core's N:M use takes a pattern: at most `kept` of any aligned `of` are not zero, whatever is drawn.
bool supportsPattern(const SparseAcceleration &, const SparsityPattern &);

} // namespace accord
