#include "test/lib/sparsity/SparseMasks.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::simulator {
namespace {

using fuzz::Random;

double share(Random &random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

/// `chosen` of 0 … n - 1, all sets of that size alike.
std::vector<int64_t> choose(int64_t n, int64_t chosen, Random &random) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  chosen = std::clamp<int64_t>(chosen, 0, n);
  for (int64_t i = 0; i < chosen; ++i)
    std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(i) + random.below(static_cast<size_t>(n - i))]);
  all.resize(static_cast<size_t>(chosen));
  return all;
}

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

SparseMask drawBlocks(const SparsityPattern &pattern, int64_t high, int64_t wide, SparseMask mask, Random &random) {
  int64_t across = up(mask.columns(), wide), blocks = up(mask.rows(), high) * across;
  std::vector<int64_t> kept;
  if (pattern.independent) {
    for (int64_t block = 0; block < blocks; ++block)
      if (share(random) < pattern.density)
        kept.push_back(block);
  } else {
    kept =
        choose(blocks, static_cast<int64_t>(std::ceil(pattern.density * static_cast<double>(blocks) - 1e-9)), random);
  }
  for (int64_t block : kept)
    for (int64_t r = block / across * high; r < std::min(mask.rows(), (block / across + 1) * high); ++r)
      for (int64_t c = block % across * wide; c < std::min(mask.columns(), (block % across + 1) * wide); ++c)
        mask.set(r, c);
  return mask;
}

/// Groups of neighbours of a row.
SparseMask drawGroups(const SparsityPattern &pattern, SparseMask mask, Random &random) {
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t c = 0; c < mask.columns(); c += pattern.of)
      for (int64_t one : choose(pattern.of, pattern.kept, random))
        if (c + one < mask.columns())
          mask.set(r, c + one);
  return mask;
}

/// Squares with as many in each row as in each column: a band around the cylinder, rows and columns shuffled.
SparseMask drawSquares(const SparsityPattern &pattern, SparseMask mask, Random &random) {
  int64_t side = pattern.of;
  for (int64_t r = 0; r < mask.rows(); r += side)
    for (int64_t c = 0; c < mask.columns(); c += side) {
      auto rows = choose(side, side, random), columns = choose(side, side, random);
      for (int64_t i = 0; i < side; ++i)
        for (int64_t k = 0; k < pattern.kept; ++k) {
          int64_t row = r + rows[static_cast<size_t>(i)], column = c + columns[static_cast<size_t>((i + k) % side)];
          if (row < mask.rows() && column < mask.columns())
            mask.set(row, column);
        }
    }
  return mask;
}

SparseMask drawWindows(const SparsityPattern &pattern, SparseMask mask, Random &random) {
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t c = 0; c < mask.columns(); c += pattern.window) {
      double left = share(random);
      int64_t zeros = 0;
      while (zeros < pattern.window && (left -= pattern.histogram[static_cast<size_t>(zeros)]) >= 0)
        ++zeros;
      for (int64_t one : choose(pattern.window, pattern.window - zeros, random))
        if (c + one < mask.columns())
          mask.set(r, c + one);
    }
  return mask;
}

int64_t bitsFor(int64_t values) { // to tell so many apart
  int64_t bits = 0;
  while ((int64_t{1} << bits) < values)
    ++bits;
  return bits;
}

class Stream {
public:
  std::vector<bool> bits;
  size_t at = 0;
  void put(uint64_t value, int64_t width) {
    for (int64_t bit = 0; bit < width; ++bit)
      bits.push_back(bit < 64 && value >> bit & 1);
  }
  uint64_t get(int64_t width) {
    uint64_t value = 0;
    for (int64_t bit = 0; bit < width; ++bit, ++at)
      if (bits.at(at) && bit < 64)
        value |= uint64_t{1} << bit;
    return value;
  }
};

/// Elements in the order in which a format has them: blocks (of one element, unless stated) row behind row.
struct Blocks {
  int64_t high, wide, rows, columns, across, down;
  Blocks(const SparseFormat &format, int64_t rows, int64_t columns)
      : high(format.blockRows), wide(format.blockColumns), rows(rows), columns(columns), across(up(columns, wide)),
        down(up(rows, high)) {}
  bool inside(int64_t block, int64_t element) const {
    return row(block, element) < rows && column(block, element) < columns;
  }
  int64_t row(int64_t block, int64_t element) const { return block / across * high + element / wide; }
  int64_t column(int64_t block, int64_t element) const { return block % across * wide + element % wide; }
};

