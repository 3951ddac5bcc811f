#include "lib/placement/solve/RecomputeKnapsack.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace accord::placing {

namespace {

constexpr int64_t Never = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxPoints = 2048;

using Way = KnapsackAlternative;

/// Time for each byte that is given up.
double slopeOf(const Way &from, const Way &to) {
  return static_cast<double>(to.recomputeTime - from.recomputeTime) / (from.bytes - to.bytes);
}

/// `n` equal items within `budget`, by counts of the ways from `first` on.
int64_t equal(const std::vector<Way> &alternatives, size_t first, int64_t n, int64_t budget, int64_t optimum,
              std::vector<int64_t> &counts) {
  const Way &way = alternatives[first];
  if (n == 0 || first + 1 == alternatives.size()) {
    if (n > 0 && way.bytes > budget / n)
      return Never;
    counts.assign(alternatives.size(), 0);
    counts[first] = n;
    return n * way.recomputeTime;
  }
  const Way &next = alternatives[first + 1];
  if (first + 2 == alternatives.size()) {
    int64_t over = budget < 0 ? Never : n * way.bytes - budget, saves = way.bytes - next.bytes;
    int64_t others = over <= 0 ? 0 : over == Never ? n + 1 : (over + saves - 1) / saves;
    if (others > n)
      return Never;
    counts.assign(alternatives.size(), 0);
    counts[first] = n - others, counts[first + 1] = others;
    return (n - others) * way.recomputeTime + others * next.recomputeTime;
  }
  std::vector<int64_t> inner;
  for (int64_t mine = n; mine >= 0; --mine) {
    // The rest costs at least what the next way does.
    if (mine * way.recomputeTime + (n - mine) * next.recomputeTime >= optimum)
      break;
    if (mine > 0 && way.bytes > budget / mine)
      continue;
    int64_t rest =
        equal(alternatives, first + 1, n - mine, budget - mine * way.bytes, optimum - mine * way.recomputeTime, inner);
    if (rest == Never || rest + mine * way.recomputeTime >= optimum)
      continue;
    optimum = rest + mine * way.recomputeTime;
    counts = inner;
    counts[first] = mine;
  }
  return counts.empty() ? Never : optimum;
}

struct Point {
  int64_t recomputeTime = 0, bytes = 0;
  uint32_t parent = 0;
  std::vector<int64_t> counts; ///< by way of the item that made it
};

bool everyCount(size_t alternatives, int64_t n, size_t max, std::vector<std::vector<int64_t>> &all) {
  std::vector<int64_t> counts(alternatives);
  std::function<bool(size_t, int64_t)> fill = [&](size_t way, int64_t left) {
    if (way + 1 == alternatives) {
      counts[way] = left;
      all.push_back(counts);
      return all.size() <= max;
    }
    for (int64_t mine = left; mine >= 0; --mine) {
      counts[way] = mine;
      if (!fill(way + 1, left - mine))
        return false;
    }
    return true;
  };
  return fill(0, n);
}

/// The relaxation in which layers may be split between two ways: greedy along the lower hulls.
int64_t relaxed(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &alternatives,
                int64_t budget) {
  struct Step {
    double cost, bytes;
  };
  std::vector<Step> steps;
  double recomputeTime = 0, over = -static_cast<double>(budget);
  for (size_t i = 0; i < items.size(); ++i) {
    double n = items[i].count;
    recomputeTime += n * alternatives[i][0].recomputeTime;
    over += n * alternatives[i][0].bytes;
    for (size_t at = 0; at + 1 < alternatives[i].size();) { // the cheapest slope from here
      size_t best = nextOnHull(alternatives[i], at);
      double slope = slopeOf(alternatives[i][at], alternatives[i][best]);
      steps.push_back({slope, n * (alternatives[i][at].bytes - alternatives[i][best].bytes)});
      at = best;
    }
  }
  std::sort(steps.begin(), steps.end(), [](auto &a, auto &b) { return a.cost < b.cost; });
  for (const Step &step : steps)
    if (over > 0) {
      recomputeTime += step.cost * std::min(step.bytes, over);
      over -= step.bytes;
    }
  return static_cast<int64_t>(recomputeTime * (1 - 1e-12)); // what rounding may have added
}

/// Smallest bytes first, to say whether anything fits, and as a choice where fronts are cut off.
bool thinnest(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &alternatives, int64_t budget,
              KnapsackSolution &optimum) {
  int64_t bytes = 0, recomputeTime = 0;
  KnapsackChoice choice;
  for (size_t i = 0; i < items.size(); ++i) {
    if (alternatives[i].back().bytes > 0 && items[i].count > (budget - bytes) / alternatives[i].back().bytes)
      return false;
    bytes += items[i].count * alternatives[i].back().bytes;
    recomputeTime += items[i].count * alternatives[i].back().recomputeTime;
    choice.counts.emplace_back(items[i].recomputeChoices->size());
    choice.counts.back()[alternatives[i].back().recomputeChoice] = items[i].count;
  }
  if (bytes > budget)
    return false;
  // Undo recomputation where there is room, what saves most time for its bytes first.
  struct Undo {
    double saved;
    size_t item, way;
  };
  std::vector<Undo> undo;
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t w = 0; w + 1 < alternatives[i].size(); ++w)
      undo.push_back({static_cast<double>(alternatives[i].back().recomputeTime - alternatives[i][w].recomputeTime) /
                          (alternatives[i][w].bytes - alternatives[i].back().bytes),
                      i, w});
  std::sort(undo.begin(), undo.end(), [](const Undo &a, const Undo &b) {
    return std::tie(b.saved, a.item, a.way) < std::tie(a.saved, b.item, b.way);
  });
  for (const Undo &one : undo) {
    const auto &mine = alternatives[one.item];
    auto &counts = choice.counts[one.item];
    for (size_t from = mine.size() - 1; from > one.way; --from) {
      int64_t more = mine[one.way].bytes - mine[from].bytes;
      int64_t n = std::min((budget - bytes) / more, counts[mine[from].recomputeChoice]);
      counts[mine[from].recomputeChoice] -= n, counts[mine[one.way].recomputeChoice] += n;
      bytes += n * more;
      recomputeTime -= n * (mine[from].recomputeTime - mine[one.way].recomputeTime);
    }
  }
  if (optimum.choice.counts.empty() || recomputeTime < optimum.bound)
    optimum.bound = recomputeTime, optimum.choice = std::move(choice);
  return true;
}

