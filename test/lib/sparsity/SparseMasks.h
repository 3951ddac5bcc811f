// Zeros drawn one by one, and tensors written to a stream of bits: what the simulator of sparse arrays works on.
// Nothing here is a formula: what a share, a mean or a size is follows from the elements.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "test/support/Random.h"
#include <bit>
#include <optional>

namespace accord::simulator {

/// Which elements of a matrix are not zero. A row is one vector along the reduction: of Y = X W, a row of X or a column
/// of W.
class SparseMask {
public:
  SparseMask(int64_t rows, int64_t columns, bool kept = false);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool at(int64_t row, int64_t column) const { return words_[place(row, column)] >> (column % 64) & 1; }
  void set(int64_t row, int64_t column, bool kept = true) {
    uint64_t bit = uint64_t{1} << (column % 64);
    uint64_t &word = words_[place(row, column)];
    word = kept ? word | bit : word & ~bit;
  }
  /// Elements that are not zero.
  int64_t count() const;
  SparseMask transposed() const;
  /// Of 64 neighbours of a row, from a multiple of 64 on; those outside of the row are zero.
  uint64_t word(int64_t row, int64_t index) const { return words_[static_cast<size_t>(row * wordsOfRow() + index)]; }
  int64_t wordsOfRow() const { return (columns_ + 63) / 64; }
  bool operator==(const SparseMask &) const = default;

private:
  size_t place(int64_t row, int64_t column) const { return static_cast<size_t>(row * wordsOfRow() + column / 64); }
  int64_t rows_, columns_;
  std::vector<uint64_t> words_;
};

/// A matrix with these zeros. Unstructured: ceil(density * elements) of them anywhere, or each by itself; blocks alike,
/// by block; N:M in each whole or last, shorter group of neighbours along the reduction, or of rows, or (transposable)
/// of both; windows of a histogram along the reduction.
SparseMask drawMask(const SparsityPattern &pattern, int64_t rows, int64_t columns, fuzz::Random &random);

/// The matrix written bit by bit, row behind row; values that are not zero are ones of `elementBits`. Nothing if the
/// format cannot hold it: a group of `Structured` with more than it keeps, a coordinate that does not fit.
std::optional<std::vector<bool>> encode(const SparseMask &mask, const SparseFormat &format, int64_t elementBits);

/// What was written.
SparseMask decode(const std::vector<bool> &bits, const SparseFormat &format, int64_t elementBits, int64_t rows,
                  int64_t columns);

} // namespace accord::simulator