bool any(const SparseMask &mask, const Blocks &in, int64_t block) {
  for (int64_t e = 0; e < in.high * in.wide; ++e)
    if (in.inside(block, e) && mask.at(in.row(block, e), in.column(block, e)))
      return true;
  return false;
}

void putBlock(Stream &out, const SparseMask &mask, const Blocks &in, int64_t block, int64_t width) {
  for (int64_t e = 0; e < in.high * in.wide; ++e)
    out.put(in.inside(block, e) && mask.at(in.row(block, e), in.column(block, e)), width);
}

/// Places of blocks: their low bits are enough while no two neighbours are further apart. False: they are.
bool putCoordinates(Stream &out, const SparseMask &mask, const Blocks &in, const SparseFormat &format, int64_t width) {
  int64_t before = -1;
  for (int64_t block = 0; block < in.down * in.across; ++block)
    if (any(mask, in, block)) {
      if (bitsFor(block - before) > format.coordinateBits)
        return false;
      out.put(static_cast<uint64_t>(block), format.coordinateBits);
      putBlock(out, mask, in, block, width);
      before = block;
    }
  return true;
}

/// N:M with the place of each value in its group. False: a group holds more than N.
bool putGroups(Stream &out, const SparseMask &mask, const SparseFormat &format, int64_t width) {
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t c = 0; c < mask.columns(); c += format.of) {
      int64_t held = 0;
      for (int64_t i = 0; i < format.of && c + i < mask.columns(); ++i)
        if (mask.at(r, c + i)) {
          out.put(1, width);
          out.put(static_cast<uint64_t>(i), bitsFor(format.of));
          ++held;
        }
      if (held > format.kept)
        return false;
      for (; held < format.kept; ++held)
        out.put(0, width + bitsFor(format.of));
    }
  return true;
}

/// Pointers to the first block of each row, then columns and blocks. False: one of these numbers needs more bits.
bool putRows(Stream &out, const SparseMask &mask, const Blocks &in, const SparseFormat &format, int64_t width) {
  int64_t kept = 0;
  if (bitsFor(in.across) > format.coordinateBits)
    return false;
  for (int64_t row = 0; row <= in.down; ++row) {
    if (bitsFor(kept + 1) > format.pointerBits)
      return false;
    out.put(static_cast<uint64_t>(kept), format.pointerBits);
    for (int64_t column = 0; row < in.down && column < in.across; ++column)
      kept += any(mask, in, row * in.across + column);
  }
  for (int64_t block = 0; block < in.down * in.across; ++block)
    if (any(mask, in, block)) {
      out.put(static_cast<uint64_t>(block % in.across), format.coordinateBits);
      putBlock(out, mask, in, block, width);
    }
  return true;
}

/// How many zeros stand before a value; where they are too many to say, one of them is written as a value.
void putRunLengths(Stream &out, const SparseMask &mask, const SparseFormat &format, int64_t width) {
  int64_t run = 0, longest = (int64_t{1} << format.coordinateBits) - 1;
  for (int64_t r = 0; r < mask.rows(); ++r)
    for (int64_t c = 0; c < mask.columns(); ++c) {
      if (!mask.at(r, c) && run < longest) {
        ++run;
        continue;
      }
      out.put(static_cast<uint64_t>(run), format.coordinateBits);
      out.put(mask.at(r, c), width);
      run = 0;
    }
}

void getBlock(Stream &from, SparseMask &mask, const Blocks &in, int64_t block, int64_t width) {
  for (int64_t e = 0; e < in.high * in.wide; ++e)
    if (from.get(width) && in.inside(block, e))
      mask.set(in.row(block, e), in.column(block, e));
}

} // namespace

SparseMask::SparseMask(int64_t rows, int64_t columns, bool kept) : rows_(rows), columns_(columns) {
  words_.resize(static_cast<size_t>(rows * wordsOfRow()));
  if (kept)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        set(r, c);
}

int64_t SparseMask::count() const {
  int64_t sum = 0;
  for (uint64_t word : words_)
    sum += std::popcount(word);
  return sum;
}

SparseMask SparseMask::transposed() const {
  SparseMask other(columns_, rows_);
  for (int64_t r = 0; r < rows_; ++r)
    for (int64_t c = 0; c < columns_; ++c)
      if (at(r, c))
        other.set(c, r);
  return other;
}

