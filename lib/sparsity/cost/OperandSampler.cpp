#include "lib/sparsity/cost/OperandSampler.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;

double number(int64_t value) { return value; }

/// `kept` of `of` places, any of them as likely as any other.
void choose(int64_t kept, int64_t of, SplitMix &random, uint8_t *places) {
  for (int64_t i = 0; i < of; ++i) {
    places[i] = random.unit() * number(of - i) < number(kept);
    kept -= places[i];
  }
}

void shuffle(std::vector<int64_t> &order, int64_t size, SplitMix &random) {
  order.resize(size);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
}

/// From the first to the last place that any of these spans has.
std::pair<int64_t, int64_t> hullOf(const std::vector<LineSpan> &spans, size_t first, size_t last) {
  int64_t from = spans[first].from, to = spans[first].to;
  for (size_t i = first; i < last; ++i)
    from = std::min(from, spans[i].from), to = std::max(to, spans[i].to);
  return {from, to};
}

} // namespace

OperandSampler::OperandSampler(const SparsityPattern &pattern, OperandShape shape,
                               const std::optional<StaticMask> &staticMask, int64_t tile, int64_t granule)
    : pattern_(pattern), staticMask_(staticMask), tile_(tile), granule_(granule),
      patternBlock_(patternBlockOf(pattern)) {
  const auto share = density(pattern, shape);
  share_ = share.get() ? *share : 1;
  if ((pattern.kind != Kind::Unstructured && pattern.kind != Kind::Block) || pattern.independent)
    return;
  auto patternBlocks = [](int64_t line, int64_t piece) { return number(line / piece + (line % piece > 0)); };
  all_ = patternBlocks(shape.outputs, patternBlock_.outputs) * patternBlocks(shape.reduction, patternBlock_.reduction);
  kept_ = std::round(share_ * all_);
}

bool OperandSampler::sampleNonZero(SplitMix &random) {
  if (all_ <= 0)
    return random.unit() < share_;
  const bool kept = random.unit() * left_ < leftKept_;
  left_ -= 1, leftKept_ -= kept;
  return kept;
}

void OperandSampler::elements(const LineSpan &of, size_t span, SplitMix &random) {
  for (uint8_t &bit : bits_[span])
    bit = sampleNonZero(random);
  numSampled_ += number(of.to - of.from);
}

/// Groups and windows, one behind the other.
void OperandSampler::patternBlocks(const LineSpan &of, size_t span, SplitMix &random) {
  const int64_t length = patternBlock_.reduction, start = of.from / length * length;
  scratch_.resize((of.to - start + length - 1) / length * length);
  for (size_t at = 0; at < scratch_.size(); at += static_cast<size_t>(length)) {
    int64_t kept = pattern_.kept;
    if (pattern_.kind == Kind::Histogram) {
      double left = random.unit();
      int64_t zeros = 0;
      while (zeros < length && (left -= pattern_.histogram[zeros]) >= 0)
        ++zeros;
      kept = length - zeros;
    }
    choose(kept, length, random, scratch_.data() + at);
  }
  std::copy_n(scratch_.begin() + (of.from - start), of.to - of.from, bits_[span].begin());
  numSampled_ += scratch_.size();
}

/// Groups of outputs: at each step of the reduction the lines that are looked at are some of the group's.
void OperandSampler::across(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
  const auto [from, to] = hullOf(spans, first, last);
  for (int64_t k = from; k < to; ++k) {
    int64_t left = pattern_.of, kept = pattern_.kept;
    for (size_t i = first; i < last; ++i) {
      if (k < spans[i].from || k >= spans[i].to)
        continue;
      const bool keep = random.unit() * number(left) < number(kept);
      bits_[i][k - spans[i].from] = keep;
      --left, kept -= keep;
    }
  }
  for (size_t i = first; i < last; ++i)
    numSampled_ += number(spans[i].to - spans[i].from);
}

void OperandSampler::squares(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
  const int64_t side = pattern_.of;
  const auto [from, to] = hullOf(spans, first, last);
  for (int64_t square = from / side * side; square < to; square += side) {
    shuffle(order_, side, random);
    shuffle(columns_, side, random);
    for (size_t i = first; i < last; ++i) {
      const int64_t row = order_[spans[i].line % side];
      for (int64_t at = 0; at < side; ++at) {
        const int64_t k = square + columns_[(row + at) % side];
        if (k >= spans[i].from && k < spans[i].to)
          bits_[i][k - spans[i].from] = at < pattern_.kept;
      }
      numSampled_ += number(side);
    }
    numSampled_ += number(2 * side);
  }
}

void OperandSampler::blocks(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
  const auto [from, to] = hullOf(spans, first, last);
  const int64_t length = patternBlock_.reduction;
  scratch_.resize(to - from);
  for (int64_t at = from; at < to;) {
    const bool kept = sampleNonZero(random);
    for (const int64_t end = std::min((at / length + 1) * length, to); at < end; ++at)
      scratch_[at - from] = kept;
  }
  for (size_t i = first; i < last; ++i) {
    std::copy_n(scratch_.begin() + (spans[i].from - from), spans[i].to - spans[i].from, bits_[i].begin());
    numSampled_ += number(spans[i].to - spans[i].from);
  }
}

void OperandSampler::joinGranules(const LineSpan &of, size_t span) {
  std::vector<uint8_t> &bits = bits_[span];
  for (int64_t from = 0; from < of.to - of.from; from += tile_)
    for (int64_t end = std::min(from + tile_, of.to - of.from), g = from; g < end; g += granule_) {
      const auto begin = bits.begin() + g, stop = bits.begin() + std::min(g + granule_, end);
      std::fill(begin, stop, std::find(begin, stop, 1) != stop);
    }
}

/// Spans of lines that are drawn together.
void OperandSampler::lines(const std::vector<LineSpan> &spans, size_t first, size_t last, SplitMix &random) {
  if (pattern_.kind == Kind::Block)
    return blocks(spans, first, last, random);
  // One line of squares is like groups of its own; one of groups of outputs like single draws.
  const bool alone = last - first == 1;
  if (patternBlock_.outputs > 1 && !alone)
    return patternBlock_.reduction > 1 ? squares(spans, first, last, random) : across(spans, first, last, random);
  for (size_t i = first; i < last; ++i)
    if (patternBlock_.reduction > 1)
      patternBlocks(spans[i], i, random);
    else
      elements(spans[i], i, random);
}

void OperandSampler::draw(const std::vector<LineSpan> &spans, SplitMix &random) {
  left_ = all_, leftKept_ = kept_;
  if (bits_.size() < spans.size())
    bits_.resize(spans.size());
  for (size_t i = 0; i < spans.size(); ++i)
    bits_[i].resize(spans[i].to - spans[i].from);
  if (staticMask_) {
    for (size_t i = 0; i < spans.size(); ++i)
      for (int64_t k = spans[i].from; k < spans[i].to; ++k)
        bits_[i][k - spans[i].from] = staticMask_->at(spans[i].line, k);
    return; // granules are whole there
  }
  for (size_t first = 0, last = 0; first < spans.size(); first = last) {
    const int64_t group = spans[first].line / patternBlock_.outputs;
    while (last < spans.size() && spans[last].line / patternBlock_.outputs == group)
      ++last;
    lines(spans, first, last, random);
  }
  if (granule_ > 1)
    for (size_t i = 0; i < spans.size(); ++i)
      joinGranules(spans[i], i);
}

} // namespace accord
