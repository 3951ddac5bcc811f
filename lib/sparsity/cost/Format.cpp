#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/CycleSum.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Kind = SparseFormat::Kind;
using Pattern = SparsityPattern::Kind;
/// Blocks of a mask or a band that are looked at one by one.
constexpr double kCounted = 1 << 28;

/// Groups of `each` neighbours of a line, the last one perhaps shorter.
double groupsIn(int64_t line, int64_t each) { return number(divideUp(line, each)); }
double elementsOf(OperandShape shape) { return number(shape.outputs) * number(shape.reduction); }

/// A number of things and what it does not exceed.
struct Amount {
  double mean = 0, quantile = 0;
};

/// `count` draws, each like `one`, counted `weight` times.
Amount sampled(const Occupancy &one, double count, double weight, double confidence) {
  Amount amount;
  amount.mean = one.mean() * count * weight;
  double max = number(one.max()) * count * weight;
  bool certain = one.variance() <= 0 || count <= 0;
  amount.quantile = certain
                        ? amount.mean
                        : std::clamp(std::ceil(chernoffQuantile({{one, count, weight}}, confidence)), amount.mean, max);
  return amount;
}

Amount nonZeros(const SparsityPattern &p, OperandShape shape, double density, double confidence) {
  const double n = elementsOf(shape);
  if (p.kind == Pattern::Unstructured && p.independent)
    return sampled(binomial(1, density), n, 1, confidence);
  if (p.kind == Pattern::Block && p.independent) {
    double blocks = groupsIn(shape.outputs, p.blockRows) * groupsIn(shape.reduction, p.blockColumns);
    Amount amount = sampled(binomial(1, density), blocks, number(p.blockRows) * number(p.blockColumns), confidence);
    return {density * n, std::min(n, amount.quantile)};
  }
  if (p.kind == Pattern::Histogram) {
    Occupancy window;
    window.probability.assign(p.histogram.rbegin(), p.histogram.rend());
    Amount amount = sampled(window, number(shape.outputs) * groupsIn(shape.reduction, p.window), 1, confidence);
    return {density * n, std::min(n, amount.quantile)};
  }
  // What the last group or block of a line holds is drawn, where it is not a whole one.
  if (p.kind == Pattern::Structured) {
    const bool along = p.along == SparsityPattern::Along::Reduction;
    const int64_t length = along ? shape.reduction : shape.outputs, rest = length % p.of;
    const double lines = number(along ? shape.outputs : shape.reduction),
                 whole = lines * number(length / p.of) * number(p.kept);
    if (p.transposable)
      return {density * n, std::min(n, whole + lines * number(std::min(p.kept, rest)))};
    if (rest > 0)
      return {density * n, whole + sampled(hypergeometric(p.of, p.kept, rest), lines, 1, confidence).quantile};
  }
  if (p.kind == Pattern::Block && (shape.outputs % p.blockRows > 0 || shape.reduction % p.blockColumns > 0)) {
    const double blocks = groupsIn(shape.outputs, p.blockRows) * groupsIn(shape.reduction, p.blockColumns);
    return {density * n,
            std::min(n, std::ceil(density * blocks - 1e-9) * number(p.blockRows) * number(p.blockColumns))};
  }
  return {density * n, density * n};
}

/// ln of a binomial coefficient.
double logChoose(double n, double k) { return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1); }

/// P(all of `draws` elements are zero).
double allZero(const SparsityPattern &p, OperandShape shape, double density, double draws) {
  const double n = elementsOf(shape), kept = density * n;
  if (draws > n - kept)
    return density > 0 && (!p.independent || density >= 1) ? 0 : std::pow(1 - density, draws);
  if (p.independent || n >= 0x1p40)
    return std::pow(1 - density, draws);
  return std::exp(logChoose(n - draws, kept) - logChoose(n, kept));
}

bool anyInBlock(const SparsityPattern &p, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  if (p.kind == Pattern::Banded) {
    int64_t apart = std::max<int64_t>({0, left - (bottom - 1), top - (right - 1)});
    return apart <= p.band;
  }
  for (int64_t i = top; i < bottom; ++i)
    for (int64_t j = left; j < right; ++j)
      if (p.mask[i][j])
        return true;
  return false;
}

