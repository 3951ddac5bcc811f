#include "lib/emit/Polynomial.h"
#include <limits>
#include <numeric>
#include <vector>

namespace accord {
namespace {
using Wide = __int128;

Wide gcd(Wide a, Wide b) {
  for (a = a < 0 ? -a : a, b = b < 0 ? -b : b; b;) {
    // Nearly always small; a division of 128 bits takes many times as long.
    constexpr Wide kSmall = Wide(1) << 63;
    if (a < kSmall && b < kSmall)
      return std::gcd(static_cast<int64_t>(a), static_cast<int64_t>(b));
    Wide r = a % b;
    a = b, b = r;
  }
  return a;
}
bool fits(Wide v) {
  return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max();
}

/// An exact fraction; `valid` turns false for good once 128 bits did not suffice.
struct Rational {
  Wide n = 0, d = 1;
  bool valid = true;

  static Rational of(Wide n, Wide d, bool valid) {
    if (!valid || d == 0)
      return {0, 1, false};
    if (d == 1)
      return {n, 1, true};
    Wide g = gcd(n, d);
    if (d < 0)
      g = -g;
    return {n / g, d / g, true};
  }
  friend Rational operator*(const Rational &a, const Rational &b) {
    // Crosswise first: keeps the products small.
    Rational x = of(a.n, b.d, a.valid), y = of(b.n, a.d, b.valid);
    Wide n = 0, d = 1;
    bool overflow = __builtin_mul_overflow(x.n, y.n, &n) || __builtin_mul_overflow(x.d, y.d, &d);
    return of(n, d, x.valid && y.valid && !overflow);
  }
  friend Rational operator/(const Rational &a, const Rational &b) {
    return a * Rational{b.n < 0 ? -b.d : b.d, b.n < 0 ? -b.n : b.n, b.valid && b.n != 0};
  }
  friend Rational operator-(const Rational &a, const Rational &b) {
    Wide g = gcd(a.d, b.d), x = 0, y = 0, n = 0, d = 1;
    bool overflow =
        __builtin_mul_overflow(a.n, b.d / g, &x) || __builtin_mul_overflow(b.n, a.d / g, &y);
    overflow =
        overflow || __builtin_sub_overflow(x, y, &n) || __builtin_mul_overflow(a.d, b.d / g, &d);
    return of(n, d, a.valid && b.valid && !overflow);
  }
};

/// Monomials in order of degree, so that the first ones that explain the samples win.
struct Monomial {
  unsigned b, s;
};
constexpr Monomial kMonomials[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};

Wide power(const Monomial &m, const PolynomialSample &at) {
  Wide v = 1;
  for (unsigned i = 0; i < m.b; ++i)
    v *= at.B;
  for (unsigned j = 0; j < m.s; ++j)
    v *= at.S;
  return v;
}
} // namespace

Polynomial Polynomial::constant(int64_t value) {
  Polynomial p;
  p.c[0][0] = value;
  return p;
}

bool Polynomial::zero() const { return c == Polynomial{}.c; }

double Polynomial::operator()(double B, double S) const {
  double sum = 0;
  bool any = false;
  for (unsigned i = 0; i < kB; ++i) {
    const auto &k = c[i];
    if (k == std::array<int64_t, kS>{})
      continue;
    double inner = static_cast<double>(k[0]);
    if (k[2])
      inner = inner + S * (static_cast<double>(k[1]) + S * static_cast<double>(k[2]));
    else if (k[1])
      inner = inner + S * static_cast<double>(k[1]);
    double term = i ? B * inner : inner;
    sum = any ? sum + term : term;
    any = true;
  }
  return denominator == 1 ? sum : sum / static_cast<double>(denominator);
}

std::string Polynomial::code() const {
  auto number = [](int64_t v) { return std::to_string(v) + ".0"; };
  std::string sum;
  for (unsigned i = 0; i < kB; ++i) {
    const auto &k = c[i];
    if (k == std::array<int64_t, kS>{})
      continue;
    std::string high = k[2]   ? "S * (" + number(k[1]) + " + S * " + number(k[2]) + ")"
                       : k[1] ? "S * " + number(k[1])
                              : "";
    if (k[2] && !k[1])
      high = "S * (S * " + number(k[2]) + ")";
    std::string inner = high.empty() ? number(k[0]) : k[0] ? number(k[0]) + " + " + high : high;
    std::string term = i ? "B * (" + inner + ")" : inner;
    sum += sum.empty() ? term : " + " + term;
  }
  if (sum.empty())
    return "0.0";
  return denominator == 1 ? sum : "(" + sum + ") / " + number(denominator);
}

std::string Polynomial::text() const {
  std::string sum;
  for (unsigned i = kB; i-- > 0;)
    for (unsigned j = kS; j-- > 0;) {
      if (!c[i][j])
        continue;
      std::string term = std::to_string(c[i][j]);
      term += i ? "*B" : "";
      term += j == 2 ? "*S^2" : j == 1 ? "*S" : "";
      sum += sum.empty() ? term : " + " + term;
    }
  if (sum.empty())
    return "0";
  return denominator == 1 ? sum : "(" + sum + ")/" + std::to_string(denominator);
}

std::optional<Polynomial> add(const Polynomial &a, const Polynomial &b, int64_t times) {
  Wide g = gcd(a.denominator, b.denominator);
  Wide scaleA = b.denominator / g, scaleB = Wide(a.denominator / g) * times,
       d = Wide(a.denominator) * scaleA;
  Polynomial sum;
  if (!fits(d) || !fits(scaleB))
    return std::nullopt;
  sum.denominator = static_cast<int64_t>(d);
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j) {
      Wide v;
      if (__builtin_add_overflow(a.c[i][j] * scaleA, b.c[i][j] * scaleB, &v) || !fits(v))
        return std::nullopt;
      sum.c[i][j] = static_cast<int64_t>(v);
    }
  return sum;
}

