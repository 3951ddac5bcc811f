#include "lib/search/Knapsack.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace accord {
namespace {

// Lagrangian bounds of a multiple-choice knapsack, in integers.

/// scale * value + multipliers * weights instead of budgets. Whatever the numbers are, a choice that keeps the budgets
/// has scale * value >= the least of that over all choices, less multipliers * budgets.
struct LagrangeMultipliers {
  __int128 scale = 1;
  std::array<__int128, kBudgets> of = {};
  __int128 lagrangian(int64_t value, const Weights &weights) const {
    __int128 sum = scale * value;
    for (size_t c = 0; c < kBudgets; ++c)
      sum += of[c] * weights[c];
    return sum;
  }
  /// The option of an item that is least, the first of equal ones.
  unsigned min(const std::vector<KnapsackOption> &item) const;
};

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

/// The best prices of two budgets: the dual function, at its best along the first price, is concave in the second, so
/// its maximum is where thirds no longer rise. Its value.
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
    out.of[c] = int64_t(std::min(std::ldexp(prices[c], shift), std::ldexp(1.0, kHighest)));
  return out;
}

unsigned LagrangeMultipliers::min(const std::vector<KnapsackOption> &item) const {
  unsigned best = 0;
  for (unsigned i = 1; i < item.size(); ++i)
    if (lagrangian(item[i].value, item[i].weights) < lagrangian(item[best].value, item[best].weights))
      best = i;
  return best;
}

/// Multipliers whose bounds are high, the highest first: the best of each budget alone, of each two, and of three where
/// one is added to two; empty where nothing is limited. `best` gets the least choice that keeps the budgets of those
/// met on the way; empty: there was none.
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

/// Weights that nothing so far is below in all.
class Front {
public:
  /// Whether no weights so far are at most these in all; then they are one more step.
  bool add(const Weights &weights) {
    for (const auto &[third, stairs] : all) {
      if (third > weights[2])
        break;
      auto after = stairs.upper_bound(weights[0]);
      if (after != stairs.begin() && std::prev(after)->second <= weights[1])
        return false;
    }
    Stairs &stairs = all[weights[2]];
    auto from = stairs.lower_bound(weights[0]), to = from;
    while (to != stairs.end() && to->second >= weights[1])
      ++to;
    stairs.erase(from, to);
    stairs[weights[0]] = weights[1];
    return true;
  }

private:
  using Stairs = std::map<int64_t, int64_t>; ///< the second weight by the first: it falls
  std::map<int64_t, Stairs> all;             ///< by the third, which has few values
};

/// A choice for some items.
struct Partial {
  KnapsackOption sum;
  uint32_t parent = 0, option = 0;
};

KnapsackOption operator+(const KnapsackOption &a, const KnapsackOption &b) {
  KnapsackOption sum{a.value + b.value, {}};
  for (size_t c = 0; c < kBudgets; ++c)
    sum.weights[c] = a.weights[c] + b.weights[c];
  return sum;
}

int64_t minWeight(const std::vector<KnapsackOption> &item, size_t budget) {
  int64_t low = Knapsack::kUnlimited;
  for (const KnapsackOption &option : item)
    low = std::min(low, option.weights[budget]);
  return low;
}

class Search {
public:
  Search(const Knapsack &in, uint64_t states) : problem(in), states(states) {}

  KnapsackResult run() {
    if (!reduce())
      return impossible();
    std::vector<unsigned> met;
    multipliers = findLagrangeMultipliers(problem, met);
    multipliers.push_back({}); // least values, whatever the weights
    if (!met.empty())
      offer(met);
    offer(minOf(multipliers.back()));
    improve();
    arrange();
    levels.push_back({Partial{}});
    for (size_t k = 0; k < order.size(); ++k)
      step(k);
    return finish();
  }

private:
  Knapsack problem;
  uint64_t states;
  std::vector<std::vector<unsigned>> original; ///< options' numbers in the input
  std::vector<LagrangeMultipliers> multipliers;
  std::optional<std::vector<unsigned>> best; ///< by item, of reduced options
  int64_t bestValue = Knapsack::kUnlimited;
  std::vector<size_t> order;
  /// From the k-th item of the order on: least weights, and by multipliers the least price and the sums of the options
  /// that have it.
  std::vector<KnapsackOption> lightest;
  std::vector<std::vector<__int128>> prices;
  std::vector<std::vector<KnapsackOption>> likely;
  std::vector<std::vector<Partial>> levels;
  int64_t dropped = Knapsack::kUnlimited;
  uint64_t seen = 0;

  static KnapsackResult impossible() { return {false, {}, 0, Knapsack::kUnlimited, 0}; }

  bool fits(const KnapsackOption &sum) const {
    return std::equal(sum.weights.begin(), sum.weights.end(), problem.budgets.begin(), std::less_equal<>());
  }

