#include "lib/sparsity/solve/FabricAllocation.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace accord {
namespace {

constexpr size_t kDimensions = kFabricBudgets + 1; ///< the last one is bits
constexpr double kSlack = 1e-9, kPrecision = 1e-9;
constexpr unsigned kPriceSteps = 240, kRepairRounds = 30, kHalvings = 60, kLastSteps = 20, kLowerSteps = 8;
constexpr uint64_t kPartOfEffort = 100; ///< of all, for one search in depth; the last ones have a tenth of all

using Shares = std::array<double, kDimensions>; ///< of the budgets
using Whole = std::array<int64_t, kDimensions>;

Whole wholeOf(const AllocationOption &option) {
  Whole out;
  std::copy(option.weights.begin(), option.weights.end(), out.begin());
  out.back() = option.bits;
  return out;
}

double dot(const Shares &a, const Shares &b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Whether some choice has an interval of at most `interval`. Takes from `work` what it looks at, and from prices of
/// budgets what others found, and leaves its own.
class IntervalDecision {
public:
  IntervalDecision(const AllocationProblem &problem, double interval, Shares &prices, uint64_t &work, uint64_t effort)
      : problem(problem), interval(interval), prices(prices), work(work), effort(effort) {}

  std::vector<unsigned> choice; ///< where there is one

  std::optional<bool> run() {
    if (!limits() || !collect())
      return false;
    if (auto known = byPrices())
      return known;
    if (work == 0)
      return std::nullopt;
    if (repair(nearest))
      return true;
    return search();
  }

private:
  /// An option that may be taken.
  struct Candidate {
    unsigned number = 0;
    Shares shares = {};
    Whole whole = {};
    bool wasCheapest = false; ///< at some prices
  };

  const AllocationProblem &problem;
  double interval;
  Shares &prices;
  uint64_t &work;
  uint64_t effort;
  Whole budgets = {};
  std::array<bool, kDimensions> limited = {};
  std::vector<std::vector<Candidate>> kinds;
  std::vector<double> counts;    ///< of items of a kind
  std::vector<unsigned> nearest; ///< candidates by item: those that exceed budgets least so far
  double nearestExcess = HUGE_VAL;
  Shares boundingPrices = {};
  double bound = 0;

  bool spend(uint64_t steps) {
    work -= std::min(work, steps);
    return work > 0;
  }

  const std::vector<Candidate> &candidatesOf(size_t item) const { return kinds[problem.items[item]]; }

  bool limits() {
    std::copy(problem.budgets.begin(), problem.budgets.end(), budgets.begin());
    budgets.back() = AllocationProblem::kUnlimited;
    if (problem.cyclesPerBit > 0 && interval < AllocationResult::kNever) {
      const double bits = std::floor(interval / problem.cyclesPerBit * (1 + 1e-15)) - problem.fixedBits;
      if (bits < 0)
        return false;
      if (bits < std::ldexp(1.0, 62))
        budgets.back() = static_cast<int64_t>(bits);
    }
    return llvm::all_of(budgets, [](int64_t budget) { return budget >= 0; });
  }

  static bool isNoMore(const Candidate &a, const Candidate &b, const std::array<bool, kDimensions> &of) {
    for (size_t k = 0; k < kDimensions; ++k)
      if (of[k] && a.whole[k] > b.whole[k])
        return false;
    return true;
  }

  /// The options that keep the interval, without those that another one is not more than.
  bool collect() {
    counts.assign(problem.kinds.size(), 0.0);
    for (size_t kind : problem.items)
      ++counts[kind];
    std::array<double, kDimensions> maxSum = {};
    for (size_t kind = 0; kind < problem.kinds.size(); ++kind) {
      const std::vector<AllocationOption> &options = problem.kinds[kind];
      std::vector<Candidate> &kept = kinds.emplace_back();
      Shares max = {};
      for (unsigned o = 0; o < options.size(); ++o) {
        Candidate candidate{o, {}, wholeOf(options[o]), false};
        bool fits = options[o].cycles <= interval;
        for (size_t k = 0; fits && k < kDimensions; ++k)
          fits = candidate.whole[k] <= budgets[k];
        if (!fits)
          continue;
        for (size_t k = 0; k < kDimensions; ++k)
          max[k] = std::max(max[k], static_cast<double>(candidate.whole[k]));
        kept.push_back(candidate);
      }
      if (kept.empty() && counts[kind] > 0)
        return false;
      for (size_t k = 0; k < kDimensions; ++k)
        maxSum[k] += counts[kind] * max[k];
    }
    for (size_t k = 0; k < kDimensions; ++k)
      limited[k] = budgets[k] < AllocationProblem::kUnlimited && maxSum[k] > static_cast<double>(budgets[k]);
    for (std::vector<Candidate> &all : kinds)
      reduce(all);
    return true;
  }

  void reduce(std::vector<Candidate> &all) {
    // Of those that are equal in what is limited, the one that takes the smallest shares of all.
    std::vector<std::tuple<double, double, unsigned>> order;
    for (unsigned c = 0; c < all.size(); ++c) {
      double sum = 0, sumOfAll = 0;
      for (size_t k = 0; k < kDimensions; ++k) {
        if (budgets[k] == AllocationProblem::kUnlimited)
          continue;
        const double share = static_cast<double>(all[c].whole[k]) / std::max(1.0, static_cast<double>(budgets[k]));
        all[c].shares[k] = limited[k] ? share : 0;
        sum += all[c].shares[k];
        sumOfAll += share;
      }
      order.emplace_back(sum, sumOfAll, c);
    }
    std::sort(order.begin(), order.end());
    std::vector<Candidate> kept;
    for (const auto &[sum, sumOfAll, c] : order) {
      if (llvm::none_of(kept, [&](const Candidate &other) { return isNoMore(other, all[c], limited); }))
        kept.push_back(all[c]);
      spend(1 + kept.size() / 4);
    }
    all = std::move(kept);
  }

  Shares sharesOf(const std::vector<unsigned> &of) const {
    Shares sum = {};
    for (size_t i = 0; i < of.size(); ++i)
      for (size_t k = 0; k < kDimensions; ++k)
        sum[k] += candidatesOf(i)[of[i]].shares[k];
    return sum;
  }

  bool keeps(const std::vector<unsigned> &of) {
    std::array<__int128, kDimensions> sums = {};
    for (size_t i = 0; i < of.size(); ++i)
      for (size_t k = 0; k < kDimensions; ++k)
        sums[k] += candidatesOf(i)[of[i]].whole[k];
    for (size_t k = 0; k < kDimensions; ++k)
      if (sums[k] > budgets[k])
        return false;
    choice.clear();
    for (size_t i = 0; i < of.size(); ++i)
      choice.push_back(candidatesOf(i)[of[i]].number);
    return true;
  }

  /// Prices rise where budgets are exceeded.
  std::optional<bool> byPrices() {
    Shares current = {};
    double sum = 0;
    for (size_t k = 0; k < kDimensions; ++k)
      sum += current[k] = limited[k] ? prices[k] + 1e-4 : 0;
    std::vector<unsigned> cheapest(kinds.size()), choices(problem.items.size());
    for (unsigned step = 0; step < kPriceSteps; ++step) {
      if (sum > 0)
        for (double &price : current)
          price /= sum;
      double total = 0;
      for (size_t kind = 0; kind < kinds.size(); ++kind) {
        double min = HUGE_VAL;
        for (unsigned c = 0; c < kinds[kind].size(); ++c)
          if (double price = dot(kinds[kind][c].shares, current); price < min)
            min = price, cheapest[kind] = c;
        if (counts[kind] > 0) {
          total += counts[kind] * min;
          kinds[kind][cheapest[kind]].wasCheapest = true;
        }
        spend(kinds[kind].size());
      }
      if (total > bound)
        bound = total, boundingPrices = current;
      if (total > 1 + kSlack) {
        prices = current;
        return false;
      }
      for (size_t i = 0; i < choices.size(); ++i)
        choices[i] = cheapest[problem.items[i]];
      const Shares used = sharesOf(choices);
      double excess = 0;
      for (double share : used)
        excess += std::max(0.0, share - 1);
      if (excess < nearestExcess) {
        nearestExcess = excess;
        nearest = choices;
        if (excess <= kSlack && keeps(choices)) {
          prices = current;
          return true;
        }
      }
      const double rate = 2.0 / std::sqrt(1.0 + step);
      sum = 0;
      for (size_t k = 0; k < kDimensions; ++k)
        sum += current[k] *= limited[k] ? std::exp(rate * std::clamp(used[k] - 1, -1.0, 1.0)) : 0;
    }
    prices = boundingPrices;
    return std::nullopt;
  }

  /// Single changes that lessen what exceeds; where none does, what is exceeded weighs more. First among candidates
  /// that were cheapest at some prices, in the end among all.
  bool repair(std::vector<unsigned> of) {
    Shares weights;
    weights.fill(1);
    Shares used = sharesOf(of);
    auto excess = [&](const Shares &shares) {
      double sum = 0;
      for (size_t k = 0; k < kDimensions; ++k)
        sum += weights[k] * std::max(0.0, shares[k] - 1) + 1e-6 * boundingPrices[k] * shares[k];
      return sum;
    };
    for (unsigned round = 0; round < kRepairRounds; ++round) {
      const bool amongAll = round + 3 >= kRepairRounds;
      double now = excess(used);
      for (bool better = true; better;) {
        better = false;
        size_t item = 0;
        unsigned candidate = 0;
        for (size_t i = 0; i < of.size(); ++i) {
          const std::vector<Candidate> &all = candidatesOf(i);
          uint64_t looked = 1;
          for (unsigned c = 0; c < all.size(); ++c) {
            if (!amongAll && !all[c].wasCheapest)
              continue;
            ++looked;
            Shares after;
            for (size_t k = 0; k < kDimensions; ++k)
              after[k] = used[k] + all[c].shares[k] - all[of[i]].shares[k];
            if (double then = excess(after); then < now - 1e-9 * (1 + now))
              now = then, item = i, candidate = c, better = true;
          }
          if (!spend(looked))
            return false;
        }
        if (better) {
          of[item] = candidate;
          used = sharesOf(of);
          now = excess(used);
        }
      }
      if (keeps(of))
        return true;
      for (size_t k = 0; k < kDimensions; ++k)
        if (used[k] > 1)
          weights[k] *= 1.5;
    }
    return false;
  }

  /// In depth, with the best prices and each budget alone as bounds. Items of one kind take candidates in one order.
  std::optional<bool> search() {
    std::vector<Shares> by = {boundingPrices};
    for (size_t k = 0; k < kDimensions; ++k)
      if (limited[k]) {
        Shares alone = {};
        alone[k] = 1;
        by.push_back(alone);
      }
    const size_t count = problem.items.size(), bounds = by.size();
    // Kinds with the most different prices first, of each the cheapest candidate first.
    std::vector<double> spreads(kinds.size(), 0.0);
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      llvm::sort(kinds[kind], [&](const Candidate &a, const Candidate &b) {
        return std::pair(dot(a.shares, by[0]), a.number) < std::pair(dot(b.shares, by[0]), b.number);
      });
      if (!kinds[kind].empty())
        spreads[kind] = dot(kinds[kind].back().shares, by[0]) - dot(kinds[kind].front().shares, by[0]);
    }
    std::vector<std::tuple<double, size_t, size_t>> order;
    for (size_t i = 0; i < count; ++i)
      order.emplace_back(-spreads[problem.items[i]], problem.items[i], i);
    std::sort(order.begin(), order.end());
    std::vector<std::vector<double>> rest(count + 1, std::vector<double>(bounds, 0.0));
    for (size_t d = count; d-- > 0;)
      for (size_t b = 0; b < bounds; ++b) {
        double min = HUGE_VAL;
        for (const Candidate &candidate : kinds[std::get<1>(order[d])])
          min = std::min(min, dot(candidate.shares, by[b]));
        rest[d][b] = rest[d + 1][b] + min;
      }
    std::vector<unsigned> taken(count, 0), of(count, 0);
    std::vector<std::vector<double>> sums(count + 1, std::vector<double>(bounds, 0.0));
    size_t depth = 0;
    while (true) {
      if (depth == count) {
        for (size_t d = 0; d < count; ++d)
          of[std::get<2>(order[d])] = taken[d];
        if (keeps(of))
          return true;
        ++taken[--depth];
      }
      const std::vector<Candidate> &all = kinds[std::get<1>(order[depth])];
      bool deeper = false;
      for (unsigned &c = taken[depth]; c < all.size(); ++c) {
        effort -= std::min<uint64_t>(effort, bounds);
        if (effort == 0 || !spend(bounds))
          return std::nullopt;
        bool fits = true;
        for (size_t b = 0; fits && b < bounds; ++b) {
          sums[depth + 1][b] = sums[depth][b] + dot(all[c].shares, by[b]);
          fits = sums[depth + 1][b] + rest[depth + 1][b] <= 1 + kSlack;
          if (!fits && b == 0)
            c = all.size() - 1; // all others cost more
        }
        if (fits) {
          deeper = true;
          break;
        }
      }
      if (deeper) {
        if (++depth < count)
          taken[depth] = std::get<1>(order[depth]) == std::get<1>(order[depth - 1]) ? taken[depth - 1] : 0;
        continue;
      }
      if (depth == 0)
        return false;
      ++taken[--depth];
    }
  }
};

class Allocator {
public:
  Allocator(const AllocationProblem &problem, uint64_t effort) : problem(problem), effort(effort), work(effort) {
    prices.fill(1);
  }

