// An exact number with a dimension, as written in the source: 940 MHz, 16 GiB, 64 B/cycle, 4.10
// USD/h.
#pragma once
#include "lib/support/Dimension.h"
#include "lib/support/Rational.h"
#include "lib/support/Result.h"
#include <string>
#include <vector>

namespace accord {

/// `value` is in base units: second, byte, FLOP, cycle, joule, metre, dollar (so 1 W = 1 J/s and 1
/// bit = 1/8 B). Hz is cycle/s: `64 B/cycle * 940 MHz` is B/s, `8 cycles / 1 GHz` is a time, and `1
/// / 1 us` is no frequency. One operation (OP) counts like one FLOP; a multiply-accumulate (MAC) is
/// 2 of them. A `sample` is a plain count.
struct Quantity {
  Rational value;
  Dimension dimension;

  Quantity() = default;
  Quantity(Rational v, Dimension d = {}) : value(std::move(v)), dimension(d) {}
  static Quantity number(int64_t n) { return Quantity(Rational(n)); }

  bool dimensionless() const { return dimension.dimensionless(); }
  std::optional<int64_t> toInt64() const;              ///< only for a dimensionless integer that fits
  double toDouble() const { return value.toDouble(); } ///< in base units
  /// In the field's unit, shortest exact form: "900 GB/s", "16 GiB", "1.5", "1/3 s".
  std::string print() const;
  friend bool operator==(const Quantity &, const Quantity &) = default;
};

/// The factor and dimension of a unit expression: "MHz", "B/cycle", "USD/h", "mm2", "pJ/bit".
Result<Quantity> parseUnit(llvm::StringRef text);
/// "940 MHz", "16GiB", "1.5", "0x1000 B", "-3 dB" (the last: unknown unit). Used by the parser, the command
/// line and importers.
Result<Quantity> parseQuantity(llvm::StringRef text);
/// All unit names that are accepted, prefixes included (for suggestions and completion).
const std::vector<std::string> &unitNames();

// Arithmetic. Problems: different dimensions (both are named), division by zero, a result too large
// to compute.
Result<Quantity> add(const Quantity &a, const Quantity &b);
Result<Quantity> subtract(const Quantity &a, const Quantity &b);
Result<Quantity> multiply(const Quantity &a, const Quantity &b);
Result<Quantity> divide(const Quantity &a, const Quantity &b);
Result<Quantity> floorDivide(const Quantity &a,
                             const Quantity &b);                   ///< floor(a/b); dimension of a/b
Result<Quantity> ceilDivide(const Quantity &a, const Quantity &b); ///< ceil(a/b); dimension of a/b
Result<Quantity> modulo(const Quantity &a,
                        const Quantity &b);                   ///< a - b*floor(a/b); same dimension
Result<Quantity> power(const Quantity &a, const Quantity &b); ///< integer exponent
Result<Quantity> powerOfTwo(const Quantity &a);               ///< 2^a, integer exponent
Result<Quantity> logTwo(const Quantity &a);                   ///< exact for powers of two, else the nearest double
/// <0, 0, >0.
Result<int> compare(const Quantity &a, const Quantity &b);

/// "memory size (B)", "power (W)", "a plain number": how messages name a dimension.
std::string describe(const Dimension &dimension);

} // namespace accord
