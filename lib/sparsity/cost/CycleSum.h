// Cycles of many groups of work, put together: what `productCycles` of each kind of core ends with.
#pragma once
#include "lib/sparsity/cost/Cycles.h"
#include <optional>

namespace accord {

/// Groups that are alike and independent of all others: `count` draws of `cycles`, each of which counts `weight` times.
struct EquivalentGroups {
  Occupancy cycles;
  double count = 0, weight = 1;
};

/// The sum of all groups' cycles, before engines share them.
struct CycleSum {
  double groups = 0, mean = 0, dense = 0; ///< `dense` is also the most
  double variance = 0;                    ///< no less than that of the sum
  /// Where `mean` was estimated from draws: what the true one is not above, and the probability that this or `variance`
  /// is too low.
  double meanUpperBound = 0, failureProbability = 0;
  double longest = 0;            ///< no group takes more
  double computed = -1;          ///< share of places that are not skipped, where it was counted
  bool allIndependent = false;   ///< `equivalent` is the whole sum
  bool onlyMaxIsCertain = false; ///< units depend on each other unheeded: nothing but `dense` is sure
  std::vector<EquivalentGroups> equivalent;
};

/// Mean, quantile and most of a sum that `engines` share, with `setup` cycles before it.
ProductCycles shared(const CycleSum &, double engines, double setup, double confidence);

/// A quantile of a sum of independent counts that is kept for certain: the least over s of (ln(1 / (1 - confidence)) +
/// sum of ln E[exp(s * weight * count)]) / s (Chernoff, Ann. Math. Statist. 23, 1952). It holds as well for counts of
/// places that are drawn without replacement, which are negatively associated (Joag-Dev and Proschan, Ann. Statist. 11,
/// 1983).
double chernoffQuantile(const std::vector<EquivalentGroups> &, double confidence);

/// Outputs and neighbours along the reduction whose elements are drawn together: a group of N:M, a window, a block.
struct PatternBlock {
  int64_t outputs = 1, reduction = 1;
};
PatternBlock patternBlockOf(const SparsityPattern &);

/// Elements that are not zero, line by line.
struct StaticMask {
  int64_t lines = 0, length = 0, words = 0; ///< words of 64 neighbours in a line
  std::vector<uint64_t> bits;
  void set(int64_t line, int64_t place) { bits[line * words + place / 64] |= uint64_t{1} << (place % 64); }
  bool at(int64_t line, int64_t place) const { return bits[line * words + place / 64] >> (place % 64) & 1; }
};

/// An operand as tiles of lanes or of outer products see it.
struct TiledOperand {
  bool skipped = false;
  TileParts whole, rest; ///< `rest` of the last, shorter tile of a line; empty if there is none
  bool fixed = false;    ///< its zeros are known: nothing is random
  /// Of a fixed operand that is skipped: a line is an output; granules count whole.
  std::optional<StaticMask> staticMask;
  /// Blocks: lines of outputs that have the same zeros, and tiles along a line.
  int64_t sameOutputs = 1, sameTiles = 1;
  PatternBlock block;
  /// Of an operand that is skipped and has so many non-zeros anywhere: 0 where elements are drawn each by itself.
  int64_t elements = 0, nonZeros = 0;
};

CycleSum outerCycles(const SparseProduct &, const SparseCore &, const ProductArray &, const TiledOperand &stationary,
                     const TiledOperand &streaming);

} // namespace accord
