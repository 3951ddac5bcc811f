#include "lib/support/Units.h"
#include <cmath>

namespace accord {

Picoseconds Picoseconds::ceil(Seconds s) {
  return {static_cast<int64_t>(std::ceil(s.value * 1e12))};
}

} // namespace accord
