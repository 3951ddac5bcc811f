// Interval arithmetic over exact fractions or doubles (Moore, Interval Analysis, 1966): the span of
// an operation holds what it gives for every choice of numbers in the spans of its operands.
#pragma once
#include "lib/exploration/space/DesignTerms.h"
#include <algorithm>
#include <cmath>

namespace accord::intervals {

/// A whole number that rounding has moved a little is that number: 0.3 / 0.1 is 3.
inline std::optional<double> nearInteger(double x) {
  double n = std::round(x);
  return std::abs(x - n) <= 1e-12 * std::max(1.0, std::abs(x)) ? std::optional(n) : std::nullopt;
}
inline double floorOf(double x) { return nearInteger(x).value_or(std::floor(x)); }
inline double ceilOf(double x) { return nearInteger(x).value_or(std::ceil(x)); }
inline Rational floorOf(const Rational &x) { return x.floor(); }
inline Rational ceilOf(const Rational &x) { return x.ceil(); }
inline bool usable(double x) { return !std::isnan(x); }
inline bool usable(const Rational &x) { return x.bits() <= Rational::kMaxBits; }

/// Whether a is below b by more than rounding leaves.
inline bool isBelow(double a, double b) { return a < b && b - a > 1e-12 * std::max(std::abs(a), std::abs(b)); }
inline bool isBelow(const Rational &a, const Rational &b) { return a < b; }

inline double powerOf(double base, int64_t exponent) { return std::pow(base, exponent); }
inline Rational powerOf(const Rational &base, int64_t exponent) {
  auto result = power(Quantity(base), Quantity::number(exponent));
  return result ? result->value : Rational(0);
}
inline bool powerFits(double, int64_t) { return true; }
inline bool powerFits(const Rational &base, int64_t exponent) {
  return static_cast<bool>(power(Quantity(base), Quantity::number(exponent)));
}
inline double logOf(double x) { return std::log2(x); }
inline Rational logOf(const Rational &x) {
  auto result = logTwo(Quantity(x));
  return result ? result->value : Rational(0);
}
inline double number(double, int64_t n) { return n; }
inline Rational number(const Rational &, int64_t n) { return Rational(n); }
inline std::optional<int64_t> whole(double x) {
  return std::abs(x) < 1e15 && std::floor(x) == x ? std::optional(static_cast<int64_t>(x)) : std::nullopt;
}
inline std::optional<int64_t> whole(const Rational &x) { return x.toInt64(); }

template <class N> DesignInterval<N> hull(std::initializer_list<N> ends) { return {std::min(ends), std::max(ends)}; }
template <class N> bool isPoint(const DesignInterval<N> &a) { return a.low == a.high; }
template <class N> bool holdsZero(const DesignInterval<N> &a) {
  return !(number(a.low, 0) < a.low) && !(a.high < number(a.low, 0));
}
template <class N> DesignInterval<N> truthOf(const N &kind, bool surely, bool possibly) {
  return {number(kind, surely), number(kind, possibly)};
}

template <class N>
DesignInterval<N> compared(const std::string &op, const DesignInterval<N> &a, const DesignInterval<N> &b) {
  bool less = isBelow(a.high, b.low), more = isBelow(b.high, a.low);       // for all
  bool mayLess = isBelow(a.low, b.high), mayMore = isBelow(b.low, a.high); // for some
  bool equal = !mayLess && !mayMore;
  if (op == "<")
    return truthOf(a.low, less, mayLess);
  if (op == "<=")
    return truthOf(a.low, !mayMore, !more);
  if (op == ">")
    return truthOf(a.low, more, mayMore);
  if (op == ">=")
    return truthOf(a.low, !mayLess, !less);
  if (op == "==")
    return truthOf(a.low, equal, !less && !more);
  return truthOf(a.low, less || more, !equal);
}

template <class N>
std::optional<DesignInterval<N>> divided(const std::string &op, const DesignInterval<N> &a,
                                         const DesignInterval<N> &b) {
  if (holdsZero(b))
    return std::nullopt;
  DesignInterval<N> q = hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  if (op == "floor_div")
    return DesignInterval<N>{floorOf(q.low), floorOf(q.high)};
  if (op == "ceil_div")
    return DesignInterval<N>{ceilOf(q.low), ceilOf(q.high)};
  if (op != "%")
    return q;
  if (isPoint(a) && isPoint(b)) {
    N rest = a.low - b.low * floorOf(q.low);
    return DesignInterval<N>{rest, rest};
  }
  return DesignInterval<N>{std::min(number(a.low, 0), b.low), std::max(number(a.low, 0), b.high)};
}

/// Base to a power that is no whole number: of one that is not negative.
inline std::optional<DesignInterval<double>> rooted(const DesignInterval<double> &a, const DesignInterval<double> &b) {
  if (!isPoint(b) || a.low < 0 || (b.low < 0 && !(a.low > 0)))
    return std::nullopt;
  return hull({std::pow(a.low, b.low), std::pow(a.high, b.low)});
}
inline std::optional<DesignInterval<Rational>> rooted(const DesignInterval<Rational> &,
                                                      const DesignInterval<Rational> &) {
  return std::nullopt; // no fraction
}

/// Base to a whole power; of several exponents those of a base that is 1 or more grow with both.
template <class N> std::optional<DesignInterval<N>> raised(const DesignInterval<N> &a, const DesignInterval<N> &b) {
  auto min = whole(b.low), max = whole(b.high);
  if (!min || !max)
    return rooted(a, b);
  if ((holdsZero(a) && *min < 0) || (*min != *max && a.low < number(a.low, 1)))
    return std::nullopt;
  for (const N *base : {&a.low, &a.high})
    if (!powerFits(*base, *min) || !powerFits(*base, *max))
      return std::nullopt;
  DesignInterval<N> result =
      hull({powerOf(a.low, *min), powerOf(a.low, *max), powerOf(a.high, *min), powerOf(a.high, *max)});
  if (*min % 2 == 0 && *min == *max && *min > 0 && holdsZero(a))
    result.low = number(a.low, 0);
  return result;
}

template <class N>
std::optional<DesignInterval<N>> applied(const std::string &op, const std::vector<DesignInterval<N>> &of) {
  const DesignInterval<N> &a = of[0];
  if (of.size() == 1 && op == "-")
    return DesignInterval<N>{number(a.low, 0) - a.high, number(a.low, 0) - a.low};
  if (op == "not")
    return DesignInterval<N>{number(a.low, 1) - a.high, number(a.low, 1) - a.low};
  if (op == "pow2") {
    DesignInterval<N> two{number(a.low, 2), number(a.low, 2)};
    return raised(two, a);
  }
  if (op == "log2")
    return number(a.low, 0) < a.low ? std::optional(DesignInterval<N>{logOf(a.low), logOf(a.high)}) : std::nullopt;
  if (op == "min" || op == "max" || op == "sum" || op == "and" || op == "or") {
    DesignInterval<N> all = a;
    for (size_t i = 1; i < of.size(); ++i) {
      if (op == "sum")
        all = {all.low + of[i].low, all.high + of[i].high};
      else if (op == "min" || op == "and")
        all = {std::min(all.low, of[i].low), std::min(all.high, of[i].high)};
      else
        all = {std::max(all.low, of[i].low), std::max(all.high, of[i].high)};
    }
    return all;
  }
  const DesignInterval<N> &b = of[1];
  if (op == "+")
    return DesignInterval<N>{a.low + b.low, a.high + b.high};
  if (op == "-")
    return DesignInterval<N>{a.low - b.high, a.high - b.low};
  if (op == "*")
    return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  if (op == "^")
    return raised(a, b);
  if (op == "/" || op == "%" || op == "floor_div" || op == "ceil_div")
    return divided(op, a, b);
  return compared(op, a, b);
}

} // namespace accord::intervals