SparseMask drawMask(const SparsityPattern &pattern, int64_t rows, int64_t columns, Random &random) {
  SparseMask mask(rows, columns);
  switch (pattern.kind) {
  case SparsityPattern::Kind::Dense:
    return SparseMask(rows, columns, true);
  case SparsityPattern::Kind::Unstructured:
    return drawBlocks(pattern, 1, 1, std::move(mask), random);
  case SparsityPattern::Kind::Block:
    return drawBlocks(pattern, pattern.blockRows, pattern.blockColumns, std::move(mask), random);
  case SparsityPattern::Kind::Structured:
    if (pattern.transposable)
      return drawSquares(pattern, std::move(mask), random);
    if (pattern.along == SparsityPattern::Along::Reduction)
      return drawGroups(pattern, std::move(mask), random);
    return drawGroups(pattern, SparseMask(columns, rows), random).transposed();
  case SparsityPattern::Kind::Banded:
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        mask.set(r, c, std::abs(r - c) <= pattern.band);
    return mask;
  case SparsityPattern::Kind::Histogram:
    return drawWindows(pattern, std::move(mask), random);
  case SparsityPattern::Kind::Mask:
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        mask.set(r, c, pattern.mask.at(static_cast<size_t>(r)).at(static_cast<size_t>(c)));
    return mask;
  }
  return mask;
}

std::optional<std::vector<bool>> encode(const SparseMask &mask, const SparseFormat &format, int64_t width) {
  Stream out;
  const Blocks in(format, mask.rows(), mask.columns());
  bool fits = true;
  switch (format.kind) {
  case SparseFormat::Kind::Dense:
    for (int64_t r = 0; r < mask.rows(); ++r)
      for (int64_t c = 0; c < mask.columns(); ++c)
        out.put(mask.at(r, c), width);
    break;
  case SparseFormat::Kind::Bitmask:
    for (int64_t block = 0; block < in.down * in.across; ++block)
      out.put(any(mask, in, block), 1);
    for (int64_t block = 0; block < in.down * in.across; ++block)
      if (any(mask, in, block))
        putBlock(out, mask, in, block, width);
    break;
  case SparseFormat::Kind::Coordinates:
    fits = putCoordinates(out, mask, in, format, width);
    break;
  case SparseFormat::Kind::Structured:
    fits = putGroups(out, mask, format, width);
    break;
  case SparseFormat::Kind::Rows:
    fits = putRows(out, mask, in, format, width);
    break;
  case SparseFormat::Kind::RunLength:
    putRunLengths(out, mask, format, width);
    break;
  }
  return fits ? std::optional(out.bits) : std::nullopt;
}

SparseMask decode(const std::vector<bool> &bits, const SparseFormat &format, int64_t width, int64_t rows,
                  int64_t columns) {
  Stream from{bits};
  SparseMask mask(rows, columns);
  Blocks in(format, rows, columns);
  auto more = [&] { return from.at < bits.size(); };
  switch (format.kind) {
  case SparseFormat::Kind::Dense:
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        mask.set(r, c, from.get(width) != 0);
    break;
  case SparseFormat::Kind::Bitmask: {
    std::vector<bool> there;
    for (int64_t block = 0; block < in.down * in.across; ++block)
      there.push_back(from.get(1) != 0);
    for (int64_t block = 0; block < in.down * in.across; ++block)
      if (there[static_cast<size_t>(block)])
        getBlock(from, mask, in, block, width);
    break;
  }
  case SparseFormat::Kind::Coordinates:
    for (int64_t block = -1; more();) {
      int64_t period = int64_t{1} << format.coordinateBits, low = static_cast<int64_t>(from.get(format.coordinateBits));
      int64_t next = (block + 1) / period * period + low;
      block = next > block ? next : next + period;
      getBlock(from, mask, in, block, width);
    }
    break;
  case SparseFormat::Kind::Structured:
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; c += format.of)
        for (int64_t i = 0; i < format.kept; ++i) {
          bool kept = from.get(width) != 0;
          auto place = static_cast<int64_t>(from.get(bitsFor(format.of)));
          if (kept)
            mask.set(r, c + place);
        }
    break;
  case SparseFormat::Kind::Rows: {
    std::vector<int64_t> pointers;
    for (int64_t row = 0; row <= in.down; ++row)
      pointers.push_back(static_cast<int64_t>(from.get(format.pointerBits)));
    for (int64_t row = 0; row < in.down; ++row)
      for (int64_t i = pointers[static_cast<size_t>(row)]; i < pointers[static_cast<size_t>(row) + 1]; ++i)
        getBlock(from, mask, in, row * in.across + static_cast<int64_t>(from.get(format.coordinateBits)), width);
    break;
  }
  case SparseFormat::Kind::RunLength:
    for (int64_t place = 0; more(); ++place) {
      place += static_cast<int64_t>(from.get(format.coordinateBits));
      if (from.get(width))
        mask.set(place / columns, place % columns);
    }
    break;
  }
  return mask;
}

} // namespace accord::simulator
