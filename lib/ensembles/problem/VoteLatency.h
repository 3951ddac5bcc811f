// How long a vote takes, as plain data.
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>
#include <vector>

namespace accord {

/// "p99 = 20 ms": just this share is there after so long.
struct TimeQuantile {
  Rational share;   ///< above 0, at most 1
  int64_t time = 0; ///< picoseconds
  bool operator==(const TimeQuantile &) const = default;
};

/// A latency by some of its quantiles: shares and times ascend strictly, and nothing else is known of it. So a
/// distribution that is measured and one that is computed from a model are stated alike. None: it takes no time.
using TimeQuantiles = std::vector<TimeQuantile>;

} // namespace accord
