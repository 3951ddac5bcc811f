// Products and sums of counts that stop at the largest value instead of overflowing.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include <cstdint>
#include <limits>

namespace accord {

/// The largest count; a result that reaches it means "at least this".
constexpr Count kMaxCount = ~(Count(1) << 127);

/// Neither argument is negative.
inline int64_t saturatingMultiply64(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}
inline Count saturatingAdd(Count a, Count b) { return a > kMaxCount - b ? kMaxCount : a + b; }
inline Count saturatingMultiply(Count a, Count b) {
  // Unsigned: the signed check needs a run-time library that not every compiler links.
  unsigned __int128 x = a, y = b, product = x * y; // exact where both have 64 bits
  constexpr uint64_t kNarrow = std::numeric_limits<uint64_t>::max();
  bool over = (x > kNarrow || y > kNarrow) && __builtin_mul_overflow(x, y, &product);
  return over || product >> 127 ? kMaxCount : Count(product);
}
/// `by` is at least 1.
inline int64_t ceilDivide64(int64_t a, int64_t by) { return a / by + (a % by != 0); }

} // namespace accord
