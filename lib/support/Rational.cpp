#include "lib/support/Rational.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <bit>
#include <cmath>
#include <limits>

namespace accord {
using llvm::APInt;
using llvm::DynamicAPInt;

static bool isSmall(const DynamicAPInt &v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

static DynamicAPInt ofDigits(llvm::StringRef digits) {
  if (digits.size() <= 18) {
    int64_t small = 0;
    digits.getAsInteger(10, small);
    return DynamicAPInt(small);
  }
  return DynamicAPInt(APInt(APInt::getSufficientBitsNeeded(digits, 10) + 1, digits, 10));
}

std::string digitsOf(const DynamicAPInt &value) {
  if (isSmall(value))
    return std::to_string(int64fromDynamicAPInt(value));
  std::string text;
  llvm::raw_string_ostream out(text);
  out << value;
  return text;
}

static APInt magnitude(const DynamicAPInt &value) {
  std::string digits = digitsOf(value);
  llvm::StringRef text = llvm::StringRef(digits).ltrim('-');
  return APInt(APInt::getSufficientBitsNeeded(text, 10) + 1, text, 10);
}

unsigned bitsOf(const DynamicAPInt &value) {
  if (isSmall(value)) {
    uint64_t size = int64fromDynamicAPInt(value);
    return std::bit_width(value < 0 ? -size : size);
  }
  return magnitude(value).getActiveBits();
}

Rational::Rational(const DynamicAPInt &n, const DynamicAPInt &d) : num(n), den(d) {
  if (den < 0) {
    num = -num;
    den = -den;
  }
  if (den == 1)
    return;
  DynamicAPInt common = gcd(llvm::abs(num), den);
  if (common > 1) {
    num /= common;
    den /= common;
  }
}

std::optional<Rational> Rational::parse(llvm::StringRef text) {
  std::string digits;
  int64_t scale = 0;
  bool point = false;
  size_t i = 0;
  bool negative = text.consume_front("-");
  for (; i < text.size() && (llvm::isDigit(text[i]) || text[i] == '.' || text[i] == '_'); ++i) {
    if (text[i] == '.') {
      if (point)
        return std::nullopt;
      point = true;
    } else if (text[i] != '_') {
      digits += text[i];
      scale -= point;
    }
  }
  if (digits.empty() || digits.size() > 2000)
    return std::nullopt;
  if (i < text.size()) {
    int64_t exponent = 0;
    llvm::StringRef rest = text.substr(i);
    if (!rest.consume_front("e") && !rest.consume_front("E"))
      return std::nullopt;
    rest.consume_front("+");
    if (rest.getAsInteger(10, exponent) || exponent > 2000 || exponent < -2000)
      return std::nullopt;
    scale += exponent;
  }
  DynamicAPInt value = ofDigits(digits);
  if (negative)
    value = -value;
  return Rational(value, DynamicAPInt(1)) * Rational(10).power(scale);
}

Rational Rational::ofDouble(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  int64_t whole = std::ldexp(mantissa, 53);
  return whole * Rational(2).power(exponent - 53);
}

std::optional<int64_t> Rational::toInt64() const {
  if (!isInteger() || !isSmall(num))
    return std::nullopt;
  return int64fromDynamicAPInt(num);
}

double Rational::toDouble() const {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (num >= -kExact && num <= kExact && den <= kExact)
    return 1.0 * int64fromDynamicAPInt(num) / int64fromDynamicAPInt(den);
  // A quotient of at least 66 bits with the remainder folded into its last bit rounds like the
  // exact value.
  APInt n = magnitude(num), d = magnitude(den);
  int above = n.getActiveBits(), below = d.getActiveBits(), shift = 66 - (above - below);
  int width = std::max(above, below) + std::abs(shift) + 70;
  n = n.zextOrTrunc(width);
  d = d.zextOrTrunc(width);
  (shift >= 0 ? n : d) <<= std::abs(shift);
  APInt quotient, remainder;
  APInt::udivrem(n, d, quotient, remainder);
  if (!remainder.isZero())
    quotient.setBit(0);
  llvm::APFloat result(llvm::APFloat::IEEEdouble());
  result.convertFromAPInt(quotient, /*IsSigned=*/false, llvm::APFloat::rmNearestTiesToEven);
  double value = std::ldexp(result.convertToDouble(), -shift);
  return num < 0 ? -value : value;
}

unsigned Rational::bits() const { return std::max(bitsOf(num), bitsOf(den)); }

std::optional<std::string> Rational::decimal(unsigned maxDigits) const {
  unsigned places = 0;
  DynamicAPInt n = num;
  if (den != 1) {
    if (!isSmall(den))
      return std::nullopt;
    int64_t d = int64fromDynamicAPInt(den);
    unsigned twos = 0, fives = 0;
    for (; d % 2 == 0; d /= 2)
      ++twos;
    for (; d % 5 == 0; d /= 5)
      ++fives;
    if (d != 1)
      return std::nullopt;
    places = std::max(twos, fives);
    n = (*this * Rational(10).power(places)).num;
  }
  std::string digits = digitsOf(n);
  bool negative = digits[0] == '-';
  if (negative)
    digits.erase(0, 1);
  llvm::StringRef significant = llvm::StringRef(digits).ltrim('0').rtrim('0');
  if (significant.size() > maxDigits)
    return std::nullopt;
  std::string sign = negative ? "-" : "";
  if (digits.size() > places + 21) // 1e30 and not thirty zeros
    return sign + significant.str() + "e" + std::to_string(digits.size() - places - significant.size());
  if (places == 0)
    return sign + digits;
  if (digits.size() <= places)
    digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, ".");
  return sign + llvm::StringRef(digits).rtrim('0').rtrim('.').str();
}

std::string Rational::print() const {
  if (auto text = decimal(24))
    return *text;
  return isInteger() ? digitsOf(num) : digitsOf(num) + "/" + digitsOf(den);
}

Rational Rational::power(int64_t n) const {
  Rational result(1), square = *this;
  for (uint64_t k = n < 0 ? -n : n; k; k >>= 1) {
    if (k & 1)
      result = result * square;
    if (k > 1)
      square = square * square;
  }
  return n < 0 ? 1 / result : result;
}

Rational Rational::floor() const { return Rational(floorDiv(num, den), DynamicAPInt(1)); }
Rational Rational::ceil() const { return Rational(ceilDiv(num, den), DynamicAPInt(1)); }

Rational operator+(const Rational &a, const Rational &b) {
  if (a.den == b.den)
    return Rational(a.num + b.num, a.den);
  return Rational(a.num * b.den + b.num * a.den, a.den * b.den);
}
Rational operator-(const Rational &a, const Rational &b) {
  if (a.den == b.den)
    return Rational(a.num - b.num, a.den);
  return Rational(a.num * b.den - b.num * a.den, a.den * b.den);
}
Rational operator*(const Rational &a, const Rational &b) { return Rational(a.num * b.num, a.den * b.den); }
Rational operator/(const Rational &a, const Rational &b) { return Rational(a.num * b.den, a.den * b.num); }

std::strong_ordering operator<=>(const Rational &a, const Rational &b) {
  DynamicAPInt left = a.num * b.den, right = b.num * a.den;
  return left < right   ? std::strong_ordering::less
         : left > right ? std::strong_ordering::greater
                        : std::strong_ordering::equal;
}

} // namespace accord
