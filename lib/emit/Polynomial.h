// Exact polynomials in (microbatch B, sequence S): what FLOPs, bytes and tensor sizes of a training
// graph are.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace accord {

/// (sum over i, j of c[i][j] * B^i * S^j) / denominator, degree at most 1 in B and 2 in S.
struct Polynomial {
  static constexpr unsigned kB = 2, kS = 3;
  std::array<std::array<int64_t, kS>, kB> c{};
  int64_t denominator = 1;

  static Polynomial constant(int64_t value);
  /// In double arithmetic, in the same order of operations as the generated C does.
  double operator()(double B, double S) const;
  bool zero() const;
  /// A C expression of variables `B` and `S`, Horner in S; integers printed exactly.
  std::string code() const;
  /// For people: "2*B*S^2 + 4096*B".
  std::string text() const;
  friend bool operator==(const Polynomial &, const Polynomial &) = default;
};
/// nullopt when a coefficient leaves 64 bits.
std::optional<Polynomial> add(const Polynomial &a, const Polynomial &b, int64_t times = 1);
/// Whether a <= b for all B >= 0, S >= 0, seen from the coefficients (sufficient, not necessary).
bool dominated(const Polynomial &a, const Polynomial &b);

struct PolynomialSample {
  int64_t B, S;
  int64_t value;
};
/// The polynomial of least degree through all samples, found by exact elimination over 128-bit
/// rationals; every sample that the elimination did not need is a check. nullopt: there is none of
/// this degree (or 128 bits do not suffice).
std::optional<Polynomial> interpolate(llvm::ArrayRef<PolynomialSample> samples);

} // namespace accord
