// Normally distributed numbers from even ones.
#pragma once
#include "lib/support/SplitMix.h"
#include <cmath>
#include <numbers>

namespace accord::jobs {

/// A number of mean 0 and variance 1 (Box and Muller, Annals of Mathematical Statistics 29, 1958). Takes two of
/// `random`.
inline double drawNormal(SplitMix &random) {
  const double radius = std::sqrt(-2 * std::log1p(-random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

} // namespace accord::jobs
