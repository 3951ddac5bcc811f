#include "lib/partitioning/solve/ConfigurationChoice.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace accord::partitioning {
namespace {

class ChoiceSearch {
public:
  ChoiceSearch(const std::vector<std::vector<ChoiceItem>> &classes, double capacity, double cutoff, int64_t maxNodes)
      : classes(classes), capacity(capacity), bestCost(cutoff), maxNodes(maxNodes), decided(classes.size(), -1) {
    hulls.reserve(classes.size());
    for (const auto &one : classes)
      hulls.push_back(hullOf(one));
  }

  std::optional<Choice> run(ChoiceEffort &effort) {
    branch();
    effort.isExact &= !limited;
    effort.work += nodes * static_cast<int64_t>(1 + classes.size() / 16);
    return std::move(best);
  }

private:
  /// Items by weight on the lower convex hull: lightest first, each next one cheaper at a falling rate.
  static std::vector<ChoiceItem> hullOf(std::vector<ChoiceItem> items) {
    llvm::sort(items, [](const ChoiceItem &a, const ChoiceItem &b) {
      return std::tie(a.weight, a.cost, a.index) < std::tie(b.weight, b.cost, b.index);
    });
    std::vector<ChoiceItem> hull;
    for (const ChoiceItem &item : items) {
      if (!hull.empty() && item.cost >= hull.back().cost)
        continue;
      while (hull.size() > 1) {
        const ChoiceItem &a = hull[hull.size() - 2], &b = hull.back();
        if ((a.cost - b.cost) * (item.weight - b.weight) > (b.cost - item.cost) * (b.weight - a.weight))
          break;
        hull.pop_back();
      }
      hull.push_back(item);
    }
    return hull;
  }

  struct Step {
    double rate = 0, cost = 0, weight = 0; ///< what it saves for how much more
    uint32_t of = 0, to = 0;
  };

  /// The linear relaxation: all steps of the hulls by rate, the last one in part. The class of the part is `split`; -1
  /// where the relaxation is a choice, which `chosen` then is.
  double relax(int64_t &split, std::vector<uint32_t> &chosen, double &weight) {
    double cost = 0;
    weight = 0;
    std::vector<Step> steps;
    chosen.assign(classes.size(), 0);
    for (uint32_t c = 0; c < classes.size(); ++c) {
      const ChoiceItem &item = decided[c] < 0 ? hulls[c].front() : classes[c][decided[c]];
      cost += item.cost;
      weight += item.weight;
      for (uint32_t i = 1; decided[c] < 0 && i < hulls[c].size(); ++i) {
        const ChoiceItem &a = hulls[c][i - 1], &b = hulls[c][i];
        steps.push_back({(a.cost - b.cost) / (b.weight - a.weight), a.cost - b.cost, b.weight - a.weight, c, i});
      }
    }
    split = -1;
    if (weight > capacity)
      return std::numeric_limits<double>::infinity();
    llvm::sort(steps, [](const Step &a, const Step &b) {
      return std::tie(b.rate, a.of, a.to) < std::tie(a.rate, b.of, b.to);
    });
    for (const Step &step : steps) {
      if (weight + step.weight > capacity) {
        split = step.of;
        return cost - step.rate * (capacity - weight);
      }
      weight += step.weight;
      cost -= step.cost;
      chosen[step.of] = step.to;
    }
    return cost;
  }

  void record(const std::vector<uint32_t> &chosen) {
    Choice made;
    for (uint32_t c = 0; c < classes.size(); ++c) {
      const ChoiceItem &item = decided[c] < 0 ? hulls[c][chosen[c]] : classes[c][decided[c]];
      made.cost += item.cost;
      made.weight += item.weight;
      made.index.push_back(item.index);
    }
    if (made.weight <= capacity && made.cost < bestCost) {
      bestCost = made.cost;
      best = std::move(made);
    }
  }

  void branch() {
    if (++nodes > maxNodes) {
      limited = true;
      return;
    }
    int64_t split = -1;
    std::vector<uint32_t> chosen;
    double weight = 0;
    if (relax(split, chosen, weight) >= bestCost * (1 - 1e-9))
      return;
    record(chosen); // without the step that does not fit
    if (split < 0)
      return;
    for (size_t i = 0; i < classes[split].size() && !limited; ++i) {
      decided[split] = static_cast<int64_t>(i);
      branch();
    }
    decided[split] = -1;
  }

  const std::vector<std::vector<ChoiceItem>> &classes;
  std::vector<std::vector<ChoiceItem>> hulls;
  double capacity, bestCost;
  int64_t maxNodes;
  std::vector<int64_t> decided; ///< by class: an item; -1 while it is open
  std::optional<Choice> best;
  int64_t nodes = 0;
  bool limited = false;
};

} // namespace

