// The dimension of a quantity: integer exponents over the base units of this field.
#pragma once
#include "llvm/ADT/STLForwardCompat.h"
#include <array>
#include <cstdint>
#include <string>

namespace accord {

/// Base units. Operations, bytes, cycles, samples and devices are counted things that people in this field never want
/// mixed up, so each is a dimension of its own (a FLOP is not a byte, a cycle is not a second).
enum class Base : uint8_t { Second, Byte, Flop, Cycle, Joule, Metre, Dollar, Kelvin, Gram, Count_ };

struct Dimension {
  static constexpr unsigned kBases = llvm::to_underlying(Base::Count_);
  std::array<int8_t, kBases> exponents{};

  static Dimension of(Base base, int power = 1) {
    Dimension d;
    d.exponents[llvm::to_underlying(base)] = power;
    return d;
  }
  bool dimensionless() const { return *this == Dimension{}; }
  friend bool operator==(const Dimension &, const Dimension &) = default;
  friend Dimension operator*(Dimension a, const Dimension &b) {
    for (unsigned i = 0; i < kBases; ++i)
      a.exponents[i] += b.exponents[i];
    return a;
  }
  friend Dimension operator/(Dimension a, const Dimension &b) {
    for (unsigned i = 0; i < kBases; ++i)
      a.exponents[i] -= b.exponents[i];
    return a;
  }
  Dimension power(int n) const {
    Dimension d;
    for (unsigned i = 0; i < kBases; ++i)
      d.exponents[i] = exponents[i] * n;
    return d;
  }
  /// Symbols of the base units, in their order: "s", "B", ….
  static const std::array<const char *, kBases> &symbols();
};

} // namespace accord