  /// Weights that no choice passes do not count. Options that cannot be used, or that another is at least as good as,
  /// go.
  bool reduce() {
    for (size_t c = 0; c < kBudgets; ++c) {
      int64_t max = 0, min = 0;
      for (const auto &item : problem.items) {
        auto [low, high] = std::minmax_element(
            item.begin(), item.end(), [c](const auto &a, const auto &b) { return a.weights[c] < b.weights[c]; });
        min += low->weights[c];
        max += high->weights[c];
      }
      int64_t budget = problem.budgets[c];
      if (min > budget)
        return false;
      if (max <= budget)
        problem.budgets[c] = Knapsack::kUnlimited;
      for (auto &item : problem.items) {
        const int64_t low = minWeight(item, c);
        for (KnapsackOption &option : item)
          if (max <= budget)
            option.weights[c] = 0;
          else if (option.weights[c] - low > budget - min)
            option.value = -1; // marked: with it all others are too heavy
      }
    }
    for (auto &item : problem.items) {
      std::vector<unsigned> usable;
      std::vector<KnapsackOption> options;
      for (unsigned i = 0; i < item.size(); ++i)
        if (item[i].value >= 0) {
          usable.push_back(i);
          options.push_back(item[i]);
        }
      std::vector<unsigned> numbers;
      std::vector<KnapsackOption> kept;
      for (unsigned i : paretoFront(options)) {
        numbers.push_back(usable[i]);
        kept.push_back(options[i]);
      }
      if (kept.empty())
        return false;
      original.push_back(std::move(numbers));
      item = std::move(kept);
    }
    return true;
  }

  std::vector<unsigned> minOf(const LagrangeMultipliers &by) const {
    std::vector<unsigned> choice;
    for (const auto &item : problem.items)
      choice.push_back(by.min(item));
    return choice;
  }

  KnapsackOption sumOf(const std::vector<unsigned> &choice) const {
    KnapsackOption sum;
    for (size_t i = 0; i < choice.size(); ++i)
      sum = sum + problem.items[i][choice[i]];
    return sum;
  }

  void offer(const std::vector<unsigned> &choice) {
    KnapsackOption sum = sumOf(choice);
    if (fits(sum) && sum.value < bestValue) {
      best = choice;
      bestValue = sum.value;
    }
  }

  /// Exchanges one option after another for the one that gains most and still fits.
  void improve() {
    if (!best)
      return;
    std::vector<unsigned> choice = *best;
    KnapsackOption sum = sumOf(choice);
    while (true) {
      int64_t gain = 0;
      size_t item = 0;
      unsigned to = 0;
      for (size_t i = 0; i < choice.size(); ++i) {
        const KnapsackOption &now = problem.items[i][choice[i]];
        for (unsigned o = 0; o < problem.items[i].size(); ++o) {
          const KnapsackOption &other = problem.items[i][o];
          if (now.value - other.value <= gain)
            break; // options are by ascending value
          KnapsackOption with = sum + other;
          for (size_t c = 0; c < kBudgets; ++c)
            with.weights[c] -= now.weights[c];
          if (fits(with)) {
            gain = now.value - other.value;
            item = i;
            to = o;
          }
        }
      }
      if (gain == 0)
        break;
      choice[item] = to;
      sum = sumOf(choice);
    }
    offer(choice);
  }

