// Matrices over (max, +): longest paths as linear algebra.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accord {

/// Square matrix; `kNever` is the zero of max-plus (no path). Entries are path lengths >= 0.
class MaxPlusMatrix {
public:
  static constexpr int64_t kNever = INT64_MIN;
  explicit MaxPlusMatrix(unsigned size) : size_(size), cells_(std::size_t{size} * size, kNever) {}
  static MaxPlusMatrix identity(unsigned size);
  unsigned size() const { return size_; }
  int64_t &at(unsigned to, unsigned from) { return cells_[std::size_t{to} * size_ + from]; }
  int64_t at(unsigned to, unsigned from) const { return cells_[std::size_t{to} * size_ + from]; }
  /// (A*B)(i,j) = max over k of A(i,k) + B(k,j): B first, then A.
  friend MaxPlusMatrix operator*(const MaxPlusMatrix &a, const MaxPlusMatrix &b);
  MaxPlusMatrix power(int64_t n) const; ///< n >= 0, O(size^3 log n)
  friend bool operator==(const MaxPlusMatrix &, const MaxPlusMatrix &) = default;

private:
  unsigned size_;
  std::vector<int64_t> cells_;
};

} // namespace accord
