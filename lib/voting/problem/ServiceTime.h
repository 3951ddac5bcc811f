// How long a stub of a member takes for one input.
#pragma once
#include "lib/support/SplitMix.h"
#include <cmath>
#include <numbers>

namespace accord::voting {

/// A constant plus a lognormal time, in milliseconds: constant + median * exp(sigma * Z), Z standard normal.
struct ServiceTime {
  double constant = 0, median = 0, sigma = 0;

  bool isNone() const { return constant == 0 && median == 0; }
  /// The time of a request, which follows from seed and number alone, by the transform of Box and Muller (Ann. Math.
  /// Stat. 29, 1958).
  double of(uint64_t seed, uint64_t number) const {
    if (median == 0)
      return constant;
    SplitMix random(SplitMix(seed ^ (number * 0x9e3779b97f4a7c15ull)).next());
    const double u = 1 - random.unit(), v = random.unit();
    return constant + median * std::exp(sigma * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }
};

} // namespace accord::voting
