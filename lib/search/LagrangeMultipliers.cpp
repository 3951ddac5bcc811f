#include "lib/search/LagrangeMultipliers.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace accord {
namespace {

using Prices = std::array<double, kBudgets>;
constexpr int kHighest = 60; ///< powers of two that prices are between, from its negative
constexpr int kHalvings = 36;

/// The dual function: what all choices have at least, with prices for weights.
class Dual {
public:
  Dual(const Knapsack &problem, std::vector<unsigned> &best) : problem(problem), best(best) {}

  struct At {
    double value = 0;
    Weights over = {}; ///< weights less budgets: the slope
  };
  At operator()(const Prices &prices) {
    At at;
    choice.clear();
    for (size_t c = 0; c < kBudgets; ++c)
      if (limited(c))
        at.over[c] = -problem.budgets[c];
    int64_t value = 0;
    for (const std::vector<KnapsackOption> &item : problem.items) {
      unsigned first = 0;
      double min = 0;
      for (unsigned i = 0; i < item.size(); ++i) {
        double lagrangian = item[i].value;
        for (size_t c = 0; c < kBudgets; ++c)
          lagrangian += prices[c] * item[i].weights[c];
        if (i == 0 || lagrangian < min) {
          first = i;
          min = lagrangian;
        }
      }
      value += item[first].value;
      for (size_t c = 0; c < kBudgets; ++c)
        at.over[c] += item[first].weights[c];
      choice.push_back(first);
    }
    at.value = value;
    for (size_t c = 0; c < kBudgets; ++c)
      if (limited(c))
        at.value += prices[c] * at.over[c];
    bool fits = true;
    for (size_t c = 0; c < kBudgets; ++c)
      fits &= !limited(c) || at.over[c] <= 0;
    if (fits && (best.empty() || value < bestValue)) {
      best = choice;
      bestValue = value;
    }
    return at;
  }
  bool limited(size_t c) const { return problem.budgets[c] != Knapsack::kUnlimited; }

  /// The best price of budget `c` with the other as it is: by halving, where the slope turns.
  double along(size_t c, Prices &prices) {
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

/// The best prices of two budgets: the dual function, at its best along the first price, is
/// concave in the second, so its maximum is where thirds no longer rise. Its value.
double both(Dual &dual, size_t first, size_t second, Prices &prices) {
  auto at = [&](double price) {
    prices[second] = price;
    return dual.along(first, prices);
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
  return at((from + to) / 2);
}

/// Numbers are below 2^60, products with them below 2^122.
LagrangeMultipliers integers(const Prices &prices) {
  double largest = std::max(1.0, *std::max_element(prices.begin(), prices.end()));
  int shift = std::clamp(kHighest - 1 - std::ilogb(largest), 0, 40);
  LagrangeMultipliers out;
  out.scale = __int128(1) << shift;
  for (size_t c = 0; c < kBudgets; ++c)
    out.of[c] = static_cast<int64_t>(std::min(std::ldexp(prices[c], shift), std::ldexp(1.0, kHighest)));
  return out;
}

} // namespace

unsigned LagrangeMultipliers::min(const std::vector<KnapsackOption> &item) const {
  unsigned best = 0;
  for (unsigned i = 1; i < item.size(); ++i)
    if (lagrangian(item[i].value, item[i].weights) < lagrangian(item[best].value, item[best].weights))
      best = i;
  return best;
}

std::vector<LagrangeMultipliers> findLagrangeMultipliers(const Knapsack &problem, std::vector<unsigned> &best) {
  std::vector<std::pair<double, Prices>> found;
  Dual dual(problem, best);
  for (size_t c = 0; c < kBudgets; ++c) {
    if (!dual.limited(c))
      continue;
    Prices prices = {};
    double value = dual.along(c, prices);
    found.push_back({value, prices});
    for (size_t other = 0; other < c; ++other) {
      if (!dual.limited(other))
        continue;
      Prices two = {};
      value = both(dual, other, c, two);
      found.push_back({value, two});
      size_t third = kBudgets - c - other;
      if (third < kBudgets && dual.limited(third) && third != c && third != other) {
        value = dual.along(third, two);
        found.push_back({value, two});
      }
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<LagrangeMultipliers> out;
  for (const auto &entry : found)
    out.push_back(integers(entry.second));
  return out;
}

} // namespace accord
