#include "lib/prune/Multipliers.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

using Prices = std::array<double, 2>;
constexpr int kHighest = 60; ///< powers of two that prices are between, from its negative
constexpr int kHalvings = 36;

/// The dual function: what all choices have at least, with prices for weights.
class Dual {
public:
  Dual(const Knapsack &problem, std::vector<unsigned> &best) : problem(problem), best(best) {}

  struct At {
    double value = 0;
    std::array<int64_t, 2> over = {0, 0}; ///< weights less budgets: the slope
  };
  At operator()(const Prices &prices) {
    At at;
    choice.clear();
    for (int c : {0, 1})
      if (limited(c))
        at.over[c] = -problem.budgets[c];
    int64_t value = 0;
    for (const std::vector<KnapsackOption> &item : problem.items) {
      unsigned first = 0;
      double least = 0;
      for (unsigned i = 0; i < item.size(); ++i) {
        double priced = static_cast<double>(item[i].value) +
                        prices[0] * static_cast<double>(item[i].weights[0]) +
                        prices[1] * static_cast<double>(item[i].weights[1]);
        if (i == 0 || priced < least) {
          first = i;
          least = priced;
        }
      }
      value += item[first].value;
      for (int c : {0, 1})
        at.over[c] += item[first].weights[c];
      choice.push_back(first);
    }
    at.value = static_cast<double>(value);
    for (int c : {0, 1})
      if (limited(c))
        at.value += prices[c] * static_cast<double>(at.over[c]);
    bool fits = (!limited(0) || at.over[0] <= 0) && (!limited(1) || at.over[1] <= 0);
    if (fits && (best.empty() || value < bestValue)) {
      best = choice;
      bestValue = value;
    }
    return at;
  }
  bool limited(int c) const { return problem.budgets[c] != Knapsack::kUnlimited; }

  /// The best price of budget `c` with the other as it is: by halving, where the slope turns.
  double along(int c, Prices &prices) {
    auto over = [&](double price) {
      prices[c] = price;
      return (*this)(prices).over[c] > 0;
    };
    if (!over(0))
      return (*this)(prices).value;
    int low = -kHighest, high = kHighest;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      (over(std::ldexp(1.0, middle)) ? low : high) = middle;
    }
    double from = std::ldexp(1.0, low), to = std::ldexp(1.0, high);
    for (int i = 0; i < kHalvings; ++i)
      (over((from + to) / 2) ? from : to) = (from + to) / 2;
    prices[c] = to;
    return (*this)(prices).value;
  }

private:
  const Knapsack &problem;
  std::vector<unsigned> &best, choice;
  int64_t bestValue = 0;
};

/// The best prices of both: the dual function, at its best along the first price, is concave in
/// the second, so its maximum is where thirds no longer rise.
Prices both(Dual &dual) {
  Prices prices = {0, 0};
  auto at = [&](double price) {
    prices[1] = price;
    return dual.along(0, prices);
  };
  int low = -kHighest, high = kHighest;
  while (high - low > 2) {
    int third = (high - low) / 3;
    if (at(std::ldexp(1.0, low + third)) < at(std::ldexp(1.0, high - third)))
      low += third;
    else
      high -= third;
  }
  double from = std::ldexp(1.0, low), to = std::ldexp(1.0, high);
  constexpr double kGolden = 0.6180339887498949;
  double left = to - kGolden * (to - from), right = from + kGolden * (to - from);
  double atLeft = at(left), atRight = at(right);
  for (int i = 0; i < kHalvings; ++i) {
    if (atLeft < atRight) {
      from = left;
      left = right;
      atLeft = atRight;
      right = from + kGolden * (to - from);
      atRight = at(right);
    } else {
      to = right;
      right = left;
      atRight = atLeft;
      left = to - kGolden * (to - from);
      atLeft = at(left);
    }
  }
  at((from + to) / 2);
  return prices;
}

/// Numbers are below 2^60, products with them below 2^122.
Multipliers integers(const Prices &prices) {
  double largest = std::max({prices[0], prices[1], 1.0});
  int shift = std::clamp(kHighest - 1 - std::ilogb(largest), 0, 40);
  Multipliers out;
  out.scale = __int128(1) << shift;
  for (int c : {0, 1})
    out.of[c] =
        static_cast<int64_t>(std::min(std::ldexp(prices[c], shift), std::ldexp(1.0, kHighest)));
  return out;
}

} // namespace

unsigned Multipliers::least(const std::vector<KnapsackOption> &item) const {
  unsigned best = 0;
  for (unsigned i = 1; i < item.size(); ++i)
    if (priced(item[i].value, item[i].weights) < priced(item[best].value, item[best].weights))
      best = i;
  return best;
}

std::vector<Multipliers> findMultipliers(const Knapsack &problem, std::vector<unsigned> &best) {
  std::vector<Multipliers> out;
  Dual dual(problem, best);
  for (int c : {0, 1}) {
    if (!dual.limited(c))
      continue;
    Prices prices = {0, 0};
    dual.along(c, prices);
    out.push_back(integers(prices));
  }
  if (dual.limited(0) && dual.limited(1))
    out.insert(out.begin(), integers(both(dual)));
  return out;
}

} // namespace accord
