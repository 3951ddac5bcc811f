#include "lib/planning/analysis/MaxPlus.h"
#include <algorithm>

namespace accord {

MaxPlusMatrix MaxPlusMatrix::identity(unsigned size) {
  MaxPlusMatrix m(size);
  for (unsigned i = 0; i < size; ++i)
    m.at(i, i) = 0;
  return m;
}

MaxPlusMatrix operator*(const MaxPlusMatrix &a, const MaxPlusMatrix &b) {
  unsigned n = a.size_;
  MaxPlusMatrix c(n);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned k = 0; k < n; ++k) {
      int64_t left = a.at(i, k);
      if (left == MaxPlusMatrix::kNever)
        continue;
      for (unsigned j = 0; j < n; ++j)
        if (int64_t right = b.at(k, j); right != MaxPlusMatrix::kNever)
          c.at(i, j) = std::max(c.at(i, j), left + right);
    }
  return c;
}

MaxPlusMatrix MaxPlusMatrix::power(int64_t n) const {
  MaxPlusMatrix result = identity(size_), square = *this;
  for (; n > 0; n >>= 1) {
    if (n & 1)
      result = square * result;
    if (n > 1)
      square = square * square;
  }
  return result;
}

} // namespace accord
