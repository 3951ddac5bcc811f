#include "lib/latency/model/Polynomial.h"
#include "lib/support/Rational.h"
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
      return std::gcd(int64_t(a), int64_t(b));
    Wide r = a % b;
    a = b, b = r;
  }
  return a;
}
bool fits(Wide v) { return v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max(); }

/// Nothing where 128 bits do not suffice.
std::optional<Wide> wide(const llvm::DynamicAPInt &value) {
  const llvm::DynamicAPInt base = llvm::DynamicAPInt(int64_t(1) << 62);
  if (value >= base * base || value <= -(base * base))
    return std::nullopt;
  return Wide(int64_t(value / base)) * (Wide(1) << 62) + int64_t(value % base);
}

/// Monomials in order of degree, so that the first ones that explain the samples win.
struct Monomial {
  unsigned b, s;
};
constexpr Monomial kMonomials[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};

Wide power(const Monomial &m, const PolynomialFit::Point &at) {
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
    double inner = k[0];
    if (k[2])
      inner = inner + S * (k[1] + S * k[2]);
    else if (k[1])
      inner = inner + S * k[1];
    double term = i ? B * inner : inner;
    sum = any ? sum + term : term;
    any = true;
  }
  return denominator == 1 ? sum : sum / denominator;
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
  Wide scaleA = b.denominator / g, scaleB = Wide(a.denominator / g) * times, d = Wide(a.denominator) * scaleA;
  Polynomial sum;
  if (!fits(d) || !fits(scaleB))
    return std::nullopt;
  sum.denominator = d;
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j) {
      Wide v;
      if (__builtin_add_overflow(a.c[i][j] * scaleA, b.c[i][j] * scaleB, &v) || !fits(v))
        return std::nullopt;
      sum.c[i][j] = v;
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

PolynomialFit::PolynomialFit(std::vector<Point> at) : points(std::move(at)) {
  for (unsigned terms = 1; terms <= std::size(kMonomials); ++terms) {
    std::optional<Solution> solution = solve(terms);
    if (!solution)
      break;
    solutions.push_back(std::move(*solution));
  }
}

std::optional<PolynomialFit::Solution> PolynomialFit::solve(unsigned terms) const {
  // Elimination to reduced echelon form; beside its coefficients each row carries what it is made of in terms of the
  // samples kept so far.
  Solution result;
  std::vector<std::vector<Rational>> rows;
  for (unsigned i = 0; i < points.size() && rows.size() < terms; ++i) {
    std::vector<Rational> row(size_t(2) * terms);
    for (unsigned t = 0; t < terms; ++t) {
      row[t] = 1;
      for (unsigned j = 0; j < kMonomials[t].b + kMonomials[t].s; ++j)
        row[t] = row[t] * Rational(j < kMonomials[t].b ? points[i].B : points[i].S);
    }
    row[terms + rows.size()] = 1;
    auto eliminate = [](std::vector<Rational> &from, const std::vector<Rational> &row, unsigned pivot) {
      Rational factor = from[pivot];
      if (!factor.isZero())
        for (size_t t = 0; t < from.size(); ++t)
          from[t] = from[t] - factor * row[t];
    };
    for (size_t r = 0; r < rows.size(); ++r)
      eliminate(row, rows[r], result.monomials[r]);
    unsigned pivot = 0;
    while (pivot < terms && row[pivot].isZero())
      ++pivot;
    if (pivot == terms)
      continue; // depends on the samples before: a check
    Rational lead = row[pivot];
    for (Rational &x : row)
      x = x / lead;
    for (auto &other : rows)
      eliminate(other, row, pivot);
    rows.push_back(std::move(row));
    result.monomials.push_back(pivot);
    result.samples.push_back(i);
  }
  Rational common = 1;
  for (const auto &row : rows)
    for (size_t i = 0; i < rows.size(); ++i) // the least that makes all whole
      common = common * Rational((row[terms + i] * common).denominator(), llvm::DynamicAPInt(1));
  auto denominator = wide(common.numerator());
  if (!denominator)
    return std::nullopt;
  result.denominator = *denominator;
  for (const auto &row : rows) {
    auto &line = result.matrix.emplace_back();
    for (size_t i = 0; i < rows.size(); ++i) {
      auto weight = wide((row[terms + i] * common).numerator());
      if (!weight)
        return std::nullopt;
      line.push_back(*weight);
    }
  }
  return result;
}

std::optional<Polynomial> PolynomialFit::through(llvm::ArrayRef<int64_t> values) const {
  auto accumulate = [](Wide a, Wide b, Wide &sum) {
    Wide product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
  };
  for (const Solution &s : solutions) {
    std::array<Wide, std::size(kMonomials)> coefficients{}; // times the denominator
    bool holds = true;
    for (size_t k = 0; k < s.monomials.size(); ++k)
      for (size_t i = 0; i < s.samples.size(); ++i)
        holds = holds && accumulate(s.matrix[k][i], values[s.samples[i]], coefficients[s.monomials[k]]);
    for (size_t i = 0; holds && i < points.size(); ++i) {
      Wide sum = 0;
      for (unsigned t : s.monomials)
        holds = holds && accumulate(coefficients[t], power(kMonomials[t], points[i]), sum);
      Wide whole;
      holds = holds && !__builtin_mul_overflow(s.denominator, Wide(values[i]), &whole) && sum == whole;
    }
    if (!holds)
      continue;
    Wide common = s.denominator;
    for (Wide c : coefficients)
      common = gcd(common, c);
    Polynomial p;
    if (!fits(s.denominator / common))
      return std::nullopt;
    p.denominator = s.denominator / common;
    for (unsigned t : s.monomials) {
      Wide c = coefficients[t] / common;
      if (!fits(c))
        return std::nullopt;
      p.c[kMonomials[t].b][kMonomials[t].s] = c;
    }
    return p;
  }
  return std::nullopt;
}

} // namespace accord
