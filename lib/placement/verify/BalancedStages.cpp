#include "lib/placement/verify/BalancedStages.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace accord {

BalancedStages::BalancedStages(const PlacementProblem &problem, const Configuration &configuration, Id parallelConfig,
                               int64_t groups, uint64_t &work)
    : p(problem), c(configuration), groups(groups), work(work), parallelConfig(parallelConfig),
      layers(static_cast<int64_t>(problem.layers.size())), count(groups * configuration.virtualStages),
      min(layers / count), larger(layers % count), memory(p.deviceTypeOf(parallelConfig).memory) {
  std::map<Id, uint32_t> known;
  for (Id l = 0; l < p.layers.size() && possible; ++l) {
    possible = min > 0 && p.cost(l, parallelConfig) && mayBeOn(p, l, p.parallelConfigs[parallelConfig].deviceType);
    auto [found, isNew] = known.emplace(p.layers[l].of, costs.size());
    if (isNew && possible)
      costs.push_back(&*p.cost(l, parallelConfig));
    classes.push_back(found->second);
  }
  if (!possible)
    return;
  for (const auto *cost : costs)
    for (const auto &recomputeChoice : cost->recomputeChoices)
      if (double workspace = recomputeChoice.workspace; workspace <= memory)
        thresholds.push_back(workspace);
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  cut();
}

double BalancedStages::joules() const {
  double sum = 0;
  for (uint32_t of : classes) {
    int64_t recomputeTime = costs[of]->minOf(&RecomputeChoice::recomputeTime);
    sum += costs[of]->joules + recomputeTime * costs[of]->recomputeJoules;
  }
  return sum;
}

void BalancedStages::cut() {
  std::vector<int64_t> equalUntil(layers, layers);
  for (int64_t l = layers - 1; l-- > 0;)
    equalUntil[l] = classes[l] == classes[l + 1] ? equalUntil[l + 1] : l + 1;
  crossing.assign(layers + 1, 0);
  for (const auto &edge : p.edges)
    if (edge.to == edge.from + 1)
      crossing[edge.to] = std::max(crossing[edge.to], edge.bytes);
  const auto &f = p.parallelConfigs[parallelConfig];
  for (int64_t s = 0; s < count; ++s) {
    Stage stage;
    for (int64_t extra = 0; extra <= (larger > 0 ? 1 : 0); ++extra) {
      // Stages before and behind have the fewest layers or one more, as many as there are.
      int64_t size = min + extra, others = larger - extra, behind = count - 1 - s;
      int64_t rest = layers - size - behind * min;
      int64_t low = std::max(s * min, rest - std::min(behind, others));
      int64_t high = std::min(s * min + std::min(s, others), rest);
      std::set<Window> seen;
      for (int64_t at = low; at <= high; ++at) {
        Window window;
        if (equalUntil[at] >= high + size)
          window = {{classes[at], 1.0 * size}}, high = at;
        std::map<uint32_t, double> counts;
        for (int64_t l = at; l < at + size && window.empty(); ++l)
          counts[classes[l]] += 1;
        work += counts.empty() ? 1 : size;
        if (window.empty())
          window.assign(counts.begin(), counts.end());
        seen.insert(std::move(window));
      }
      stage.windows[extra].assign(seen.begin(), seen.end());
      stage.gather[extra] = stage.gradients[extra] = stage.experts[extra] = INFINITY;
      for (const Window &window : seen) {
        double weights = 0, gradients = 0, experts = 0;
        for (auto [of, n] : window) {
          weights += n * costs[of]->weights;
          gradients += n * costs[of]->gradients;
          experts += n * costs[of]->expertGradients;
        }
        stage.gather[extra] = std::min<double>(stage.gather[extra], minReplayTime(f.gather, weights));
        stage.gradients[extra] = std::min(stage.gradients[extra], gradients);
        stage.experts[extra] = std::min(stage.experts[extra], experts);
      }
    }
    stage.arrives = s > 0 ? transfer(s) : 0;
    parts.push_back(std::move(stage));
  }
}

/// Whether all that two groups exchange stays in servers.
bool BalancedStages::onOneNode(int64_t a, int64_t b) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  int64_t size = p.deviceTypes[f.deviceType].devicesPerNode;
  if (f.order == RankOrder::TensorDataPipeline)
    return std::min(a, b) * f.devices() / size == ((std::max(a, b) + 1) * f.devices() - 1) / size;
  int64_t different = std::min(f.data, size / std::gcd(size, f.tensor * groups));
  if (different > PlacementProblem::kMaxReplicas)
    return false;
  for (int64_t r = 0; r < different; ++r) {
    int64_t first = (r * groups + std::min(a, b)) * f.tensor / size;
    if ((r * groups + a) * f.tensor / size != first || (r * groups + b) * f.tensor / size != first ||
        ((r * groups + std::max(a, b) + 1) * f.tensor - 1) / size != first)
      return false;
  }
  return true;
}