/// Blocks of a format that are stored, as one is not zero.
Result<Amount> keptBlocks(const SparsityPattern &p, const SparseFormat &f, OperandShape shape, double density,
                          double confidence) {
  const double rows = groupsIn(shape.outputs, f.blockRows), columns = groupsIn(shape.reduction, f.blockColumns),
               blocks = rows * columns;
  if (f.blockRows * f.blockColumns == 1)
    return nonZeros(p, shape, density, confidence);
  if (p.kind == Pattern::Dense)
    return Amount{blocks, blocks};
  if (p.kind == Pattern::Block && p.blockRows % f.blockRows == 0 && p.blockColumns % f.blockColumns == 0) {
    Amount all = nonZeros(p, shape, density, confidence);
    double area = number(f.blockRows) * number(f.blockColumns);
    return Amount{std::min(blocks, all.mean / area), std::min(blocks, std::ceil(all.quantile / area))};
  }
  if (p.kind == Pattern::Banded || p.kind == Pattern::Mask) {
    if (elementsOf(shape) > kCounted)
      return notSkipped(
          fmt::format("an operand of {} by {} is too large to count its blocks", shape.outputs, shape.reduction));
    double kept = 0;
    for (int64_t i = 0; i < shape.outputs; i += f.blockRows)
      for (int64_t j = 0; j < shape.reduction; j += f.blockColumns)
        kept += anyInBlock(p, i, std::min(shape.outputs, i + f.blockRows), j,
                           std::min(shape.reduction, j + f.blockColumns));
    return Amount{kept, kept};
  }
  if (p.kind == Pattern::Unstructured) {
    double stored = 1 - allZero(p, shape, density, number(f.blockRows) * number(f.blockColumns));
    return sampled(binomial(1, stored), blocks, 1, confidence);
  }
  return Amount{blocks, blocks}; // other structures: any block may hold something
}

/// Zeros that are stored because a run before a non-zero is too long for `r` bits.
Amount storedZeros(const SparsityPattern &p, OperandShape shape, double density, double run, double kept) {
  const double n = elementsOf(shape), max = std::floor(std::max(0.0, n - kept) / run);
  if (p.kind == Pattern::Dense || density >= 1 || density <= 0)
    return {};
  if (p.kind == Pattern::Structured && (p.along == SparsityPattern::Along::Reduction || p.transposable) &&
      2 * number(p.of - p.kept) < run)
    return {};
  if (p.kind == Pattern::Mask) {
    double stored = 0;
    for (const std::vector<bool> &row : p.mask) {
      double zeros = 0;
      for (bool element : row) {
        stored += element ? std::floor(zeros / run) : 0;
        zeros = element ? 0 : zeros + 1;
      }
    }
    return {stored, stored};
  }
  if (p.kind != Pattern::Unstructured)
    return {max, max};
  // P(a place is not zero and `before` places before it are).
  double sum = 0;
  for (double before = run; before < number(shape.reduction); before += run) {
    double each = density * allZero(p, shape, density, before);
    if (!p.independent && n < 0x1p40) {
      double all = density * n;
      each = before > n - all ? 0 : std::exp(logChoose(n - 1 - before, all - 1) - logChoose(n, all));
    }
    double here = (number(shape.reduction) - before) * number(shape.outputs) * each;
    sum += here;
    if (here <= sum * 1e-15)
      break;
  }
  return {std::min(sum, max), max};
}

double structuredBits(const SparseFormat &f, OperandShape shape, int64_t elementBits, double &metadata) {
  const double kept = number(shape.outputs) * groupsIn(shape.reduction, f.of) * number(f.kept);
  metadata = kept * number(widthOfCount(f.of));
  return kept * number(elementBits) + metadata;
}

int64_t widthOf(int64_t bits) {
  int64_t width = 8;
  while (width < bits && width < 64)
    width *= 2;
  return width;
}

} // namespace

int64_t widthOfCount(int64_t count) { return std::bit_width(uint64_t(count - 1)); }

Result<StoredBits> storedBits(const SparsityPattern &p, const SparseFormat &f, OperandShape shape, int64_t elementBits,
                              double confidence) {
  auto share = density(p, shape);
  if (!share)
    return share.takeError();
  if (elementBits < 1 || elementBits > 65536 || f.coordinateBits < 1 || f.coordinateBits > 64 || f.pointerBits < 1 ||
      f.pointerBits > 64 || f.blockRows < 1 || f.blockColumns < 1 || f.blockRows > (1 << 20) ||
      f.blockColumns > (1 << 20))
    return notSkipped(
        fmt::format("a format with elements of {} bits, positions of {} and pointers of {}, blocks of {} by {}",
                    elementBits, f.coordinateBits, f.pointerBits, f.blockRows, f.blockColumns));
  const double d = *share, n = elementsOf(shape), b = number(elementBits), width = number(f.coordinateBits);
  const Amount kept = nonZeros(p, shape, d, confidence);
  StoredBits bits;
  bits.dense = n * b;
  switch (f.kind) {
  case Kind::Dense:
    bits.mean = bits.quantile = bits.dense;
    break;
  case Kind::Bitmask:
    bits = {kept.mean * b + n, kept.quantile * b + n, bits.dense, n};
    break;
  case Kind::Coordinates:
    bits = {kept.mean * (b + width), kept.quantile * (b + width), bits.dense, kept.mean * width};
    break;
  case Kind::Structured: {
    SparseAcceleration use;
    use.kept = f.kept;
    use.of = f.of;
    if (f.kept < 1 || f.of < 1 || f.kept > f.of || f.of > 4096 || !supportsPattern(use, p))
      return notSkipped(fmt::format(
          "nm({}, {}) stores at most {} of {} neighbours along the reduction, and this pattern may keep more", f.kept,
          f.of, f.kept, f.of));
    bits.mean = bits.quantile = structuredBits(f, shape, elementBits, bits.metadata);
    break;
  }
  case Kind::Rows: {
    auto blocks = keptBlocks(p, f, shape, d, confidence);
    if (!blocks)
      return blocks.takeError();
    const Amount &stored = *blocks;
    const double each = number(f.blockRows) * number(f.blockColumns) * b + width,
                 pointers = (groupsIn(shape.outputs, f.blockRows) + 1) * number(f.pointerBits);
    bits = {stored.mean * each + pointers, stored.quantile * each + pointers, bits.dense,
            stored.mean * width + pointers};
    break;
  }
  case Kind::RunLength: {
    const double run = std::exp2(width);
    const Amount zeros = storedZeros(p, shape, d, run, kept.mean);
    bits = {(kept.mean + zeros.mean) * (b + width), (kept.quantile + zeros.quantile) * (b + width), bits.dense,
            (kept.mean + zeros.mean) * width + zeros.mean * b};
    break;
  }
  }
  return bits;
}