std::optional<Choice> chooseItems(const std::vector<std::vector<ChoiceItem>> &classes, double capacity, double cutoff,
                                  int64_t maxNodes, ChoiceEffort &effort) {
  // What is cheapest of each often fits, or what is lightest of each does not.
  Choice cheapest;
  double lightest = 0;
  for (const auto &items : classes) {
    if (items.empty())
      return std::nullopt;
    const ChoiceItem *best = &items[0];
    double light = items[0].weight;
    for (const ChoiceItem &item : items) {
      if (std::tie(item.cost, item.weight) < std::tie(best->cost, best->weight))
        best = &item;
      light = std::min(light, item.weight);
    }
    cheapest.cost += best->cost;
    cheapest.weight += best->weight;
    cheapest.index.push_back(best->index);
    lightest += light;
  }
  if (cheapest.cost >= cutoff || lightest > capacity)
    return std::nullopt;
  if (cheapest.weight <= capacity)
    return cheapest;
  return ChoiceSearch(classes, capacity, cutoff, maxNodes).run(effort);
}

namespace {

/// Costs and a weight so far, and what they were made of.
struct PartialChoice {
  double first = 0, second = 0, weight = 0;
  uint32_t before = 0, index = 0; ///< place in the list of the class before, and the configuration
};

/// Leaves those out that another one is as good as in both costs, and in the weight unless that is `free`. Returns how
/// many pairs were compared.
int64_t keepNondominated(std::vector<PartialChoice> &all, bool isFree) {
  constexpr double kNear = 1 + 1e-12;
  llvm::sort(all, [](const PartialChoice &a, const PartialChoice &b) {
    return std::tie(a.first, a.second, a.weight, a.before, a.index) <
           std::tie(b.first, b.second, b.weight, b.before, b.index);
  });
  std::vector<PartialChoice> kept;
  int64_t pairs = 0;
  for (const PartialChoice &one : all) {
    auto isAsGood = [&](const PartialChoice &other) {
      return ++pairs, other.second <= one.second * kNear && (isFree || other.weight <= one.weight * kNear);
    };
    if (llvm::none_of(isFree && !kept.empty() ? llvm::ArrayRef(kept).take_back() : llvm::ArrayRef(kept), isAsGood))
      kept.push_back(one);
  }
  all = std::move(kept);
  return pairs;
}

} // namespace

std::vector<TwoCostChoice> chooseByTwoCosts(const std::vector<std::vector<TwoCostItem>> &classes, double capacity,
                                            double cutoff, size_t maxChoices, ChoiceEffort &effort) {
  std::vector<std::vector<PartialChoice>> lists = {{{}}};
  // What the classes that come later add at least.
  std::vector<TwoCostItem> later(classes.size() + 1);
  for (size_t c = classes.size(); c-- > 0;) {
    if (classes[c].empty())
      return {};
    TwoCostItem min = classes[c][0];
    for (const TwoCostItem &item : classes[c])
      min = {std::min(min.first, item.first), std::min(min.second, item.second), std::min(min.weight, item.weight), 0};
    later[c] = {later[c + 1].first + min.first, later[c + 1].second + min.second, later[c + 1].weight + min.weight, 0};
  }
  for (size_t c = 0; c < classes.size(); ++c) {
    std::vector<PartialChoice> next;
    const std::vector<PartialChoice> &list = lists.back();
    const TwoCostItem &rest = later[c + 1];
    for (uint32_t i = 0; i < list.size(); ++i)
      for (const TwoCostItem &item : classes[c]) {
        PartialChoice made{list[i].first + item.first, list[i].second + item.second, list[i].weight + item.weight, i,
                           item.index};
        if (made.weight + rest.weight <= capacity && made.first + made.second + rest.first + rest.second < cutoff)
          next.push_back(made);
      }
    effort.work += static_cast<int64_t>(next.size()) / 16;
    effort.work += keepNondominated(next, c + 1 == classes.size()) / 256;
    if (next.size() > maxChoices) {
      effort.isExact = false;
      llvm::sort(
          next, [](const PartialChoice &a, const PartialChoice &b) { return a.first + a.second < b.first + b.second; });
      next.resize(maxChoices);
    }
    lists.push_back(std::move(next));
  }
  std::vector<TwoCostChoice> choices;
  for (const PartialChoice &last : lists.back()) {
    TwoCostChoice &made = choices.emplace_back();
    made = {last.first, last.second, last.weight, std::vector<uint32_t>(classes.size())};
    const PartialChoice *at = &last;
    for (size_t c = classes.size(); c-- > 0; at = &lists[c][at->before])
      made.index[c] = at->index;
  }
  return choices;
}

} // namespace accord::partitioning
