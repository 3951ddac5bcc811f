#include "lib/support/Units.h"
#include <cmath>

namespace accord {

Picoseconds Picoseconds::ceil(Seconds s) {
  double product = s.value * 1e12;
  // 1e-6 is no double, so 1 us * 1e12 may come out one rounding error above 1000000: that is still
  // 1000000 ps.
  double whole = std::nearbyint(product);
  if (std::fabs(product - whole) <= std::fabs(product) * 0x1p-50)
    return {static_cast<int64_t>(whole)};
  return {static_cast<int64_t>(std::ceil(product))};
}

} // namespace accord
