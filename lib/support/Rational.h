// Exact fractions of any size, always in lowest terms with a positive denominator.
#pragma once
#include "llvm/ADT/DynamicAPInt.h"
#include "llvm/ADT/StringRef.h"
#include <compare>
#include <optional>
#include <string>

namespace accord {

class Rational {
public:
  /// Numerators and denominators of more bits than this are refused by whoever computes with user
  /// input.
  static constexpr unsigned kMaxBits = 8192;

  Rational(int64_t n = 0) : num(n), den(1) {}
  Rational(const llvm::DynamicAPInt &n, const llvm::DynamicAPInt &d);
  /// "12", "1_000", "1.5", "2e-3", "6.25E+10"; nothing if it is no number or its exponent is absurd
  /// (> 2000 digits).
  static std::optional<Rational> parse(llvm::StringRef text);
  /// Exactly the value of a finite double.
  static Rational ofDouble(double value);

  const llvm::DynamicAPInt &numerator() const { return num; }
  const llvm::DynamicAPInt &denominator() const { return den; }
  bool isInteger() const { return den == 1; }
  bool isZero() const { return num == 0; }
  int sign() const { return num == 0 ? 0 : num < 0 ? -1 : 1; }
  std::optional<int64_t> toInt64() const; ///< nothing if not an integer that fits
  double toDouble() const;                ///< nearest double (infinite beyond its range)
  unsigned bits() const;                  ///< of the longer of numerator and denominator
  /// Exact decimal ("0.125", "1500000") if it has one of at most `maxDigits` significant digits.
  std::optional<std::string> decimal(unsigned maxDigits = 17) const;
  /// Exact: a decimal if there is a short one, else "1/3".
  std::string print() const;

  Rational power(int64_t n) const; ///< of 0 only for n >= 0
  Rational floor() const;
  Rational ceil() const;

  friend Rational operator+(const Rational &a, const Rational &b);
  friend Rational operator-(const Rational &a, const Rational &b);
  friend Rational operator*(const Rational &a, const Rational &b);
  friend Rational operator/(const Rational &a, const Rational &b); ///< b must not be zero
  friend Rational operator-(const Rational &a) { return Rational(0) - a; }
  friend bool operator==(const Rational &a, const Rational &b) { return a.num == b.num && a.den == b.den; }
  friend std::strong_ordering operator<=>(const Rational &a, const Rational &b);

private:
  llvm::DynamicAPInt num, den;
};

/// Bits of |value|; the decimal digits of a value.
unsigned bitsOf(const llvm::DynamicAPInt &value);
std::string digitsOf(const llvm::DynamicAPInt &value);

} // namespace accord
