// Parts of an operand drawn element by element, as `SparsityPattern` says, where what neighbours have depends on each
// other.
#pragma once
#include "lib/sparsity/cost/CycleSum.h"
#include "lib/support/SplitMix.h"

namespace accord {

/// Elements `from` to `to` of a line (an output) along the reduction, both at the border of a tile.
struct LineSpan {
  int64_t line = 0, from = 0, to = 0;
};

/// Draws an operand that is skipped. Transposable N:M is drawn as squares with `kept` neighbours in each row, around
/// the edge, whose rows and columns are shuffled.
class OperandSampler {
public:
  /// `staticMask`: its zeros, where nothing is drawn. Granules of `granule` neighbours from the start of each tile
  /// count whole.
  OperandSampler(const SparsityPattern &, OperandShape, const std::optional<StaticMask> &staticMask, int64_t tile,
                 int64_t granule);

  bool random() const { return !staticMask_; }
  /// Draws these spans of a new operand; lines ascend, and none comes twice.
  void draw(const std::vector<LineSpan> &, SplitMix &);
  /// Of the last draw: 1 where an element is not zero, from the start of the span on.
  const uint8_t *at(size_t span) const { return bits_[span].data(); }
  /// Elements that all draws took.
  double sampled() const { return numSampled_; }

private:
  void lines(const std::vector<LineSpan> &, size_t first, size_t last, SplitMix &);
  void elements(const LineSpan &, size_t span, SplitMix &);
  void patternBlocks(const LineSpan &, size_t span, SplitMix &);
  void across(const std::vector<LineSpan> &, size_t first, size_t last, SplitMix &);
  void squares(const std::vector<LineSpan> &, size_t first, size_t last, SplitMix &);
  void blocks(const std::vector<LineSpan> &, size_t first, size_t last, SplitMix &);
  void joinGranules(const LineSpan &, size_t span);
  bool sampleNonZero(SplitMix &);

  const SparsityPattern &pattern_;
  const std::optional<StaticMask> &staticMask_;
  int64_t tile_, granule_;
  PatternBlock patternBlock_;
  /// Elements or blocks of an exact share that are left to draw from; 0: each is a draw of its own.
  double all_ = 0, kept_ = 0, left_ = 0, leftKept_ = 0, share_ = 1;
  std::vector<std::vector<uint8_t>> bits_;
  std::vector<uint8_t> scratch_;
  std::vector<int64_t> order_, columns_;
  double numSampled_ = 0;
};

} // namespace accord