/// Into a stage from the one before it, or of its gradient back.
double BalancedStages::transfer(int64_t stage) const {
  if (groups == 1 || c.parallelConfigs.size() > 1)
    return 0;
  int64_t low = stage * min, high = std::min(low + std::min(stage, larger), layers - 1);
  double bytes = *std::min_element(crossing.begin() + low, crossing.begin() + high + 1);
  const auto &f = p.parallelConfigs[parallelConfig];
  const auto &link = p.link(f.deviceType, f.deviceType);
  bool intraNode = onOneNode((stage - 1) % groups, stage % groups);
  return minReplayTime({intraNode ? link.intraNode : link.interNode},
                       bytes * (f.data / f.context * f.microbatch) / f.devices());
}

double BalancedStages::minOverWindows(const std::vector<Window> &windows, const std::vector<double> &byClass) const {
  double best = INFINITY;
  for (const Window &window : windows) {
    double sum = 0;
    for (auto [of, n] : window)
      sum += n * byClass[of];
    best = std::min(best, sum);
  }
  return best;
}

double BalancedStages::forward(int64_t stage) const {
  std::vector<double> each;
  for (const auto *cost : costs)
    each.push_back(cost->forward);
  const Stage &part = parts[stage];
  return minOverWindows(part.windows[0], each) + part.gather[0] + p.hostOverheadPerMicrobatch +
         (p.blockingTransfers ? arrives(stage) : 0);
}

double BalancedStages::backward(int64_t stage) const {
  std::vector<double> each;
  for (const auto *cost : costs)
    each.push_back(cost->backward + cost->weight + cost->minOf(&RecomputeChoice::recomputeTime));
  const Stage &part = parts[stage];
  return minOverWindows(part.windows[0], each) + part.gather[0] + (p.blockingTransfers ? arrives(stage + 1) : 0);
}

/// Of a group's gradients, with so many larger stages.
double BalancedStages::exchange(int64_t group, int64_t n) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  auto takes = [&](const std::vector<GradientSync> &gradientSyncs, const double (Stage::*of)[2],
                   int64_t replicasPerNode) {
    if (gradientSyncs.empty())
      return 0.0;
    double bytes = 0;
    std::vector<double> extra;
    for (int64_t s = group; s < count; s += groups) {
      const auto &mine = parts[s].*of;
      bytes += mine[0];
      extra.push_back(mine[1] - mine[0]);
    }
    std::sort(extra.begin(), extra.end());
    bytes = std::accumulate(extra.begin(), extra.begin() + n, bytes);
    const std::vector<AlphaBetaModel> *alternatives = &gradientSyncs[0].alternatives;
    for (const auto &sync : gradientSyncs)
      if (sync.replicasPerNode <= replicasPerNode)
        alternatives = &sync.alternatives;
    return 1.0 * minReplayTime(*alternatives, bytes);
  };
  int64_t replicasPerNode = recountReplicasPerNode(p, parallelConfig, groups);
  return takes(f.gradientSyncs, &Stage::gradients, replicasPerNode) +
         takes(f.expertGradientSyncs, &Stage::experts, std::max<int64_t>(1, replicasPerNode / f.expert));
}

/// Of a parameter that the chain's first and last layer have in common.
double BalancedStages::tied(int64_t group) const {
  if (groups == 1 || c.parallelConfigs.size() > 1 || (group > 0 && group + 1 < groups))
    return 0;
  double sum = 0;
  const auto &f = p.parallelConfigs[parallelConfig];
  const auto &link = p.link(f.deviceType, f.deviceType);
  for (const auto &tie : p.ties)
    if (tie.a == 0 && tie.b + 1 == p.layers.size())
      sum += minReplayTime({onOneNode(0, groups - 1) ? link.intraNode : link.interNode},
                           std::max(p.cost(tie.a, parallelConfig)->tied, p.cost(tie.b, parallelConfig)->tied));
  return sum;
}

