#include "lib/prediction/StudentDistribution.h"
#include <cmath>

namespace accord {
namespace {

/// The continued fraction of the incomplete beta function (Abramowitz, Stegun, 26.5.8), by Lentz' method.
double betaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kTerms = 10'000;
  auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m <= kTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15)
      break;
  }
  return fraction;
}

/// The regularized incomplete beta function.
double betaShare(double a, double b, double x) {
  if (x <= 0 || x >= 1)
    return x <= 0 ? 0 : 1;
  const double logarithm = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(1 - x);
  if (x < (a + 1) / (a + b + 2))
    return std::exp(logarithm) * betaFraction(a, b, x) / a;
  return 1 - std::exp(logarithm) * betaFraction(b, a, 1 - x) / b;
}

} // namespace

/// Both tails together are the share of the beta distribution of freedom / 2 and 1/2 below freedom / (freedom + t^2).
double studentTail(double t, unsigned freedom) {
  return betaShare(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2;
}

/// By bisection of the tail: it falls everywhere, from 1/2 at 0. The upper end is doubled until it lies behind the
/// number, which for one degree of freedom may be far away.
double studentQuantile(double p, unsigned freedom) {
  if (p < 0.5)
    return -studentQuantile(1 - p, freedom);
  double low = 0, high = 1;
  while (studentTail(high, freedom) > 1 - p && high < 1e150)
    high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = low + (high - low) / 2;
    (studentTail(middle, freedom) > 1 - p ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

} // namespace accord
