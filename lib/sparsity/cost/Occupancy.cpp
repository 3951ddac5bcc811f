#include "lib/sparsity/cost/Occupancy.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace accord {
namespace {

using Kind = SparsityPattern::Kind;
constexpr int64_t kLargestTile = 4096, kLargestExtent = int64_t{1} << 40;
/// Rows times tiles of a banded operand, and elements of a mask, that are counted one by one.
constexpr int64_t kCounted = int64_t{1} << 28;

bool isShare(double value) { return value >= 0 && value <= 1; } // not of NaN

std::optional<Error> checkHistogram(const SparsityPattern &p) {
  if (p.window < 1 || p.window > kLargestTile || std::ssize(p.histogram) != p.window + 1)
    return notSkipped(fmt::format("a histogram of windows of {} elements has {} shares; it needs one for each number "
                                  "of zeros, and windows of 1 to {} elements",
                                  p.window, p.histogram.size(), kLargestTile));
  double whole = 0;
  for (double share : p.histogram) {
    if (!isShare(share))
      return notSkipped(fmt::format("a histogram has the share {}, which is not from 0 to 1", share));
    whole += share;
  }
  if (!(std::abs(whole - 1) <= 1e-6))
    return notSkipped(fmt::format("the shares of a histogram add up to {}, not to 1", whole));
  return std::nullopt;
}

std::optional<Error> check(const SparsityPattern &p, OperandShape shape) {
  if (shape.outputs < 1 || shape.reduction < 1 || shape.outputs > kLargestExtent || shape.reduction > kLargestExtent)
    return notSkipped(fmt::format("an operand of {} outputs by {} has no zeros to count; extents are from 1 to 2^40",
                                  shape.outputs, shape.reduction));
  switch (p.kind) {
  case Kind::Dense:
    return std::nullopt;
  case Kind::Unstructured:
    if (!isShare(p.density))
      return notSkipped(fmt::format("a density is {}; it is a share from 0 to 1", p.density));
    return std::nullopt;
  case Kind::Structured:
    if (p.kept < 0 || p.of < 1 || p.kept > p.of || p.of > kLargestTile)
      return notSkipped(
          fmt::format("nm({}, {}) keeps no part of a group; the first is from 0 to the second, which is from 1 to {}",
                      p.kept, p.of, kLargestTile));
    return std::nullopt;
  case Kind::Block:
    if (!isShare(p.density) || p.blockRows < 1 || p.blockColumns < 1 || p.blockRows > kLargestExtent ||
        p.blockColumns > kLargestExtent)
      return notSkipped(
          fmt::format("blocks of {} by {} with density {}: extents are at least 1, a density is from 0 to 1",
                      p.blockRows, p.blockColumns, p.density));
    return std::nullopt;
  case Kind::Banded:
    if (p.band < 0)
      return notSkipped(fmt::format("a band of {} elements; it is 0 or more", p.band));
    return std::nullopt;
  case Kind::Histogram:
    return checkHistogram(p);
  case Kind::Mask:
    if (std::ssize(p.mask) != shape.outputs)
      return notSkipped(fmt::format("a mask has {} rows, its operand {} outputs", p.mask.size(), shape.outputs));
    for (const std::vector<bool> &row : p.mask)
      if (std::ssize(row) != shape.reduction)
        return notSkipped(fmt::format("a mask has a row of {} elements, its operand {} along the reduction", row.size(),
                                      shape.reduction));
    return std::nullopt;
  }
  return notSkipped("an unknown pattern of zeros");
}

/// Tiles of `tile` neighbours on a line: one behind the other, or only what is left of the line behind longer ones.
struct TilesOfLine {
  int64_t tile, line;
  bool last;
  int64_t count() const { return last ? 1 : line / tile; }
  int64_t start(int64_t i) const { return last ? line - tile : i * tile; }
};

/// Groups of `length` follow each other, each with a count like `group`, all places of which are equally likely in runs
/// of `run`.
TileParts ofGroups(const TilesOfLine &tiles, int64_t length, const Occupancy &group, int64_t run) {
  const int64_t tile = tiles.tile;
  auto some = [&](int64_t draws) {
    if (draws == length)
      return group;
    Occupancy part = emptyOccupancy(draws);
    for (int64_t j = 0; j <= length; ++j) {
      double p = group.probability[j];
      if (p <= 0)
        continue;
      Occupancy sampled = run == length ? certain(draws, j == 0 ? 0 : draws) : hypergeometric(length, j, draws);
      for (size_t k = 0; k < sampled.probability.size(); ++k)
        part.probability[k] += p * sampled.probability[k];
    }
    return part;
  };
  auto from = [&](int64_t offset) {
    TileParts parts;
    for (int64_t at = 0; at < tile;) {
      int64_t here = std::min(length - (offset + at) % length, tile - at);
      parts.push_back({here, some(here), run == length ? here : 1});
      at += here;
    }
    return parts;
  };
  // Tiles start at different places of a group, again and again at the same ones.
  const int64_t period = length / std::gcd(tile, length), count = tiles.count();
  if (period == 1 || count == 1)
    return from(tiles.start(0) % length);
  TilePart any{tile, emptyOccupancy(tile), 1};
  for (int64_t i = 0; i < std::min(period, count); ++i) {
    const int64_t equivalent = (count - i - 1) / period + 1;
    Occupancy one = total(from(tiles.start(i) % length));
    for (size_t k = 0; k < one.probability.size(); ++k)
      any.of.probability[k] += one.probability[k] * equivalent / count;
  }
  return {any};
}

/// Counts of a pattern whose elements are known, over all tiles.
template <typename Count> Occupancy counted(const TilesOfLine &tiles, int64_t lines, Count count) {
  Occupancy result = emptyOccupancy(tiles.tile);
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t t = 0; t < tiles.count(); ++t)
      result.probability[count(line, tiles.start(t), tiles.start(t) + tiles.tile)] += 1;
  for (double &each : result.probability)
    each /= number(lines) * tiles.count();
  return result;
}