  AllocationResult run() {
    auto any = decide(AllocationResult::kNever, effort / 4);
    if (!any || !*any) {
      out.minInterval = any ? AllocationResult::kNever : 0;
      return std::move(out);
    }
    double open = excluded = fastest();
    if (auto all = decide(excluded, effort / kPartOfEffort); all && *all) {
      out.minInterval = out.interval;
      lessen();
      return std::move(out);
    }
    for (unsigned i = 0; i < kHalvings && out.interval - open > 1e-6 * out.interval; ++i) {
      const double middle =
          out.interval > 4 * open && open > 0 ? std::sqrt(open * out.interval) : open + (out.interval - open) / 2;
      auto known = decide(middle, effort / kPartOfEffort);
      if (known && *known)
        continue;
      open = middle;
      if (known)
        excluded = middle;
    }
    last(open);
    out.minInterval = excluded;
    lessen();
    return std::move(out);
  }

private:
  const AllocationProblem &problem;
  uint64_t effort, work;
  Shares prices = {};

  const std::vector<AllocationOption> &optionsOf(size_t item) const { return problem.kinds[problem.items[item]]; }

  /// Options that take smaller shares of what there is, one item after another, as long as nothing becomes slower.
  void lessen() {
    Whole budgets;
    std::copy(problem.budgets.begin(), problem.budgets.end(), budgets.begin());
    budgets.back() = problem.cyclesPerBit > 0
                         ? static_cast<int64_t>(std::min(out.interval / problem.cyclesPerBit * (1 + 1e-15) -
                                                             static_cast<double>(problem.fixedBits),
                                                         std::ldexp(1.0, 62)))
                         : AllocationProblem::kUnlimited;
    std::array<__int128, kDimensions> sums = {};
    for (size_t i = 0; i < problem.items.size(); ++i)
      for (size_t k = 0; k < kDimensions; ++k)
        sums[k] += wholeOf(optionsOf(i)[out.choice[i]])[k];
    auto shareOf = [&](const Whole &whole) {
      double share = 0;
      for (size_t k = 0; k < kDimensions; ++k)
        if (budgets[k] < AllocationProblem::kUnlimited)
          share += static_cast<double>(whole[k]) / std::max(1.0, static_cast<double>(budgets[k]));
      return share;
    };
    for (bool better = true; better;) {
      better = false;
      for (size_t i = 0; i < problem.items.size(); ++i) {
        const Whole before = wholeOf(optionsOf(i)[out.choice[i]]);
        double min = shareOf(before) * (1 - 1e-12);
        std::optional<unsigned> smaller;
        for (unsigned o = 0; o < optionsOf(i).size(); ++o) {
          const AllocationOption &option = optionsOf(i)[o];
          const Whole whole = wholeOf(option);
          bool fits = option.cycles <= out.interval && shareOf(whole) < min;
          for (size_t k = 0; fits && k < kDimensions; ++k)
            fits = sums[k] - before[k] + whole[k] <= budgets[k];
          if (fits)
            min = shareOf(whole), smaller = o;
        }
        if (!smaller)
          continue;
        const Whole after = wholeOf(optionsOf(i)[*smaller]);
        for (size_t k = 0; k < kDimensions; ++k)
          sums[k] += after[k] - before[k];
        out.choice[i] = *smaller;
        better = true;
      }
    }
  }
  AllocationResult out;
  double excluded = 0; ///< no interval is shorter

