// Typed doubles for the cost formulas: dimensions are checked by the compiler, so no formula can add bytes to seconds.
#pragma once
#include <compare>
#include <cstdint>

namespace accord {

/// Exact counts. Totals of large jobs pass 2^63 (GPT-3, batch 1536: 3.3e18 FLOP a step), hence 128 bits.
using Count = __int128;

/// A physical value in base units: seconds^T byte^B flop^F cycle^C joule^E.
template <int T, int B, int F, int C, int E> struct Unit {
  double value = 0;
  constexpr Unit() = default;
  constexpr explicit Unit(double v) : value(v) {}
  friend constexpr auto operator<=>(const Unit &, const Unit &) = default;
  friend constexpr Unit operator+(Unit a, Unit b) { return Unit(a.value + b.value); }
  friend constexpr Unit operator-(Unit a, Unit b) { return Unit(a.value - b.value); }
  friend constexpr Unit operator*(Unit a, double k) { return Unit(a.value * k); }
  friend constexpr Unit operator*(double k, Unit a) { return Unit(a.value * k); }
  friend constexpr Unit operator/(Unit a, double k) { return Unit(a.value / k); }
  constexpr Unit &operator+=(Unit b) {
    value += b.value;
    return *this;
  }
};
template <int T, int B, int F, int C, int E, int T2, int B2, int F2, int C2, int E2>
constexpr auto operator*(Unit<T, B, F, C, E> a, Unit<T2, B2, F2, C2, E2> b) {
  if constexpr (T + T2 == 0 && B + B2 == 0 && F + F2 == 0 && C + C2 == 0 && E + E2 == 0)
    return a.value * b.value;
  else
    return Unit<T + T2, B + B2, F + F2, C + C2, E + E2>(a.value * b.value);
}
template <int T, int B, int F, int C, int E, int T2, int B2, int F2, int C2, int E2>
constexpr auto operator/(Unit<T, B, F, C, E> a, Unit<T2, B2, F2, C2, E2> b) {
  if constexpr (T == T2 && B == B2 && F == F2 && C == C2 && E == E2)
    return a.value / b.value;
  else
    return Unit<T - T2, B - B2, F - F2, C - C2, E - E2>(a.value / b.value);
}

using Seconds = Unit<1, 0, 0, 0, 0>;
using Bytes = Unit<0, 1, 0, 0, 0>;
using Flops = Unit<0, 0, 1, 0, 0>;
using Cycles = Unit<0, 0, 0, 1, 0>;
using Joules = Unit<0, 0, 0, 0, 1>;
using Watts = Unit<-1, 0, 0, 0, 1>;
using Hertz = Unit<-1, 0, 0, 1, 0>; ///< cycles per second
using BytesPerSecond = Unit<-1, 1, 0, 0, 0>;
using FlopsPerSecond = Unit<-1, 0, 1, 0, 0>;
using JoulesPerByte = Unit<0, -1, 0, 0, 1>;
using JoulesPerFlop = Unit<0, 0, -1, 0, 1>;

/// Time on a schedule: whole picoseconds, so that sums are exact and results identical on every machine.
/// int64 holds 106 days; whoever builds one checks `fits`.
struct Picoseconds {
  int64_t value = 0;
  /// Rounds up: a schedule never promises less than the cost model said.
  static Picoseconds ceil(Seconds s);
  static bool fits(Seconds s) { return s.value >= 0 && s.value < 9.0e6; }
  Seconds seconds() const { return Seconds(value * 1e-12); }
  friend auto operator<=>(const Picoseconds &, const Picoseconds &) = default;
  friend Picoseconds operator+(Picoseconds a, Picoseconds b) { return {a.value + b.value}; }
  friend Picoseconds operator-(Picoseconds a, Picoseconds b) { return {a.value - b.value}; }
};

} // namespace accord