/// What a draw of `density` of `of` things keeps.
double keptOf(double density, double of) { return std::min(of, std::ceil(density * of - 1e-9)); }

double blocksIn(const SparsityPattern &p, OperandShape shape) {
  return number(divideUp(shape.outputs, p.blockRows)) * divideUp(shape.reduction, p.blockColumns);
}

/// Elements of a tile that starts `offset` behind the border of a block of `length`, of `blocks` of which `kept` are
/// not zero.
Occupancy ofFewBlocks(int64_t offset, int64_t tile, int64_t length, int64_t blocks, int64_t kept) {
  const int64_t first = std::min(tile, (length - offset) % length), last = (tile - first) % length,
                whole = (tile - first) / length;
  Occupancy result = emptyOccupancy(tile);
  // The parts of blocks at both ends, one after the other, then the whole ones of what is left.
  for (int64_t a = 0; a <= (first > 0); ++a)
    for (int64_t b = 0; b <= (last > 0); ++b) {
      double p = 1;
      int64_t all = blocks, left = kept;
      for (auto [there, is] : {std::pair{first > 0, a}, std::pair{last > 0, b}})
        if (there) {
          const double share = number(left) / all;
          p *= is ? share : 1 - share;
          --all, left -= is;
        }
      if (p <= 0)
        continue;
      const Occupancy between = hypergeometric(all, left, whole);
      for (int64_t i = 0; i <= whole; ++i)
        result.probability[a * first + b * last + i * length] += p * between.probability[i];
    }
  return result;
}

/// What is drawn from so few blocks leaves less to others.
constexpr double kFewBlocks = 4096;

TileParts ofBlocks(const SparsityPattern &p, OperandShape shape, const TilesOfLine &tiles, TileDirection direction) {
  const int64_t tile = tiles.tile;
  const int64_t length = direction == TileDirection::Reduction ? p.blockColumns : p.blockRows;
  const double blocks = blocksIn(p, shape);
  const double share = p.independent ? p.density : keptOf(p.density, blocks) / blocks;
  // Whole blocks in a tile are drawn from all blocks; else a block passes the border of a tile.
  const bool aligned = tiles.start(0) % length == 0;
  if (aligned && tile % length == 0 && blocks < kLargestExtent) {
    const int64_t here = tile / length;
    Occupancy whole = p.independent || here > blocks ? binomial(here, share)
                                                     : hypergeometric(blocks, std::llround(share * blocks), here);
    Occupancy elements = emptyOccupancy(tile);
    for (int64_t i = 0; i <= here; ++i)
      elements.probability[i * length] = whole.probability[i];
    return {{tile, elements, length}};
  }
  auto inside = [&](int64_t elements) { // of one block
    return TilePart{elements, allOrNone(elements, 1 - share, share), elements};
  };
  if (aligned && length > tile && length % tile == 0)
    return {inside(tile)};
  const int64_t period = length / std::gcd(tile, length);
  const int64_t kinds = std::min(period, tiles.count());
  if (!p.independent && blocks <= kFewBlocks && kinds <= kLargestTile) {
    TilePart any{tile, emptyOccupancy(tile), 1};
    for (int64_t i = 0; i < kinds; ++i) {
      const double equivalent = number((tiles.count() - i - 1) / period + 1) / tiles.count();
      const Occupancy one = ofFewBlocks(tiles.start(i) % length, tile, length, blocks, std::llround(share * blocks));
      for (size_t k = 0; k < one.probability.size(); ++k)
        any.of.probability[k] += equivalent * one.probability[k];
    }
    return {any};
  }
  if (tiles.count() == 1) {
    TileParts parts;
    for (int64_t at = tiles.start(0), end = at + tile; at < end;) {
      const int64_t here = std::min(length - at % length, end - at);
      parts.push_back(inside(here));
      at += here;
    }
    return parts;
  }
  // A block far longer than the tile is as good as one of many tiles.
  const int64_t effective = std::min(length, tile * 64);
  return ofGroups(tiles, effective, allOrNone(effective, 1 - share, share), effective);
}