/// Exact within one threshold, or false: too many points.
bool exactly(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &alternatives, int64_t budget,
             KnapsackSolution &optimum) {
  size_t big = 0;
  for (size_t i = 1; i < items.size(); ++i)
    if (items[i].count * static_cast<int64_t>(alternatives[i].size()) >
        items[big].count * static_cast<int64_t>(alternatives[big].size()))
      big = i;
  std::vector<std::vector<Point>> levels{{Point{}}};
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == big)
      continue;
    std::vector<std::vector<int64_t>> all;
    if (!everyCount(alternatives[i].size(), items[i].count, kMaxPoints, all))
      return false;
    std::vector<Point> next;
    for (uint32_t parent = 0; parent < levels.back().size(); ++parent)
      for (const auto &counts : all) {
        Point point = {levels.back()[parent].recomputeTime, levels.back()[parent].bytes, parent, counts};
        for (size_t w = 0; w < counts.size(); ++w) {
          point.recomputeTime += counts[w] * alternatives[i][w].recomputeTime;
          point.bytes += counts[w] * alternatives[i][w].bytes;
        }
        if (point.bytes <= budget)
          next.push_back(std::move(point));
        if (next.size() > 64 * kMaxPoints)
          return false;
      }
    std::vector<Point> front = paretoFront(std::move(next), &Point::recomputeTime, &Point::bytes);
    if (front.size() > kMaxPoints)
      return false;
    levels.push_back(std::move(front));
  }
  for (uint32_t at = 0; at < levels.back().size(); ++at) {
    const Point &point = levels.back()[at];
    int64_t limit = optimum.choice.counts.empty() ? Never : optimum.bound;
    std::vector<int64_t> counts;
    if (point.recomputeTime >= limit)
      break;
    int64_t rest = equal(alternatives[big], 0, items[big].count, budget - point.bytes,
                         limit == Never ? Never : limit - point.recomputeTime, counts);
    if (rest == Never || point.recomputeTime + rest >= limit)
      continue;
    optimum.bound = point.recomputeTime + rest;
    optimum.choice.counts.assign(items.size(), {});
    auto put = [&](size_t i, const std::vector<int64_t> &chosen) {
      optimum.choice.counts[i].assign(items[i].recomputeChoices->size(), 0);
      for (size_t w = 0; w < chosen.size(); ++w)
        optimum.choice.counts[i][alternatives[i][w].recomputeChoice] = chosen[w];
    };
    put(big, counts);
    uint32_t from = at;
    for (size_t i = items.size(), level = levels.size() - 1; i-- > 0;)
      if (i != big) {
        put(i, levels[level][from].counts);
        from = levels[level--][from].parent;
      }
  }
  return true;
}

} // namespace