  /// Notes the choice where there is one.
  std::optional<bool> decide(double interval, uint64_t limit) {
    IntervalDecision decision(problem, interval, prices, work, limit);
    auto known = decision.run();
    if (known && *known) {
      out.feasible = true;
      out.choice = decision.choice;
      double slowest = 0, bits = static_cast<double>(problem.fixedBits);
      for (size_t i = 0; i < problem.items.size(); ++i) {
        const AllocationOption &option = optionsOf(i)[out.choice[i]];
        slowest = std::max(slowest, option.cycles);
        bits += static_cast<double>(option.bits);
      }
      out.interval = std::max(slowest, bits * problem.cyclesPerBit);
    }
    return known;
  }

  /// What no choice is below: the fastest option of each layer, the fewest bits of all.
  double fastest() const {
    double slowest = 0, bits = static_cast<double>(problem.fixedBits);
    for (size_t kind : problem.items) {
      const std::vector<AllocationOption> &options = problem.kinds[kind];
      double min = HUGE_VAL, minBits = HUGE_VAL;
      for (const AllocationOption &option : options) {
        min = std::min(min, option.cycles);
        minBits = std::min(minBits, static_cast<double>(option.bits));
      }
      slowest = std::max(slowest, min);
      bits += minBits;
    }
    return std::max(slowest, bits * problem.cyclesPerBit);
  }

