#include "lib/placement/solve/PlaceKnapsack.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

namespace accord::placing {
namespace {

constexpr int64_t Never = std::numeric_limits<int64_t>::max();
constexpr size_t MostPoints = 2048;

using Way = KnapsackWay;

/// Time for each byte that is given up.
double slopeOf(const Way &from, const Way &to) {
  return static_cast<double>(to.again - from.again) / static_cast<double>(from.bytes - to.bytes);
}

/// `n` equal items within `budget`, by counts of the ways from `first` on.
int64_t equal(const std::vector<Way> &ways, size_t first, int64_t n, int64_t budget, int64_t least,
              std::vector<int64_t> &counts) {
  const Way &way = ways[first];
  if (n == 0 || first + 1 == ways.size()) {
    if (n > 0 && way.bytes > budget / n)
      return Never;
    counts.assign(ways.size(), 0);
    counts[first] = n;
    return n * way.again;
  }
  const Way &next = ways[first + 1];
  if (first + 2 == ways.size()) {
    int64_t over = budget < 0 ? Never : n * way.bytes - budget, saves = way.bytes - next.bytes;
    int64_t others = over <= 0 ? 0 : over == Never ? n + 1 : (over + saves - 1) / saves;
    if (others > n)
      return Never;
    counts.assign(ways.size(), 0);
    counts[first] = n - others, counts[first + 1] = others;
    return (n - others) * way.again + others * next.again;
  }
  std::vector<int64_t> inner;
  for (int64_t mine = n; mine >= 0; --mine) {
    // The rest costs at least what the next way does.
    if (mine * way.again + (n - mine) * next.again >= least)
      break;
    if (mine > 0 && way.bytes > budget / mine)
      continue;
    int64_t rest = equal(ways, first + 1, n - mine, budget - mine * way.bytes,
                         least - mine * way.again, inner);
    if (rest == Never || rest + mine * way.again >= least)
      continue;
    least = rest + mine * way.again;
    counts = inner;
    counts[first] = mine;
  }
  return counts.empty() ? Never : least;
}

struct Point {
  int64_t again = 0, bytes = 0;
  uint32_t parent = 0;
  std::vector<int64_t> counts; ///< by way of the item that made it
};

bool everyCount(size_t ways, int64_t n, size_t most, std::vector<std::vector<int64_t>> &all) {
  std::vector<int64_t> counts(ways);
  std::function<bool(size_t, int64_t)> fill = [&](size_t way, int64_t left) {
    if (way + 1 == ways) {
      counts[way] = left;
      all.push_back(counts);
      return all.size() <= most;
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
int64_t relaxed(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &ways,
                int64_t budget) {
  struct Step {
    double cost, bytes;
  };
  std::vector<Step> steps;
  double again = 0, over = -static_cast<double>(budget);
  for (size_t i = 0; i < items.size(); ++i) {
    auto n = static_cast<double>(items[i].count);
    again += n * static_cast<double>(ways[i][0].again);
    over += n * static_cast<double>(ways[i][0].bytes);
    for (size_t at = 0; at + 1 < ways[i].size();) { // the cheapest slope from here
      size_t best = nextOnHull(ways[i], at);
      double slope = slopeOf(ways[i][at], ways[i][best]);
      steps.push_back({slope, n * static_cast<double>(ways[i][at].bytes - ways[i][best].bytes)});
      at = best;
    }
  }
  std::sort(steps.begin(), steps.end(), [](auto &a, auto &b) { return a.cost < b.cost; });
  for (const Step &step : steps)
    if (over > 0) {
      again += step.cost * std::min(step.bytes, over);
      over -= step.bytes;
    }
  return static_cast<int64_t>(again * (1 - 1e-12)); // what rounding may have added
}

/// Smallest bytes first, to say whether anything fits, and as a choice where fronts are cut off.
bool thinnest(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &ways,
              int64_t budget, KnapsackLeast &least) {
  int64_t bytes = 0, again = 0;
  KnapsackChoice choice;
  for (size_t i = 0; i < items.size(); ++i) {
    if (ways[i].back().bytes > 0 && items[i].count > (budget - bytes) / ways[i].back().bytes)
      return false;
    bytes += items[i].count * ways[i].back().bytes;
    again += items[i].count * ways[i].back().again;
    choice.counts.emplace_back(items[i].keeps->size());
    choice.counts.back()[ways[i].back().keep] = items[i].count;
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
    for (size_t w = 0; w + 1 < ways[i].size(); ++w)
      undo.push_back({static_cast<double>(ways[i].back().again - ways[i][w].again) /
                          static_cast<double>(ways[i][w].bytes - ways[i].back().bytes),
                      i, w});
  std::sort(undo.begin(), undo.end(), [](const Undo &a, const Undo &b) {
    return std::tie(b.saved, a.item, a.way) < std::tie(a.saved, b.item, b.way);
  });
  for (const Undo &one : undo) {
    const auto &mine = ways[one.item];
    auto &counts = choice.counts[one.item];
    for (size_t from = mine.size() - 1; from > one.way; --from) {
      int64_t more = mine[one.way].bytes - mine[from].bytes;
      int64_t n = std::min((budget - bytes) / more, counts[mine[from].keep]);
      counts[mine[from].keep] -= n, counts[mine[one.way].keep] += n;
      bytes += n * more;
      again -= n * (mine[from].again - mine[one.way].again);
    }
  }
  if (least.choice.counts.empty() || again < least.bound)
    least.bound = again, least.choice = std::move(choice);
  return true;
}

/// Exact within one threshold, or false: too many points.
bool exactly(const std::vector<KnapsackItem> &items, const std::vector<std::vector<Way>> &ways,
             int64_t budget, KnapsackLeast &least) {
  size_t big = 0;
  for (size_t i = 1; i < items.size(); ++i)
    if (items[i].count * static_cast<int64_t>(ways[i].size()) >
        items[big].count * static_cast<int64_t>(ways[big].size()))
      big = i;
  std::vector<std::vector<Point>> levels{{Point{}}};
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == big)
      continue;
    std::vector<std::vector<int64_t>> all;
    if (!everyCount(ways[i].size(), items[i].count, MostPoints, all))
      return false;
    std::vector<Point> next, front;
    for (uint32_t parent = 0; parent < levels.back().size(); ++parent)
      for (const auto &counts : all) {
        Point point = {levels.back()[parent].again, levels.back()[parent].bytes, parent, counts};
        for (size_t w = 0; w < counts.size(); ++w) {
          point.again += counts[w] * ways[i][w].again;
          point.bytes += counts[w] * ways[i][w].bytes;
        }
        if (point.bytes <= budget)
          next.push_back(std::move(point));
        if (next.size() > 64 * MostPoints)
          return false;
      }
    std::sort(next.begin(), next.end(), [](const Point &a, const Point &b) {
      return a.again != b.again ? a.again < b.again : a.bytes < b.bytes;
    });
    for (Point &point : next)
      if (front.empty() || point.bytes < front.back().bytes)
        front.push_back(std::move(point));
    if (front.size() > MostPoints)
      return false;
    levels.push_back(std::move(front));
  }
  for (uint32_t at = 0; at < levels.back().size(); ++at) {
    const Point &point = levels.back()[at];
    int64_t limit = least.choice.counts.empty() ? Never : least.bound;
    std::vector<int64_t> counts;
    if (point.again >= limit)
      break;
    int64_t rest = equal(ways[big], 0, items[big].count, budget - point.bytes,
                         limit == Never ? Never : limit - point.again, counts);
    if (rest == Never || point.again + rest >= limit)
      continue;
    least.bound = point.again + rest;
    least.choice.counts.assign(items.size(), {});
    auto put = [&](size_t i, const std::vector<int64_t> &chosen) {
      least.choice.counts[i].assign(items[i].keeps->size(), 0);
      for (size_t w = 0; w < chosen.size(); ++w)
        least.choice.counts[i][ways[i][w].keep] = chosen[w];
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

size_t nextOnHull(const std::vector<KnapsackWay> &ways, size_t at) {
  size_t best = at + 1;
  for (size_t k = at + 2; k < ways.size(); ++k)
    if (slopeOf(ways[at], ways[k]) <= slopeOf(ways[at], ways[best]))
      best = k;
  return best;
}

std::vector<KnapsackWay> waysOf(const KnapsackItem &item, int64_t threshold, int64_t inFlight) {
  std::vector<Way> ways, front;
  for (uint32_t k = 0; k < item.keeps->size(); ++k)
    if ((*item.keeps)[k].working <= threshold)
      ways.push_back({k, (*item.keeps)[k].again, (*item.keeps)[k].kept * inFlight});
  std::sort(ways.begin(), ways.end(), [](const Way &a, const Way &b) {
    return a.again != b.again ? a.again < b.again : a.bytes < b.bytes;
  });
  for (const Way &way : ways)
    if (front.empty() || way.bytes < front.back().bytes)
      front.push_back(way);
  return front;
}

std::optional<KnapsackLeast> leastOf(const std::vector<KnapsackItem> &items,
                                     const std::vector<std::vector<int64_t>> &held, int64_t budget,
                                     bool quick) {
  if (items.empty() || budget < 0)
    return std::nullopt;
  if (held.size() > 1)
    return leastJoint(items, held, budget);
  std::set<int64_t> thresholds;
  for (const KnapsackItem &item : items)
    for (const PlacementProblem::Keep &keep : *item.keeps)
      thresholds.insert(keep.working);
  KnapsackLeast least;
  int64_t bound = Never;
  for (int64_t threshold : thresholds) {
    std::vector<std::vector<Way>> ways;
    for (const KnapsackItem &item : items)
      ways.push_back(waysOf(item, threshold, held[0][item.part]));
    if (threshold > budget ||
        std::any_of(ways.begin(), ways.end(), [](const auto &one) { return one.empty(); }))
      continue;
    size_t most = 0;
    double work = 1;
    for (size_t i = 0; i < items.size(); ++i)
      if (ways[i].size() > most)
        most = ways[i].size();
    for (size_t w = 2; w + 1 < most; ++w)
      work *= 64;
    if (!quick && work <= 64 * 64 && exactly(items, ways, budget - threshold, least))
      continue;
    if (thinnest(items, ways, budget - threshold, least)) {
      least.exact = false;
      bound = std::min(bound, relaxed(items, ways, budget - threshold));
    }
  }
  if (least.choice.counts.empty())
    return std::nullopt;
  if (!least.exact) {
    int64_t fastest = 0; // whatever the memory
    for (const KnapsackItem &item : items) {
      int64_t again = Never;
      for (const PlacementProblem::Keep &keep : *item.keeps)
        again = std::min(again, keep.again);
      fastest += item.count * again;
    }
    least.exact = least.bound == fastest;
    least.bound = std::min(least.bound, bound);
    if (least.exact)
      least.bound = fastest;
  }
  return least;
}

bool allOf(const std::vector<KnapsackItem> &items, const std::vector<std::vector<int64_t>> &held,
           int64_t budget, size_t most, std::vector<KnapsackChoice> &choices) {
  size_t tried = 0;
  std::vector<std::vector<std::vector<int64_t>>> each(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    if (!everyCount(items[i].keeps->size(), items[i].count, most, each[i]))
      return false;
  KnapsackChoice choice;
  choice.counts.resize(items.size());
  using Loads = std::vector<int64_t>; // bytes at each moment
  std::function<bool(size_t, const Loads &, int64_t)> next = [&](size_t i, const Loads &bytes,
                                                                 int64_t working) {
    if (*std::max_element(bytes.begin(), bytes.end()) + working > budget)
      return true;
    if (++tried > 16 * most)
      return false;
    if (i == items.size()) {
      choices.push_back(choice);
      return choices.size() <= most;
    }
    for (const auto &counts : each[i]) {
      Loads more = bytes;
      int64_t needs = working;
      for (size_t k = 0; k < counts.size(); ++k)
        if (counts[k] > 0) {
          for (size_t moment = 0; moment < held.size(); ++moment)
            more[moment] += counts[k] * held[moment][items[i].part] * (*items[i].keeps)[k].kept;
          needs = std::max(needs, (*items[i].keeps)[k].working);
        }
      choice.counts[i] = counts;
      if (!next(i + 1, more, needs))
        return false;
    }
    return true;
  };
  return next(0, Loads(held.size()), 0);
}

} // namespace accord::placing