size_t nextOnHull(const std::vector<KnapsackAlternative> &alternatives, size_t at) {
  size_t best = at + 1;
  for (size_t k = at + 2; k < alternatives.size(); ++k)
    if (slopeOf(alternatives[at], alternatives[k]) <= slopeOf(alternatives[at], alternatives[best]))
      best = k;
  return best;
}

std::vector<KnapsackAlternative> alternativesOf(const KnapsackItem &item, int64_t threshold, int64_t inFlight) {
  std::vector<Way> alternatives;
  for (uint32_t k = 0; k < item.recomputeChoices->size(); ++k)
    if ((*item.recomputeChoices)[k].workspace <= threshold)
      alternatives.push_back(
          {k, (*item.recomputeChoices)[k].recomputeTime, (*item.recomputeChoices)[k].activations * inFlight});
  return paretoFront(std::move(alternatives), &Way::recomputeTime, &Way::bytes);
}

std::optional<KnapsackSolution> solveKnapsack(const std::vector<KnapsackItem> &items,
                                              const std::vector<std::vector<int64_t>> &held, int64_t budget,
                                              bool quick) {
  if (items.empty() || budget < 0)
    return std::nullopt;
  if (held.size() > 1)
    return solveJointKnapsack(items, held, budget);
  std::set<int64_t> thresholds;
  for (const KnapsackItem &item : items)
    for (const RecomputeChoice &recomputeChoice : *item.recomputeChoices)
      thresholds.insert(recomputeChoice.workspace);
  KnapsackSolution optimum;
  int64_t bound = Never;
  for (int64_t threshold : thresholds) {
    std::vector<std::vector<Way>> alternatives;
    for (const KnapsackItem &item : items)
      alternatives.push_back(alternativesOf(item, threshold, held[0][item.part]));
    if (threshold > budget ||
        std::any_of(alternatives.begin(), alternatives.end(), [](const auto &one) { return one.empty(); }))
      continue;
    size_t max = 0;
    double work = 1;
    for (size_t i = 0; i < items.size(); ++i)
      if (alternatives[i].size() > max)
        max = alternatives[i].size();
    for (size_t w = 2; w + 1 < max; ++w)
      work *= 64;
    if (!quick && work <= 64 * 64 && exactly(items, alternatives, budget - threshold, optimum))
      continue;
    if (thinnest(items, alternatives, budget - threshold, optimum)) {
      optimum.exact = false;
      bound = std::min(bound, relaxed(items, alternatives, budget - threshold));
    }
  }
  if (optimum.choice.counts.empty())
    return std::nullopt;
  if (!optimum.exact) {
    int64_t fastest = 0; // whatever the memory
    for (const KnapsackItem &item : items) {
      int64_t recomputeTime = Never;
      for (const RecomputeChoice &recomputeChoice : *item.recomputeChoices)
        recomputeTime = std::min(recomputeTime, recomputeChoice.recomputeTime);
      fastest += item.count * recomputeTime;
    }
    optimum.exact = optimum.bound == fastest;
    optimum.bound = std::min(optimum.bound, bound);
    if (optimum.exact)
      optimum.bound = fastest;
  }
  return optimum;
}

