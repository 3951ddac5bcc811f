// Dense arrays of doubles in row-major order, for computing small things plainly.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cassert>
#include <cstdint>
#include <vector>

namespace accord::interpret {

using Shape = llvm::SmallVector<int64_t, 4>;
using Index = llvm::SmallVector<int64_t, 8>;
using IndexRef = llvm::ArrayRef<int64_t>;

inline int64_t volumeOf(llvm::ArrayRef<int64_t> shape) {
  int64_t volume = 1;
  for (int64_t extent : shape)
    volume *= extent;
  return volume;
}

struct Array {
  Shape shape;
  std::vector<double> data;

  Array() = default;
  explicit Array(llvm::ArrayRef<int64_t> shape, double fill = 0) : shape(shape), data(volumeOf(shape), fill) {}

  int64_t rank() const { return shape.size(); }
  int64_t size() const { return data.size(); }
  size_t offset(llvm::ArrayRef<int64_t> index) const {
    assert(index.size() == shape.size());
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      assert(index[d] >= 0 && index[d] < shape[d]);
      at = at * shape[d] + index[d];
    }
    return at;
  }
  double &operator()(llvm::ArrayRef<int64_t> index) { return data[offset(index)]; }
  double operator()(llvm::ArrayRef<int64_t> index) const { return data[offset(index)]; }
  /// A whole number stored as a double.
  int64_t integer(llvm::ArrayRef<int64_t> index) const { return static_cast<int64_t>((*this)(index)); }
};

/// Calls `visit(index)` for every index of a shape, the last dimension fastest.
template <typename Visit> void forEach(llvm::ArrayRef<int64_t> shape, Visit visit) {
  if (volumeOf(shape) == 0)
    return;
  Index index(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(index));
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

/// The index of an operand that was broadcast (numpy, right-aligned) to the shape that `index` walks.
inline Index broadcastIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  Index result(index.take_back(shape.size()));
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1)
      result[d] = 0;
  return result;
}

} // namespace accord::interpret