Occupancy ofBand(const SparsityPattern &p, OperandShape shape, const TilesOfLine &tiles, bool alongReduction) {
  return counted(tiles, alongReduction ? shape.outputs : shape.reduction, [&](int64_t line, int64_t from, int64_t to) {
    int64_t low = std::max(from, line - std::min(p.band, line)),
            high = std::min(to, p.band >= to ? to : line + p.band + 1);
    return std::max<int64_t>(0, high - low);
  });
}

Occupancy ofMask(const SparsityPattern &p, OperandShape shape, const TilesOfLine &tiles, bool alongReduction) {
  return counted(tiles, alongReduction ? shape.outputs : shape.reduction, [&](int64_t line, int64_t from, int64_t to) {
    int64_t count = 0;
    for (int64_t i = from; i < to; ++i)
      count += alongReduction ? p.mask[line][i] : p.mask[i][line];
    return count;
  });
}

double meanOfHistogram(const SparsityPattern &p) {
  double zeros = 0;
  for (size_t i = 0; i < p.histogram.size(); ++i)
    zeros += i * p.histogram[i];
  return 1 - zeros / p.window;
}

TileParts onePart(Occupancy of) { return {{of.max(), std::move(of), 1}}; }

/// A tile longer than an operand has no more elements than a line of it.
int64_t lineOf(OperandShape shape, TileDirection direction) {
  return direction == TileDirection::Reduction ? shape.reduction : shape.outputs;
}

} // namespace

Result<TileParts> tileParts(const SparsityPattern &p, OperandShape shape, int64_t tile, TileDirection direction,
                            bool last) {
  if (auto error = check(p, shape))
    return *error;
  if (tile < 1 || tile > kLargestTile || tile > lineOf(shape, direction))
    return notSkipped(
        fmt::format("a tile of {} elements; it is from 1 to {}, and no longer than the {} elements of a line", tile,
                    kLargestTile, lineOf(shape, direction)));
  const bool alongReduction = direction == TileDirection::Reduction;
  const TilesOfLine tiles{tile, lineOf(shape, direction), last};
  const double elements = number(shape.outputs) * shape.reduction;
  switch (p.kind) {
  case Kind::Dense:
    break;
  case Kind::Unstructured:
    if (p.independent || elements >= 0x1p52)
      return onePart(binomial(tile, p.density));
    return onePart(hypergeometric(shape.outputs * shape.reduction, keptOf(p.density, elements), tile));
  case Kind::Structured:
    if (p.along == direction || p.transposable)
      return ofGroups(tiles, p.of, certain(p.of, p.kept), 1);
    return onePart(binomial(tile, number(p.kept) / p.of));
  case Kind::Block:
    return ofBlocks(p, shape, tiles, direction);
  case Kind::Banded:
  case Kind::Mask:
    if (elements / (p.kind == Kind::Mask ? 1.0 : number(tile)) > kCounted)
      return notSkipped(
          fmt::format("an operand of {} by {} is too large to count what a {} leaves of it; state a density",
                      shape.outputs, shape.reduction, p.kind == Kind::Mask ? "mask" : "band"));
    return onePart(p.kind == Kind::Mask ? ofMask(p, shape, tiles, alongReduction)
                                        : ofBand(p, shape, tiles, alongReduction));
  case Kind::Histogram: {
    if (!alongReduction)
      return onePart(binomial(tile, std::clamp(meanOfHistogram(p), 0.0, 1.0)));
    Occupancy window;
    window.probability.assign(p.histogram.rbegin(), p.histogram.rend());
    double whole = 0;
    for (double share : window.probability)
      whole += share;
    for (double &share : window.probability)
      share /= whole;
    return ofGroups(tiles, p.window, window, 1);
  }
  }
  return onePart(certain(tile, tile));
}

Result<double> density(const SparsityPattern &p, OperandShape shape) {
  if (auto error = check(p, shape))
    return *error;
  const double elements = number(shape.outputs) * shape.reduction;
  switch (p.kind) {
  case Kind::Dense:
    return 1.0;
  case Kind::Unstructured:
    return p.independent ? p.density : keptOf(p.density, elements) / elements;
  case Kind::Structured:
    return number(p.kept) / p.of;
  case Kind::Block:
    return p.independent ? p.density : keptOf(p.density, blocksIn(p, shape)) / blocksIn(p, shape);
  case Kind::Histogram:
    return std::clamp(meanOfHistogram(p), 0.0, 1.0);
  case Kind::Banded: {
    // Beyond the square no column is on the diagonal; rows by closed form would save little: each is two comparisons.
    if (shape.outputs > kCounted)
      return notSkipped(
          fmt::format("a band of an operand of {} outputs is too long to count; state a density", shape.outputs));
    double kept = 0;
    for (int64_t i = 0; i < shape.outputs; ++i) {
      int64_t low = i - std::min(p.band, i),
              high = p.band >= shape.reduction ? shape.reduction : std::min(shape.reduction, i + p.band + 1);
      kept += std::max<int64_t>(0, high - low);
    }
    return kept / elements;
  }
  case Kind::Mask: {
    double kept = 0;
    for (const std::vector<bool> &row : p.mask)
      kept += std::count(row.begin(), row.end(), true);
    return kept / elements;
  }
  }
  return 1.0;
}

} // namespace accord