/// By the number of larger stages; `price` infinite: bytes beyond `room` alone.
std::vector<double> BalancedStages::atPrice(int64_t group, const GroupShare &share, const std::vector<double> &held,
                                            const std::vector<int8_t> &fixed, double overlapFraction, double price,
                                            double room, double threshold) const {
  bool bytes = std::isinf(price);
  if (bytes)
    price = 1;
  double sum = -price * room;
  std::vector<double> extra, byClass(costs.size());
  size_t must = 0;
  for (size_t virtualStage = 0; virtualStage < held.size(); ++virtualStage) {
    double before = bytes ? 0 : share.forward[virtualStage], back = bytes ? 0 : share.backward[virtualStage],
           shows = bytes ? 0 : back - overlapFraction * share.ends;
    for (size_t of = 0; of < costs.size(); ++of) {
      const auto &cost = *costs[of];
      double recomputeChoices = INFINITY;
      for (const auto &recomputeChoice : cost.recomputeChoices)
        if (recomputeChoice.workspace <= threshold)
          recomputeChoices = std::min(recomputeChoices, shows * recomputeChoice.recomputeTime +
                                                            price * held[virtualStage] * recomputeChoice.activations);
      byClass[of] = recomputeChoices + before * cost.forward + shows * (cost.backward + cost.weight) +
                    (bytes ? 0 : share.ends * cost.update) + price * cost.staticMemory;
    }
    int64_t s = virtualStage * groups + group;
    const Stage &part = parts[s];
    double blocks = p.blockingTransfers ? before * arrives(s) + back * arrives(s + 1) : 0;
    double one = minOverWindows(part.windows[0], byClass) + (before + back) * part.gather[0];
    sum += one + blocks + before * p.hostOverheadPerMicrobatch;
    work += 1 + costs.size() / 4;
    if (larger == 0 || fixed[virtualStage] == 0)
      continue;
    double other = minOverWindows(part.windows[1], byClass) + (before + back) * part.gather[1] - one;
    if (std::isnan(other)) // neither fits
      other = 0;
    extra.push_back(other);
    if (fixed[virtualStage] == 1)
      std::swap(extra[must++], extra.back());
  }
  std::sort(extra.begin() + must, extra.end());
  std::vector<double> by(max() + 1, INFINITY);
  for (size_t n = 0; n < by.size() && n <= extra.size(); ++n) {
    if (n >= must)
      by[n] = sum;
    if (n < extra.size())
      sum += extra[n];
  }
  return by;
}

std::vector<double> BalancedStages::group(int64_t group, const GroupShare &share, const std::vector<double> &held,
                                          const std::vector<int8_t> &fixed) const {
  size_t size = max() + 1;
  std::vector<double> best(size, -INFINITY), exchanges(size);
  for (size_t n = 0; n < size && share.ends > 0; ++n)
    exchanges[n] = exchange(group, n);
  double never = std::max(0.0, 1 - p.maxOverlap);
  for (bool shows : {false, true}) {
    if (shows && (share.ends == 0 || exchanges.back() == 0))
      continue;
    double overlapFraction = shows ? p.overlapFraction : 0;
    std::vector<double> all(size, INFINITY);
    for (double threshold : thresholds) {
      double room = memory - threshold;
      std::vector<double> prices{0};
      for (size_t virtualStage = 0; virtualStage < held.size(); ++virtualStage) {
        double recomputeTime = share.backward[virtualStage] - overlapFraction * share.ends;
        if (recomputeTime <= 0 || held[virtualStage] <= 0)
          continue;
        for (const auto *cost : costs)
          for (const auto &a : cost->recomputeChoices)
            for (const auto &b : cost->recomputeChoices)
              if (b.recomputeTime > a.recomputeTime && b.activations < a.activations)
                prices.push_back(recomputeTime * (b.recomputeTime - a.recomputeTime) /
                                 (held[virtualStage] * (a.activations - b.activations)));
      }
      std::sort(prices.begin(), prices.end());
      prices.erase(std::unique(prices.begin(), prices.end(), [](double a, double b) { return b - a <= 1e-12 * b; }),
                   prices.end());
      prices.push_back(16 * prices.back()); // which stages are larger may depend on the price beyond
      auto at = [&](double price) {
        return atPrice(group, share, held, fixed, overlapFraction, price, room, threshold);
      };
      std::map<size_t, std::vector<double>> known;
      auto by = [&](size_t i) -> const std::vector<double> & {
        auto found = known.find(i);
        return found != known.end() ? found->second : known[i] = at(prices[i]);
      };
      std::vector<double> over = at(INFINITY), max(size, -INFINITY);
      for (size_t n = 0; n < size; ++n) { // concave in the price
        if (over[n] > 1e-9 * memory) {
          max[n] = INFINITY; // at no price
          continue;
        }
        size_t low = 0, high = prices.size() - 1;
        while (low < high) {
          size_t middle = (low + high) / 2;
          double here = by(middle)[n], next = by(middle + 1)[n];
          if (next > here)
            low = middle + 1;
          else
            high = middle;
        }
        by(low);
      }
      for (const auto &[i, values] : known)
        for (size_t n = 0; n < size; ++n)
          max[n] = std::max(max[n], values[n]);
      for (size_t n = 0; n < size; ++n)
        all[n] = std::min(all[n], max[n]);
    }
    for (size_t n = 0; n < size; ++n)
      best[n] = std::max(best[n], all[n] + share.ends * (shows ? 1 : never) * exchanges[n]);
  }
  for (double &value : best)
    value += share.ends * tied(group);
  return best;
}

} // namespace accord