bool enumerateChoices(const std::vector<KnapsackItem> &items, const std::vector<std::vector<int64_t>> &held,
                      int64_t budget, size_t max, std::vector<KnapsackChoice> &choices) {
  size_t tried = 0;
  std::vector<std::vector<std::vector<int64_t>>> each(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    if (!everyCount(items[i].recomputeChoices->size(), items[i].count, max, each[i]))
      return false;
  KnapsackChoice choice;
  choice.counts.resize(items.size());
  using Loads = std::vector<int64_t>; // bytes at each moment
  std::function<bool(size_t, const Loads &, int64_t)> next = [&](size_t i, const Loads &bytes, int64_t workspace) {
    if (*std::max_element(bytes.begin(), bytes.end()) + workspace > budget)
      return true;
    if (++tried > 16 * max)
      return false;
    if (i == items.size()) {
      choices.push_back(choice);
      return choices.size() <= max;
    }
    for (const auto &counts : each[i]) {
      Loads more = bytes;
      int64_t needs = workspace;
      for (size_t k = 0; k < counts.size(); ++k)
        if (counts[k] > 0) {
          for (size_t moment = 0; moment < held.size(); ++moment)
            more[moment] += counts[k] * held[moment][items[i].part] * (*items[i].recomputeChoices)[k].activations;
          needs = std::max(needs, (*items[i].recomputeChoices)[k].workspace);
        }
      choice.counts[i] = counts;
      if (!next(i + 1, more, needs))
        return false;
    }
    return true;
  };
  return next(0, Loads(held.size()), 0);
}

namespace {

/// For one threshold of `workspace`.
class JointKnapsack {
public:
  JointKnapsack(const std::vector<KnapsackItem> &items, const std::vector<std::vector<int64_t>> &held,
                int64_t threshold, int64_t budget)
      : items_(items), held_(held), budget_(budget - threshold) {
    for (const KnapsackItem &item : items) {
      ways_.push_back(alternativesOf(item, threshold, 1));
      can_ &= !ways_.back().empty();
    }
    can_ &= budget_ >= 0;
  }

  /// False: nothing fits.
  bool run(KnapsackSolution &optimum, int64_t &bound) {
    if (!can_ || !start())
      return false;
    hulls();
    weights_.assign(held_.size(), 1.0 / held_.size());
    double best = -1;
    bool stored = false;
    for (int i = 0; i < 32; ++i) {
      double value = relax();
      if (value > best)
        best = value;
      if (value < 0) // nothing fits, whatever the rounding to whole layers
        return stored;
      stored |= choose(optimum);
      if (optimum.bound <= best * (1 + 1e-12) || held_.size() == 1)
        break;
      follow(i);
    }
    bound = std::min(bound, static_cast<int64_t>(std::max(0.0, best) * (1 - 1e-12)));
    return true;
  }

private:
  struct Step { ///< along an item's lower hull
    double time, bytes;
    size_t item, from, to;
  };

  int64_t inFlightStatesOf(size_t moment, size_t item) const { return held_[moment][items_[item].part]; }

  /// The smallest of each.
  bool start() {
    loads_.assign(held_.size(), 0);
    recomputeTime_ = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      recomputeTime_ += items_[i].count * ways_[i].back().recomputeTime;
      for (size_t k = 0; k < held_.size(); ++k)
        loads_[k] += inFlightStatesOf(k, i) * items_[i].count * ways_[i].back().bytes;
    }
    return *std::max_element(loads_.begin(), loads_.end()) <= budget_;
  }

  void hulls() {
    for (size_t i = 0; i < items_.size(); ++i)
      for (size_t at = 0; at + 1 < ways_[i].size();) {
        size_t best = nextOnHull(ways_[i], at);
        steps_.push_back({static_cast<double>(ways_[i][best].recomputeTime - ways_[i][at].recomputeTime),
                          static_cast<double>(ways_[i][at].bytes - ways_[i][best].bytes), i, at, best});
        at = best;
      }
  }

  /// Least recomputation where only the weighed mean of the moments has to fit, with layers that may be split; sets
  /// `full_`, bytes by moment.
  double relax() {
    std::vector<double> mean(items_.size());
    for (size_t i = 0; i < items_.size(); ++i)
      for (size_t k = 0; k < held_.size(); ++k)
        mean[i] += weights_[k] * inFlightStatesOf(k, i);
    double recomputeTime = 0, over = -static_cast<double>(budget_);
    full_.assign(held_.size(), 0);
    for (size_t i = 0; i < items_.size(); ++i) {
      double bytes = static_cast<double>(items_[i].count) * ways_[i][0].bytes;
      recomputeTime += static_cast<double>(items_[i].count) * ways_[i][0].recomputeTime;
      over += bytes * mean[i];
      for (size_t k = 0; k < held_.size(); ++k)
        full_[k] += bytes * inFlightStatesOf(k, i);
    }
    std::sort(steps_.begin(), steps_.end(), [&](const Step &a, const Step &b) {
      double x = a.time * b.bytes * mean[b.item], y = b.time * a.bytes * mean[a.item];
      return x != y ? x < y : a.item != b.item ? a.item < b.item : a.from < b.from;
    });
    for (const Step &step : steps_) {
      if (over <= 0)
        break;
      double n = items_[step.item].count;
      double saves = n * step.bytes * mean[step.item];
      double part = saves > 0 ? std::min(1.0, over / saves) : 0;
      recomputeTime += part * n * step.time, over -= part * saves;
      for (size_t k = 0; k < held_.size(); ++k)
        full_[k] -= part * n * step.bytes * inFlightStatesOf(k, step.item);
    }
    return over > 1e-9 * budget_ + 1 ? -1 : recomputeTime;
  }

  /// From the smallest, the last of the steps undone first, as far as there is room.
  bool choose(KnapsackSolution &optimum) {
    auto loads = loads_;
    int64_t recomputeTime = recomputeTime_;
    std::vector<std::vector<int64_t>> counts;
    for (size_t i = 0; i < items_.size(); ++i) {
      counts.emplace_back(ways_[i].size());
      counts.back().back() = items_[i].count;
    }
    for (size_t at = steps_.size(); at-- > 0;) {
      const Step &step = steps_[at];
      auto &mine = counts[step.item];
      for (size_t from = mine.size() - 1; from > step.from; --from) {
        int64_t each = ways_[step.item][step.from].bytes - ways_[step.item][from].bytes;
        int64_t n = mine[from];
        for (size_t k = 0; k < held_.size() && n > 0; ++k)
          if (int64_t takes = inFlightStatesOf(k, step.item) * each; takes > 0)
            n = std::min(n, (budget_ - loads[k]) / takes);
        if (n <= 0)
          continue;
        mine[from] -= n, mine[step.from] += n;
        recomputeTime -= n * (ways_[step.item][from].recomputeTime - ways_[step.item][step.from].recomputeTime);
        for (size_t k = 0; k < held_.size(); ++k)
          loads[k] += n * inFlightStatesOf(k, step.item) * each;
      }
    }
    if (!optimum.choice.counts.empty() && recomputeTime >= optimum.bound)
      return true;
    optimum.bound = recomputeTime;
    optimum.choice.counts.clear();
    for (size_t i = 0; i < items_.size(); ++i) {
      optimum.choice.counts.emplace_back(items_[i].recomputeChoices->size());
      for (size_t w = 0; w < ways_[i].size(); ++w)
        optimum.choice.counts.back()[ways_[i][w].recomputeChoice] = counts[i][w];
    }
    return true;
  }

  void follow(int round) {
    double max = *std::max_element(full_.begin(), full_.end()), sum = 0;
    double spread = max - *std::min_element(full_.begin(), full_.end());
    if (!(spread > 0))
      return;
    for (size_t k = 0; k < full_.size(); ++k) {
      weights_[k] *= std::exp(-2.0 / (1 + 0.3 * round) * (max - full_[k]) / spread);
      sum += weights_[k];
    }
    for (double &weight : weights_)
      weight /= sum;
  }

  const std::vector<KnapsackItem> &items_;
  const std::vector<std::vector<int64_t>> &held_;
  int64_t budget_, recomputeTime_ = 0;
  bool can_ = true;
  std::vector<std::vector<Way>> ways_;
  std::vector<Step> steps_;
  std::vector<int64_t> loads_;
  std::vector<double> weights_, full_;
};

} // namespace

std::optional<KnapsackSolution> solveJointKnapsack(const std::vector<KnapsackItem> &items,
                                                   const std::vector<std::vector<int64_t>> &held, int64_t budget) {
  std::set<int64_t> thresholds;
  int64_t fastest = 0, bound = INT64_MAX;
  for (const KnapsackItem &item : items) {
    int64_t recomputeTime = INT64_MAX;
    for (const RecomputeChoice &recomputeChoice : *item.recomputeChoices) {
      thresholds.insert(recomputeChoice.workspace);
      recomputeTime = std::min(recomputeTime, recomputeChoice.recomputeTime);
    }
    fastest += item.count * recomputeTime;
  }
  KnapsackSolution optimum;
  for (int64_t threshold : thresholds)
    if (threshold <= budget)
      JointKnapsack(items, held, threshold, budget).run(optimum, bound);
  if (optimum.choice.counts.empty())
    return std::nullopt;
  optimum.exact = optimum.bound == fastest;
  optimum.bound = std::max(fastest, std::min(optimum.bound, bound));
  return optimum;
}

} // namespace accord::placing