bool dominated(const Polynomial &a, const Polynomial &b) {
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j)
      if (Wide(a.c[i][j]) * b.denominator > Wide(b.c[i][j]) * a.denominator)
        return false;
  return true;
}

std::optional<Polynomial> interpolate(llvm::ArrayRef<PolynomialSample> samples) {
  // With `terms` monomials of lowest degree first: solve by elimination; a contradiction asks for
  // one more monomial.
  for (unsigned terms = 1; terms <= std::size(kMonomials); ++terms) {
    std::vector<std::vector<Rational>>
        rows; // echelon form, each `terms` coefficients and the value
    std::vector<unsigned> pivots;
    bool consistent = true;
    for (const PolynomialSample &sample : samples) {
      std::vector<Rational> row;
      for (unsigned t = 0; t < terms; ++t)
        row.push_back({power(kMonomials[t], sample), 1});
      row.push_back({sample.value, 1});
      for (size_t r = 0; r < rows.size(); ++r) {
        Rational factor = row[pivots[r]];
        if (factor.n != 0)
          for (unsigned t = 0; t <= terms; ++t)
            row[t] = row[t] - factor * rows[r][t];
      }
      for (const Rational &x : row)
        if (!x.valid)
          return std::nullopt;
      unsigned pivot = 0;
      while (pivot < terms && row[pivot].n == 0)
        ++pivot;
      if (pivot == terms) {
        consistent = row[terms].n == 0;
        if (!consistent)
          break;
        continue;
      }
      Rational lead = row[pivot];
      for (Rational &x : row)
        x = x / lead;
      // Keep the others reduced, so that the solution can be read off.
      for (size_t r = 0; r < rows.size(); ++r) {
        Rational factor = rows[r][pivot];
        if (factor.n != 0)
          for (unsigned t = 0; t <= terms; ++t)
            rows[r][t] = rows[r][t] - factor * row[t];
      }
      rows.push_back(row);
      pivots.push_back(pivot);
    }
    if (!consistent)
      continue;
    // A monomial the samples do not determine is 0 (its column is free).
    Wide denominator = 1;
    for (const auto &row : rows) {
      if (!row[terms].valid)
        return std::nullopt;
      Wide g = gcd(denominator, row[terms].d);
      if (__builtin_mul_overflow(denominator, row[terms].d / g, &denominator) || !fits(denominator))
        return std::nullopt;
    }
    Polynomial p;
    p.denominator = static_cast<int64_t>(denominator);
    for (size_t r = 0; r < rows.size(); ++r) {
      Wide v;
      if (__builtin_mul_overflow(rows[r][terms].n, denominator / rows[r][terms].d, &v) || !fits(v))
        return std::nullopt;
      p.c[kMonomials[pivots[r]].b][kMonomials[pivots[r]].s] = static_cast<int64_t>(v);
    }
    return p;
  }
  return std::nullopt;
}

} // namespace accord