  /// Items whose best option leads most come first: they are decided by the bound, and what is left open stays small.
  /// Then what is known of all that follows an item.
  void arrange() {
    const LagrangeMultipliers &by = multipliers.front();
    std::vector<__int128> leads;
    for (const auto &item : problem.items) {
      unsigned min = by.min(item);
      __int128 lead = item.size() == 1 ? (__int128(1) << 126) : -1;
      for (unsigned o = 0; o < item.size(); ++o) {
        __int128 more =
            by.lagrangian(item[o].value, item[o].weights) - by.lagrangian(item[min].value, item[min].weights);
        if (o != min && (lead < 0 || more < lead))
          lead = more;
      }
      leads.push_back(lead);
    }
    order.resize(problem.items.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return leads[a] != leads[b] ? leads[a] > leads[b] : a < b; });
    lightest.resize(order.size() + 1);
    prices.assign(order.size() + 1, std::vector<__int128>(multipliers.size()));
    likely.assign(order.size() + 1, std::vector<KnapsackOption>(multipliers.size()));
    for (size_t k = order.size(); k-- > 0;) {
      const auto &item = problem.items[order[k]];
      for (size_t c = 0; c < kBudgets; ++c)
        lightest[k].weights[c] = lightest[k + 1].weights[c] + minWeight(item, c);
      for (size_t m = 0; m < multipliers.size(); ++m) {
        const KnapsackOption &option = item[multipliers[m].min(item)];
        prices[k][m] = prices[k + 1][m] + multipliers[m].lagrangian(option.value, option.weights);
        likely[k][m] = likely[k + 1][m] + option;
      }
    }
  }

  /// What a partial choice of the items before `k` can become at least.
  int64_t boundOf(const KnapsackOption &sum, size_t k) const {
    int64_t bound = 0;
    for (size_t m = 0; m < multipliers.size(); ++m) {
      const LagrangeMultipliers &by = multipliers[m];
      __int128 lagrangian = by.lagrangian(sum.value, sum.weights) + prices[k][m];
      for (size_t c = 0; c < kBudgets; ++c)
        if (problem.budgets[c] != Knapsack::kUnlimited)
          lagrangian -= by.of[c] * problem.budgets[c];
      if (lagrangian > 0)
        bound = std::clamp<__int128>((lagrangian + by.scale - 1) / by.scale, bound, Knapsack::kUnlimited);
    }
    return bound;
  }

  void step(size_t k) {
    const auto &item = problem.items[order[k]];
    std::vector<Partial> next;
    for (uint32_t parent = 0; parent < levels[k].size(); ++parent)
      for (uint32_t option = 0; option < item.size(); ++option) {
        KnapsackOption sum = levels[k][parent].sum + item[option];
        ++seen;
        if (fits(KnapsackOption{0, sum.weights} + lightest[k + 1]) && boundOf(sum, k + 1) <= bestValue) {
          next.push_back({sum, parent, option});
          complete(next.back(), k);
        }
      }
    std::sort(next.begin(), next.end(), [](const Partial &a, const Partial &b) {
      return std::tie(a.sum, a.parent, a.option) < std::tie(b.sum, b.parent, b.option);
    });
    Front front;
    std::erase_if(next, [&](const Partial &partial) {
      return boundOf(partial.sum, k + 1) > bestValue || !front.add(partial.sum.weights);
    });
    limit(next, k + 1);
    levels.push_back(std::move(next));
  }

  /// Ends a partial choice with the likely options of all items that follow.
  void complete(const Partial &partial, size_t k) {
    for (size_t m = 0; m < multipliers.size(); ++m) {
      KnapsackOption whole = partial.sum + likely[k + 1][m];
      if (!fits(whole) || whole.value >= bestValue)
        continue;
      std::vector<unsigned> choice(order.size());
      for (size_t j = k + 1; j < order.size(); ++j)
        choice[order[j]] = multipliers[m].min(problem.items[order[j]]);
      Partial at = partial;
      for (size_t j = k + 1; j-- > 0; at = levels[j][at.parent])
        choice[order[j]] = at.option;
      offer(choice);
    }
  }

  /// Keeps those with the lowest bounds where there are too many.
  void limit(std::vector<Partial> &next, size_t k) {
    size_t max = std::max<uint64_t>(100, states / order.size());
    if (next.size() <= max)
      return;
    std::vector<std::pair<int64_t, size_t>> bounds;
    for (size_t i = 0; i < next.size(); ++i)
      bounds.push_back({boundOf(next[i].sum, k), i});
    std::nth_element(bounds.begin(), bounds.begin() + max, bounds.end());
    dropped = std::min(dropped, bounds[max].first);
    std::vector<bool> keep(next.size());
    for (size_t i = 0; i < max; ++i)
      keep[bounds[i].second] = true;
    size_t i = 0;
    std::erase_if(next, [&](const Partial &) { return !keep[i++]; });
  }

  KnapsackResult finish() {
    KnapsackResult out = impossible();
    out.states = seen;
    if (!levels.back().empty() && levels.back().front().sum.value <= bestValue) {
      std::vector<unsigned> choice(order.size());
      Partial at = levels.back().front();
      bestValue = at.sum.value;
      for (size_t k = order.size(); k-- > 0; at = levels[k][at.parent])
        choice[order[k]] = at.option;
      best = std::move(choice);
    }
    out.bound = std::min(dropped, bestValue);
    if (!best)
      return out;
    out.feasible = true;
    out.value = bestValue;
    for (size_t i = 0; i < best->size(); ++i)
      out.choice.push_back(original[i][(*best)[i]]);
    return out;
  }
};

} // namespace

KnapsackResult solve(const Knapsack &problem, uint64_t states) { return Search(problem, states).run(); }

std::vector<unsigned> paretoFront(const std::vector<KnapsackOption> &options) {
  std::vector<unsigned> numbers(options.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::sort(numbers.begin(), numbers.end(),
            [&](unsigned a, unsigned b) { return std::tie(options[a], a) < std::tie(options[b], b); });
  Front front;
  std::erase_if(numbers, [&](unsigned i) { return !front.add(options[i].weights); });
  return numbers;
}

} // namespace accord
