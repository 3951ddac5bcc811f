// Integers of a simplex method: of 128 bits while they suffice, else of any size.
#pragma once
#include "lib/support/Rational.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DynamicAPInt.h"
#include <array>
#include <bit>
#include <cmath>

namespace accord {

/// Of any size.
struct LargeIntegers {
  using Integer = llvm::DynamicAPInt;

  explicit LargeIntegers(const Integer &determinant) : determinant(determinant) {}
  /// to = (to * next - change * from) / determinant, which leaves no remainder. False: too large.
  bool replace(Integer &to, const Integer &from, const Integer &change, const Integer &next) const {
    to = from == 0 || change == 0 ? to * next / determinant : (to * next - change * from) / determinant;
    return true;
  }
  /// Sign of a * b - c * d.
  static int compare(const Integer &a, const Integer &b, const Integer &c, const Integer &d) {
    Integer left = a * b, right = c * d;
    return left < right ? -1 : left > right;
  }
  static llvm::DynamicAPInt large(const Integer &value) { return value; }
  static double toDouble(const Integer &value) { return Rational(value, Integer(1)).toDouble(); }

private:
  const Integer &determinant;
};

/// Entries below 2^80 in size. An exact quotient is a product with the inverse of the divisor's odd
/// part modulo 2^128 (Jebelean, Journal of Symbolic Computation 15, 1993).
struct ShortIntegers {
  using Integer = __int128;
  using Unsigned = unsigned __int128;
  static constexpr double kMax = 0x1p80;

  explicit ShortIntegers(Integer determinant) : size(std::fabs(double(determinant))) {
    const uint64_t low = determinant;
    zeros = low ? std::countr_zero(low) : 64;
    const Unsigned odd = determinant >> zeros;
    inverse = odd;
    for (int i = 0; i < 7; ++i) // right in 3 bits, then in twice as many each time
      inverse *= 2 - odd * inverse;
  }
  bool replace(Integer &to, Integer from, Integer change, Integer next) const {
    double max = std::fabs(double(to)) * std::fabs(double(next)) + std::fabs(double(change)) * std::fabs(double(from));
    if (max >= kMax * size || zeros > 30)
      return false;
    Unsigned product = Unsigned(to) * Unsigned(next) - Unsigned(change) * Unsigned(from);
    Unsigned quotient = (product >> zeros) * inverse; // right but for its first `zeros` bits
    to = Integer(quotient << zeros) >> zeros;
    return true;
  }
  static int compare(Integer a, Integer b, Integer c, Integer d) {
    // Most are far apart; of the others both products are as large integers.
    double left = double(a) * b, right = double(c) * d;
    if (std::fabs(left - right) > 1e-12 * (std::fabs(left) + std::fabs(right)))
      return left < right ? -1 : 1;
    return LargeIntegers::compare(large(a), large(b), large(c), large(d));
  }
  static double toDouble(Integer value) { return value; }
  static llvm::DynamicAPInt large(Integer value) {
    const int64_t small = value;
    if (small == value)
      return llvm::DynamicAPInt(small);
    const std::array<uint64_t, 2> words{uint64_t(value), uint64_t(value >> 64)};
    return llvm::DynamicAPInt(llvm::APInt(128, llvm::ArrayRef<uint64_t>(words)));
  }

private:
  double size;
  int zeros = 0;
  Unsigned inverse = 1;
};

} // namespace accord
