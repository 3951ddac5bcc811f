#include "lib/offers/solve/ChoiceSearch.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace accord::offers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Share by which sums in another order may differ.
constexpr double kRounding = 1e-12;
/// Partial choices that one is compared with.
constexpr size_t kComparisons = 128;
constexpr int kPriceRounds = 200;
/// Partial choices that are looked at with an effort of 0, about.
constexpr size_t kWork = 25'000;

bool usesNoMore(const std::vector<double> &a, const std::vector<double> &b) {
  for (size_t r = 0; r < a.size(); ++r)
    if (a[r] > b[r])
      return false;
  return true;
}

class ChoiceSearch {
public:
  ChoiceSearch(ChoiceProblem problem, const SearchLimits &limits)
      : problem(std::move(problem)), limits(limits), resources(this->problem.capacities.size()),
        groups(this->problem.groups.size()) {}

  ChoiceSolution run() {
    for (std::vector<ChoiceCandidate> &group : problem.groups)
      removeDominated(group);
    if (!prepare())
      return infeasible();
    optimizePrices();
    setSuffixes();
    size_t candidates = 1;
    for (const std::vector<ChoiceCandidate> &group : problem.groups)
      candidates += group.size();
    const unsigned effort = std::min(limits.effort, 10u);
    const size_t max = std::clamp((kWork << effort) / candidates, size_t(16), size_t(1024) << effort);
    for (size_t width = std::min<size_t>(256, max);; width *= 8) {
      const double dropped = extend(std::min(width, max));
      best.bound = std::min(best.found ? best.value : kInfinity, dropped);
      best.bound = std::max(best.bound, std::min(rootBound, best.found ? best.value : kInfinity));
      if (dropped == kInfinity || width >= max || limits.stopped())
        return best;
    }
  }

private:
  /// A choice for the first groups.
  struct Partial {
    double value = 0;
    double bound = 0; ///< of every completion
    unsigned parent = 0, candidate = 0;
  };

  ChoiceSolution infeasible() const {
    ChoiceSolution none;
    none.bound = kInfinity;
    return none;
  }

  /// Removes candidates that do not fit beside the smallest uses of all other groups; false where a group has none.
  bool prepare() {
    for (size_t r = 0; r < resources; ++r) {
      std::vector<double> min(groups, kInfinity);
      double sum = 0;
      for (size_t g = 0; g < groups; ++g) {
        for (const ChoiceCandidate &candidate : problem.groups[g])
          min[g] = std::min(min[g], candidate.uses[r]);
        sum += min[g];
      }
      const double capacity = tolerant(problem.capacities[r]);
      if (!(sum <= capacity))
        return false;
      for (size_t g = 0; g < groups; ++g)
        std::erase_if(problem.groups[g],
                      [&](const ChoiceCandidate &candidate) { return sum - min[g] + candidate.uses[r] > capacity; });
    }
    return std::ranges::none_of(problem.groups, [](const auto &group) { return group.empty(); });
  }
  static double tolerant(double capacity) { return capacity + std::abs(capacity) * kRounding; }

  /// What a candidate costs, with what it uses at the prices.
  double priced(const ChoiceCandidate &candidate) const {
    double sum = candidate.value;
    for (size_t r = 0; r < resources; ++r)
      sum += prices[r] * candidate.uses[r];
    return sum;
  }

  /// Subgradient steps on prices for the capacities (Fisher, Management Science 27, 1981): each set of prices, 0 or
  /// more, gives a bound, and the best one found is kept.
  void optimizePrices() {
    prices.assign(resources, 0);
    std::vector<double> kept = prices;
    double step = 1;
    for (int round = 0; round < (resources ? kPriceRounds : 1); ++round) {
      double bound = 0, norm = 0;
      std::vector<double> excess(resources);
      for (size_t r = 0; r < resources; ++r) {
        excess[r] = -problem.capacities[r];
        bound -= prices[r] * problem.capacities[r];
      }
      double total = 0;
      for (const std::vector<ChoiceCandidate> &group : problem.groups) {
        const ChoiceCandidate *min = nullptr;
        double cost = kInfinity;
        for (const ChoiceCandidate &candidate : group)
          if (double priced = this->priced(candidate); priced < cost)
            cost = priced, min = &candidate;
        bound += cost;
        total += min->value;
        for (size_t r = 0; r < resources; ++r)
          excess[r] += min->uses[r];
      }
      if (round == 0 || bound > rootBound)
        rootBound = bound, kept = prices;
      else if (round % 10 == 0)
        step *= 0.7;
      // Resources are scaled by their capacities, so that watts and dollars move alike.
      for (size_t r = 0; r < resources; ++r)
        norm += std::pow(excess[r] / scale(r), 2);
      if (!(norm > 0))
        break;
      const double length = step * std::max(total, 1e-9) * 0.1 / norm;
      for (size_t r = 0; r < resources; ++r)
        prices[r] = std::max(0.0, prices[r] + length * excess[r] / (scale(r) * scale(r)));
    }
    prices = kept;
    rootBound -= std::abs(rootBound) * kRounding;
  }
  double scale(size_t r) const { return problem.capacities[r] > 0 ? problem.capacities[r] : 1; }

  void setSuffixes() {
    pricedAfter.assign(groups + 1, 0);
    usesAfter.assign(groups + 1, std::vector<double>(resources, 0));
    for (size_t g = groups; g-- > 0;) {
      double cost = kInfinity;
      std::vector<double> min(resources, kInfinity);
      for (const ChoiceCandidate &candidate : problem.groups[g]) {
        cost = std::min(cost, priced(candidate));
        for (size_t r = 0; r < resources; ++r)
          min[r] = std::min(min[r], candidate.uses[r]);
      }
      pricedAfter[g] = pricedAfter[g + 1] + cost;
      for (size_t r = 0; r < resources; ++r)
        usesAfter[g][r] = usesAfter[g + 1][r] + min[r];
    }
  }

