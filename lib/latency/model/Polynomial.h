// Exact polynomials in (microbatch B, sequence S): what FLOPs, bytes and tensor sizes of a training graph are.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  /// For people: "2*B*S^2 + 4096*B".
  std::string text() const;
  friend bool operator==(const Polynomial &, const Polynomial &) = default;
};
/// nullopt when a coefficient leaves 64 bits.
std::optional<Polynomial> add(const Polynomial &a, const Polynomial &b, int64_t times = 1);
/// Whether a <= b for all B >= 0, S >= 0, seen from the coefficients (sufficient, not necessary).
bool dominated(const Polynomial &a, const Polynomial &b);

/// Exact interpolation at fixed points. What depends on the points alone is computed once, so that each of the hundreds
/// of quantities of a step costs a few multiplications.
class PolynomialFit {
public:
  struct Point {
    int64_t B, S;
  };
  explicit PolynomialFit(std::vector<Point> points);
  size_t size() const { return points.size(); }
  /// The polynomial of least degree that has `values[i]` at point i for all i; every point that its coefficients do not
  /// need is a check. nullopt: there is none of this degree (or 128 bits do not suffice).
  std::optional<Polynomial> through(llvm::ArrayRef<int64_t> values) const;

private:
  using Wide = __int128;
  /// coefficient[k] = sum over i of matrix[k][i] * value[samples[i]] / denominator, where k counts the monomials that
  /// the points tell apart (the others are 0).
  struct Solution {
    std::vector<unsigned> monomials, samples;
    std::vector<std::vector<Wide>> matrix;
    Wide denominator = 1;
  };
  /// With the first `terms` monomials; nullopt if 128 bits do not suffice.
  std::optional<Solution> solve(unsigned terms) const;

  std::vector<Point> points;
  std::vector<Solution> solutions; ///< fewest monomials first
};

} // namespace accord