SparseFormat cheapestFormat(const SparsityPattern &p, OperandShape shape, int64_t elementBits, double confidence,
                            const std::vector<SparseFormat> &formats) {
  SparseFormat best;
  double min = elementsOf(shape) * number(elementBits);
  for (const SparseFormat &format : formats) {
    auto bits = storedBits(p, format, shape, elementBits, confidence);
    if (auto *size = bits.get(); size && size->quantile < min) {
      min = size->quantile;
      best = format;
    }
  }
  return best;
}

std::vector<SparseFormat> formatsOf(const SparsityPattern &p, OperandShape shape) {
  std::vector<SparseFormat> formats(1);
  if (p.kind == Pattern::Dense)
    return formats;
  auto add = [&](Kind kind) -> SparseFormat & {
    formats.emplace_back().kind = kind;
    return formats.back();
  };
  SparseAcceleration use;
  use.kept = p.kept;
  use.of = p.of;
  if (p.kind == Pattern::Structured && p.kept > 0 && supportsPattern(use, p)) {
    SparseFormat &structured = add(Kind::Structured);
    structured.kept = p.kept;
    structured.of = p.of;
  }
  add(Kind::Bitmask);
  const int64_t column = widthOfCount(shape.reduction);
  add(Kind::Rows).coordinateBits = widthOf(column);
  if (p.kind == Pattern::Block && p.blockRows <= (1 << 20) && p.blockColumns <= (1 << 20)) {
    SparseFormat &blocks = add(Kind::Rows);
    blocks.coordinateBits = widthOf(column);
    blocks.blockRows = p.blockRows;
    blocks.blockColumns = p.blockColumns;
  }
  const int64_t row = widthOfCount(shape.outputs);
  add(Kind::Coordinates).coordinateBits = std::min<int64_t>(64, row + column);
  add(Kind::RunLength).coordinateBits = 4;
  return formats;
}

std::optional<std::string> encoding(const SparseFormat &f) {
  const std::string widths =
      fmt::format("posWidth = {}, crdWidth = {}", widthOf(f.pointerBits), widthOf(f.coordinateBits));
  switch (f.kind) {
  case Kind::Dense:
    return std::nullopt;
  case Kind::Structured:
    return fmt::format("#sparse_tensor.encoding<{{ map = (d0, d1) -> (d0 : dense, d1 floordiv {1} : dense, d1 mod {1} "
                       ": structured[{0}, {1}]) }}>",
                       f.kept, f.of);
  case Kind::Coordinates:
    return fmt::format(
        "#sparse_tensor.encoding<{{ map = (d0, d1) -> (d0 : compressed(nonunique), d1 : singleton), {} }}>", widths);
  case Kind::Rows:
    if (f.blockRows * f.blockColumns > 1)
      return fmt::format("#sparse_tensor.encoding<{{ map = (d0, d1) -> (d0 floordiv {0} : dense, d1 floordiv {1} : "
                         "compressed, d0 mod {0} : dense, d1 mod {1} : dense), {2} }}>",
                         f.blockRows, f.blockColumns, widths);
    return fmt::format("#sparse_tensor.encoding<{{ map = (d0, d1) -> (d0 : dense, d1 : compressed), {} }}>", widths);
  case Kind::Bitmask:
  case Kind::RunLength:
    return "#sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>";
  }
  return std::nullopt;
}

std::string describe(const SparseFormat &f) {
  switch (f.kind) {
  case Kind::Dense:
    return "dense";
  case Kind::Bitmask:
    return "bitmask";
  case Kind::Coordinates:
    return fmt::format("coordinates({})", f.coordinateBits);
  case Kind::Structured:
    return fmt::format("nm({}, {})", f.kept, f.of);
  case Kind::Rows:
    return f.blockRows * f.blockColumns > 1 ? fmt::format("rows({}, {}) of blocks {} x {}", f.coordinateBits,
                                                          f.pointerBits, f.blockRows, f.blockColumns)
                                            : fmt::format("rows({}, {})", f.coordinateBits, f.pointerBits);
  case Kind::RunLength:
    return fmt::format("run_length({})", f.coordinateBits);
  }
  return "";
}

} // namespace accord