  /// What is a little shorter than the best one, until there is none; else more of what can be excluded.
  void last(double open) {
    for (unsigned i = 0; i < kLastSteps; ++i) {
      auto known = decide(out.interval * (1 - kPrecision), effort / 10);
      if (known && *known)
        continue;
      if (known)
        excluded = out.interval;
      break;
    }
    double high = std::min(open, out.interval);
    for (unsigned i = 0; i < kLowerSteps && excluded < high * (1 - 1e-4); ++i) {
      const double middle = (excluded + high) / 2;
      auto known = decide(middle, effort / kPartOfEffort);
      (known && !*known ? excluded : high) = middle;
    }
  }
};

} // namespace

AllocationResult allocate(const AllocationProblem &problem, uint64_t effort) {
  return Allocator(problem, effort).run();
}

std::optional<bool> isReachable(const AllocationProblem &problem, double interval, uint64_t effort) {
  Shares prices;
  prices.fill(1);
  uint64_t work = effort;
  return IntervalDecision(problem, interval, prices, work, effort).run();
}

std::vector<unsigned> allocationFront(const std::vector<AllocationOption> &options) {
  std::vector<unsigned> order(options.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return std::tie(options[a].cycles, options[a].bits, options[a].weights, a) <
           std::tie(options[b].cycles, options[b].bits, options[b].weights, b);
  });
  std::vector<unsigned> kept;
  for (unsigned o : order) {
    const AllocationOption &option = options[o];
    const bool isWorse = llvm::any_of(kept, [&](unsigned other) {
      const AllocationOption &than = options[other];
      if (than.bits > option.bits)
        return false;
      for (size_t k = 0; k < kFabricBudgets; ++k)
        if (than.weights[k] > option.weights[k])
          return false;
      return true;
    });
    if (!isWorse)
      kept.push_back(o);
  }
  return kept;
}

} // namespace accord
