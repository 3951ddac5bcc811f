#include "lib/support/ClopperPearson.h"
#include <algorithm>
#include <bit>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>

namespace accord {
namespace {

using Wide = unsigned __int128;

/// A positive number mantissa * 2^exponent, or 0, of which every operation rounds up: what is
/// computed is never below what exact arithmetic gives. The first bit of a mantissa is set.
struct Above {
  uint64_t mantissa = 0;
  int64_t exponent = 0;

  static Above of(Wide value, int64_t exponent = 0) {
    if (value == 0)
      return {};
    uint64_t high = value >> 64, low = value;
    int zeros = high ? std::countl_zero(high) : 64 + std::countl_zero(low);
    value <<= zeros;
    high = value >> 64, low = value;
    Above result{high, exponent + 64 - zeros};
    if (low != 0 && ++result.mantissa == 0)
      result = {uint64_t{1} << 63, result.exponent + 1};
    return result;
  }
  /// A double that was rounded a few times, made larger than what it stands for.
  static Above ofDouble(double value) {
    int exponent = 0;
    double mantissa = std::frexp(value * (1 + 1e-14), &exponent);
    return of(std::ceil(std::ldexp(mantissa, 60)), exponent - 60);
  }
  /// The first bits of a positive fraction, cut: never above it.
  static Above below(const Rational &value) {
    int64_t above = bitsOf(value.numerator()), below = bitsOf(value.denominator()), shift = 62 + below - above;
    return of(*(value * Rational(2).power(shift)).floor().toInt64(), -shift);
  }

  friend Above operator*(Above a, Above b) { return of(Wide{a.mantissa} * b.mantissa, a.exponent + b.exponent); }
  friend Above operator*(Above a, uint64_t b) { return of(Wide{a.mantissa} * b, a.exponent); }
  friend Above operator/(Above a, uint64_t b) {
    Wide shifted = Wide{a.mantissa} << 63;
    return of(shifted / b + 1, a.exponent - 63);
  }
  friend Above operator+(Above a, Above b) {
    if (a.mantissa == 0 || b.mantissa == 0)
      return a.mantissa ? a : b;
    if (a < b)
      std::swap(a, b);
    int64_t apart = a.exponent - b.exponent;
    Wide less = apart < 127 ? (Wide{b.mantissa} << 63) >> apart : 0;
    return of((Wide{a.mantissa} << 63) + less + 1, a.exponent - 63);
  }
  friend bool operator<(Above a, Above b) {
    if (a.mantissa == 0 || b.mantissa == 0)
      return a.mantissa < b.mantissa;
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.mantissa < b.mantissa;
  }
};

Above power(Above base, uint64_t n) {
  Above result = Above::of(1);
  for (; n; n >>= 1, base = base * base)
    if (n & 1)
      result = result * base;
  return result;
}

/// A share p = part / whole of wrong ones, and how likely few of n are.
struct Tail {
  uint64_t samples, part, whole;

  uint64_t rest() const { return whole - part; }

  /// At least P(X = x), 0 < part < whole.
  Above exactly(uint64_t x) const {
    // Factors up to here are multiplied one by one; beyond, factorials are bounded within 1e-9.
    constexpr uint64_t kFactors = 4096;
    uint64_t other = samples - x;
    Above p = Above::of(part) / whole, q = Above::of(rest()) / whole;
    uint64_t few = std::min(x, other);
    if (few <= kFactors) {
      Above result = x <= other ? power(q, other) : power(p, x);
      for (uint64_t i = 1; i <= few; ++i)
        result = result * (x <= other ? p : q) * (samples - i + 1) / i;
      return result;
    }
    // n! = sqrt(2 pi n) (n/e)^n e^r with 1/(12n+1) < r < 1/(12n) (Robbins, American Mathematical
    // Monthly 62, 1955); e^-y < 1 - y + y^2/2.
    double n = samples, a = x, b = other;
    double y = 1 / (12 * a + 1) + 1 / (12 * b + 1) - 1 / (12 * n);
    double root = std::sqrt(n / a / b / (2 * 3.141592653589793));
    return Above::ofDouble(root * (1 - y + y * y / 2)) * power(p * samples / x, x) * power(q * samples / other, other);
  }

  /// At least P(X <= x); 1 where p <= x / samples.
  Above atMost(uint64_t x) const {
    if (Wide{samples} * part <= Wide{x} * whole)
      return Above::of(1);
    if (part == whole)
      return {};
    Above term = exactly(x), sum = term;
    constexpr int kMaxTerms = 65536;
    for (int terms = 0; x > 0; --x, ++terms) {
      // The next term is r times this one, and r only falls: what is left is below a geometric sum.
      if (terms == kMaxTerms || term.exponent < sum.exponent - 90) {
        Wide gap = (Wide{samples} + 1) * part - Wide{x} * whole;
        int shift = 0;
        for (; gap >> 64; gap >>= 1)
          ++shift;
        Above left = term * x * rest() / gap;
        left.exponent -= shift;
        return sum + left;
      }
      term = term * x * rest() / (samples - x + 1) / part;
      sum = sum + term;
    }
    return sum;
  }
};

/// Near the limit, or no number.
double guess(uint64_t wrong, uint64_t samples, double delta) {
  using namespace boost::math::policies;
  using Quiet = policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
                       evaluation_error<ignore_error>, rounding_error<ignore_error>, promote_double<false>>;
  if (samples > 1'000'000'000'000 || !(delta > 1e-300))
    return NAN;
  double a = wrong, b = samples - wrong;
  return boost::math::ibetac_inv(a + 1, b, delta, Quiet());
}

} // namespace

Rational upperLimit(int64_t wrong, int64_t samples, const Rational &delta) {
  wrong = std::max<int64_t>(wrong, 0);
  if (samples <= 0 || wrong >= samples || delta.sign() <= 0)
    return 1;
  Above max = Above::below(delta);
  max.mantissa -= max.mantissa >> 30; // room for who sums up in another order
  max = Above::of(max.mantissa, max.exponent);
  uint64_t x = wrong, n = samples;
  double all = n, seen = x / all;
  double near = guess(x, n, delta.toDouble());
  if (!(near > seen && near < 1))
    near = std::min(0.999, std::max(seen, 1 / all));
  uint64_t whole = 10'000'000;
  while (std::min(near, 1 - near) * whole < 1e6 && whole < 1'000'000'000'000'000'000)
    whole *= 10;
  auto holds = [&](uint64_t part) { return !(max < Tail{n, part, whole}.atMost(x)); };
  // The least that holds is in (fails, enough].
  uint64_t part = near * whole;
  uint64_t fails = 0, enough = whole, step = 1;
  if (holds(part)) {
    for (enough = part; enough > step && holds(enough - step); step *= 2)
      enough -= step;
    fails = enough > step ? enough - step : 0;
  } else {
    for (fails = part; fails + step < whole && !holds(fails + step); step *= 2)
      fails += step;
    enough = std::min(fails + step, whole);
  }
  while (enough - fails > 1) {
    uint64_t middle = fails + (enough - fails) / 2;
    (holds(middle) ? enough : fails) = middle;
  }
  return Rational(enough) / Rational(whole);
}

Rational lowerLimit(int64_t wrong, int64_t samples, const Rational &delta) {
  wrong = std::max<int64_t>(wrong, 0);
  if (wrong > samples)
    wrong = samples;
  return Rational(1) - upperLimit(samples - wrong, samples, delta);
}

} // namespace accord
