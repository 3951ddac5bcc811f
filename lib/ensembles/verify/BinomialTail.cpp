#include "lib/ensembles/verify/BinomialTail.h"
#include <bit>

namespace accord {
namespace {

using Wide = unsigned __int128;

/// digits * 2^power, digits of at most 64 bits; what does not fit is rounded up.
struct RoundedUp {
  uint64_t digits = 0;
  int64_t power = 0;

  static RoundedUp from(Wide value, int64_t power) {
    bool more = false;
    while (value >> 64) {
      int shift = 64 - std::countl_zero(static_cast<uint64_t>(value >> 64));
      more |= (value & ((Wide{1} << shift) - 1)) != 0;
      value = (value >> shift) + more;
      more = false;
      power += shift;
    }
    return {static_cast<uint64_t>(value), power};
  }
  /// With the first bit set, for the most digits of what follows.
  RoundedUp full() const {
    int shift = digits ? std::countl_zero(digits) : 0;
    return {digits << shift, power - shift};
  }
  RoundedUp times(const RoundedUp &other) const {
    return from(Wide{digits} * other.digits, power + other.power).full();
  }
  RoundedUp timesOver(uint64_t factor, uint64_t divisor) const {
    RoundedUp product = from(Wide{digits} * factor, power).full();
    Wide dividend = Wide{product.digits} << 63;
    return from(dividend / divisor + (dividend % divisor != 0), product.power - 63).full();
  }
  RoundedUp plus(const RoundedUp &other) const {
    const RoundedUp &more = power >= other.power ? *this : other;
    const RoundedUp &less = power >= other.power ? other : *this;
    int64_t apart = more.power - less.power;
    if (more.digits == 0 || less.digits == 0)
      return more.digits ? more : less;
    if (apart >= 63) // both are full: the lesser is below one of the greater's last digits
      return from(Wide{more.digits} + 1, more.power).full();
    return from((Wide{more.digits} << apart) + less.digits, less.power).full();
  }
};

/// Never above the value: its last digit is 2^power.
Rational scaled(const Rational &value, int64_t power) {
  Rational factor = 1, two = 2;
  for (uint64_t n = std::abs(power); n; n >>= 1, two = two * two)
    if (n & 1)
      factor = factor * two;
  return power < 0 ? value / factor : value * factor;
}

bool atMost(const RoundedUp &sum, const Rational &delta) {
  if (sum.digits == 0)
    return true;
  if (delta.bits() > 60'000)
    return false;
  if (sum.power < -65'000) // a fraction of so few bits is more
    return true;
  Rational digits = Rational(llvm::DynamicAPInt(int64_t(sum.digits >> 1)), llvm::DynamicAPInt(1)) * Rational(2) +
                    Rational(sum.digits & 1);
  return scaled(digits, sum.power) <= delta;
}

} // namespace

std::optional<bool> tailAtMost(int64_t wrong, int64_t samples, const Rational &share, const Rational &delta) {
  if (delta.sign() <= 0 || share.sign() < 0 || samples <= 0 || wrong < 0)
    return false;
  if (wrong >= samples)
    return delta >= Rational(1);
  if (share >= Rational(1))
    return true;
  if (wrong > kMaxTerms)
    return std::nullopt;
  // With a lesser share the tail is no less.
  auto whole = Rational(share.denominator(), llvm::DynamicAPInt(1)).toInt64();
  auto part = Rational(share.numerator(), llvm::DynamicAPInt(1)).toInt64();
  if (!whole || !part) {
    whole = int64_t{1} << 62;
    part = (share * Rational(*whole)).floor().toInt64();
  }
  if (*part == 0)
    return delta >= Rational(1);
  const uint64_t p = *part, q = *whole - *part, n = samples, last = wrong;
  RoundedUp term{1, 0}, base = RoundedUp{1, 0}.timesOver(q, *whole);
  term = term.full();
  for (uint64_t left = n; left; left >>= 1, base = base.times(base)) // q^n
    if (left & 1)
      term = term.times(base);
  RoundedUp sum = term;
  for (uint64_t i = 1; i <= last; ++i) {
    term = term.timesOver(n - i + 1, i).timesOver(p, q);
    sum = sum.plus(term);
  }
  return atMost(sum, delta);
}

} // namespace accord
