// What chunks keep whose activations do not peak together: a knapsack with a row for each moment.
#include "lib/placement/solve/RecomputeKnapsack.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {
namespace {

using Way = KnapsackAlternative;

/// For one threshold of `working`.
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

  /// Least recomputation where only the weighed mean of the moments has to fit, with layers that
  /// may be split; sets `full_`, bytes by moment.
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
      auto n = static_cast<double>(items_[step.item].count);
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
    for (const PlacementProblem::RecomputeChoice &recomputeChoice : *item.recomputeChoices) {
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