  bool isPruned(double bound) const { return best.found && bound >= best.value - std::abs(best.value) * kRounding; }

  /// Keeps at most `width` partial choices of each number of groups. Returns the smallest bound of those that this
  /// left out; infinite where it left out none.
  double extend(size_t width) {
    double dropped = kInfinity;
    layers.assign(1, {Partial{}});
    std::vector<std::vector<double>> uses{std::vector<double>(resources, 0)};
    for (size_t g = 0; g < groups; ++g) {
      std::vector<Partial> next;
      std::vector<std::vector<double>> nextUses;
      for (unsigned p = 0; p < layers[g].size(); ++p)
        addChildren(g, p, uses[p], next, nextUses);
      keep(width, next, nextUses, dropped);
      layers.push_back(std::move(next));
      uses = std::move(nextUses);
    }
    for (unsigned p = 0; p < layers.back().size(); ++p)
      if (const Partial &whole = layers.back()[p]; !best.found || whole.value < best.value)
        accept(p);
    return isPruned(dropped) ? kInfinity : dropped;
  }

  void addChildren(size_t g, unsigned parent, const std::vector<double> &used, std::vector<Partial> &next,
                   std::vector<std::vector<double>> &nextUses) {
    const bool isLast = g + 1 == groups;
    std::vector<double> sums(resources);
    for (unsigned c = 0; c < problem.groups[g].size(); ++c) {
      const ChoiceCandidate &candidate = problem.groups[g][c];
      Partial child{layers[g][parent].value + candidate.value, 0, parent, c};
      child.bound = child.value + pricedAfter[g + 1];
      bool fits = true;
      for (size_t r = 0; r < resources && fits; ++r) {
        sums[r] = used[r] + candidate.uses[r];
        child.bound += prices[r] * (sums[r] - problem.capacities[r]);
        fits = isLast ? sums[r] <= problem.capacities[r]
                      : sums[r] + usesAfter[g + 1][r] <= tolerant(problem.capacities[r]);
      }
      if (!fits || isPruned(child.bound))
        continue;
      ++best.work;
      next.push_back(child);
      nextUses.push_back(sums);
    }
  }

  /// Drops dominated partial choices, and all but the `width` of the smallest bounds.
  void keep(size_t width, std::vector<Partial> &next, std::vector<std::vector<double>> &uses, double &dropped) {
    std::vector<unsigned> order(next.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, [&](unsigned a, unsigned b) {
      if (next[a].value != next[b].value)
        return next[a].value < next[b].value;
      if (uses[a] != uses[b])
        return uses[a] < uses[b];
      return a < b;
    });
    std::vector<unsigned> kept;
    for (unsigned one : order) {
      auto dominates = [&](unsigned other) { return usesNoMore(uses[other], uses[one]); };
      const auto compared = static_cast<ptrdiff_t>(std::min(kept.size(), kComparisons));
      if (std::none_of(kept.begin(), kept.begin() + compared, dominates) &&
          (kept.size() <= kComparisons || std::none_of(kept.end() - compared, kept.end(), dominates)))
        kept.push_back(one);
    }
    if (kept.size() > width) {
      std::ranges::sort(kept, [&](unsigned a, unsigned b) {
        return next[a].bound != next[b].bound ? next[a].bound < next[b].bound : a < b;
      });
      dropped = std::min(dropped, next[kept[width]].bound);
      kept.resize(width);
    }
    std::vector<Partial> partials;
    std::vector<std::vector<double>> keptUses;
    for (unsigned one : kept) {
      partials.push_back(next[one]);
      keptUses.push_back(std::move(uses[one]));
    }
    next = std::move(partials);
    uses = std::move(keptUses);
  }

  void accept(unsigned last) {
    best.found = true;
    best.value = layers.back()[last].value;
    best.choice.assign(groups, 0);
    for (size_t g = groups; g-- > 0;) {
      const Partial &partial = layers[g + 1][last];
      best.choice[g] = problem.groups[g][partial.candidate].option;
      last = partial.parent;
    }
  }

  ChoiceProblem problem;
  const SearchLimits &limits;
  const size_t resources, groups;
  std::vector<double> prices;
  double rootBound = 0;
  std::vector<double> pricedAfter;            ///< of the groups from one on, at the prices
  std::vector<std::vector<double>> usesAfter; ///< the smallest that they use
  std::vector<std::vector<Partial>> layers;   ///< by the number of groups
  ChoiceSolution best;
};

} // namespace

void removeDominated(std::vector<ChoiceCandidate> &candidates) {
  std::vector<unsigned> order(candidates.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](unsigned a, unsigned b) {
    if (candidates[a].value != candidates[b].value)
      return candidates[a].value < candidates[b].value;
    if (candidates[a].uses != candidates[b].uses)
      return candidates[a].uses < candidates[b].uses;
    return a < b;
  });
  std::vector<ChoiceCandidate> kept;
  for (unsigned one : order)
    if (std::ranges::none_of(
            kept, [&](const ChoiceCandidate &other) { return usesNoMore(other.uses, candidates[one].uses); }))
      kept.push_back(candidates[one]);
  candidates = std::move(kept);
}

ChoiceSolution searchChoice(ChoiceProblem problem, const SearchLimits &limits) {
  return ChoiceSearch(std::move(problem), limits).run();
}

} // namespace accord::offers
