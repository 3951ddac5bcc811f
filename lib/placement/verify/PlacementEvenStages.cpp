#include "lib/placement/verify/PlacementEvenStages.h"
#include "lib/placement/verify/PlacementStages.h"
#include "lib/placement/verify/PlacementWorth.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace accord {

EvenStages::EvenStages(const PlacementProblem &problem, const Configuration &configuration, Id form,
                       int64_t groups, uint64_t &work)
    : p(problem), c(configuration), groups(groups), work(work), form(form),
      layers(static_cast<int64_t>(problem.layers.size())), count(groups * configuration.chunks),
      fewest(layers / count), larger(layers % count),
      memory(static_cast<double>(p.kinds[p.forms[form].kind].memory)) {
  std::map<Id, uint32_t> known;
  for (Id l = 0; l < p.layers.size() && possible; ++l) {
    possible = fewest > 0 && p.cost(l, form) && mayBeOn(p, l, p.forms[form].kind);
    auto [found, isNew] = known.emplace(p.layers[l].of, static_cast<uint32_t>(costs.size()));
    if (isNew && possible)
      costs.push_back(&*p.cost(l, form));
    classes.push_back(found->second);
  }
  if (!possible)
    return;
  for (const auto *cost : costs)
    for (const auto &keep : cost->keeps)
      if (auto working = static_cast<double>(keep.working); working <= memory)
        thresholds.push_back(working);
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  cut();
}

double EvenStages::joules() const {
  double sum = 0;
  for (uint32_t of : classes) {
    int64_t again = INT64_MAX;
    for (const auto &keep : costs[of]->keeps)
      again = std::min(again, keep.again);
    sum += costs[of]->joules + static_cast<double>(again) * costs[of]->joulesAgain;
  }
  return sum;
}

void EvenStages::cut() {
  std::vector<int64_t> equalUntil(static_cast<size_t>(layers), layers);
  for (auto l = static_cast<size_t>(layers) - 1; l-- > 0;)
    equalUntil[l] = classes[l] == classes[l + 1] ? equalUntil[l + 1] : static_cast<int64_t>(l) + 1;
  crossing.assign(static_cast<size_t>(layers) + 1, 0);
  for (const auto &edge : p.edges)
    if (edge.to == edge.from + 1)
      crossing[edge.to] = std::max(crossing[edge.to], edge.bytes);
  const auto &f = p.forms[form];
  for (int64_t s = 0; s < count; ++s) {
    Stage stage;
    for (int64_t extra = 0; extra <= (larger > 0 ? 1 : 0); ++extra) {
      // Stages before and behind have the fewest layers or one more, as many as there are.
      int64_t size = fewest + extra, others = larger - extra, behind = count - 1 - s;
      int64_t rest = layers - size - behind * fewest;
      int64_t low = std::max(s * fewest, rest - std::min(behind, others));
      int64_t high = std::min(s * fewest + std::min(s, others), rest);
      std::set<Window> seen;
      for (int64_t at = low; at <= high; ++at) {
        Window window;
        if (equalUntil[static_cast<size_t>(at)] >= high + size)
          window = {{classes[static_cast<size_t>(at)], static_cast<double>(size)}}, high = at;
        std::map<uint32_t, double> counts;
        for (int64_t l = at; l < at + size && window.empty(); ++l)
          counts[classes[static_cast<size_t>(l)]] += 1;
        work += counts.empty() ? 1 : static_cast<uint64_t>(size);
        if (window.empty())
          window.assign(counts.begin(), counts.end());
        seen.insert(std::move(window));
      }
      stage.windows[extra].assign(seen.begin(), seen.end());
      stage.gather[extra] = stage.gradients[extra] = stage.experts[extra] = INFINITY;
      for (const Window &window : seen) {
        double weights = 0, gradients = 0, experts = 0;
        for (auto [of, n] : window) {
          weights += n * static_cast<double>(costs[of]->weights);
          gradients += n * static_cast<double>(costs[of]->gradients);
          experts += n * static_cast<double>(costs[of]->expertGradients);
        }
        stage.gather[extra] =
            std::min(stage.gather[extra], static_cast<double>(leastTime(f.gather, weights)));
        stage.gradients[extra] = std::min(stage.gradients[extra], gradients);
        stage.experts[extra] = std::min(stage.experts[extra], experts);
      }
    }
    stage.arrives = s > 0 ? transfer(s) : 0;
    parts.push_back(std::move(stage));
  }
}

/// Whether all that two groups exchange stays in servers.
bool EvenStages::oneServer(int64_t a, int64_t b) const {
  const auto &f = p.forms[form];
  int64_t size = p.kinds[f.kind].perServer;
  if (f.order == PlacementProblem::RankOrder::TensorDataPipeline)
    return std::min(a, b) * f.devices() / size == ((std::max(a, b) + 1) * f.devices() - 1) / size;
  int64_t different = std::min(f.data, size / std::gcd(size, f.tensor * groups));
  if (different > PlacementProblem::kMostReplicas)
    return false;
  for (int64_t r = 0; r < different; ++r) {
    int64_t first = (r * groups + std::min(a, b)) * f.tensor / size;
    if ((r * groups + a) * f.tensor / size != first ||
        (r * groups + b) * f.tensor / size != first ||
        ((r * groups + std::max(a, b) + 1) * f.tensor - 1) / size != first)
      return false;
  }
  return true;
}

/// Into a stage from the one before it, or of its gradient back.
double EvenStages::transfer(int64_t stage) const {
  if (groups == 1 || c.forms.size() > 1)
    return 0;
  int64_t low = stage * fewest, high = std::min(low + std::min(stage, larger), layers - 1);
  auto bytes =
      static_cast<double>(*std::min_element(crossing.begin() + low, crossing.begin() + high + 1));
  const auto &f = p.forms[form];
  const auto &link = p.links[f.kind * p.kinds.size() + f.kind];
  bool inside = oneServer((stage - 1) % groups, stage % groups);
  return static_cast<double>(leastTime({inside ? link.inside : link.across},
                                       bytes * static_cast<double>(f.data * f.microbatch) /
                                           static_cast<double>(f.devices())));
}

double EvenStages::least(const std::vector<Window> &windows,
                         const std::vector<double> &byClass) const {
  double best = INFINITY;
  for (const Window &window : windows) {
    double sum = 0;
    for (auto [of, n] : window)
      sum += n * byClass[of];
    best = std::min(best, sum);
  }
  return best;
}

double EvenStages::forward(int64_t stage) const {
  std::vector<double> each;
  for (const auto *cost : costs)
    each.push_back(static_cast<double>(cost->forward));
  const Stage &part = parts[static_cast<size_t>(stage)];
  return least(part.windows[0], each) + part.gather[0] + static_cast<double>(p.perMicrobatch) +
         (p.blockingTransfers ? arrives(stage) : 0);
}

double EvenStages::backward(int64_t stage) const {
  std::vector<double> each;
  for (const auto *cost : costs) {
    int64_t again = INT64_MAX;
    for (const auto &keep : cost->keeps)
      again = std::min(again, keep.again);
    each.push_back(static_cast<double>(cost->backward + cost->weight + again));
  }
  const Stage &part = parts[static_cast<size_t>(stage)];
  return least(part.windows[0], each) + part.gather[0] +
         (p.blockingTransfers ? arrives(stage + 1) : 0);
}

/// Of a group's gradients, with so many larger stages.
double EvenStages::exchange(int64_t group, int64_t n) const {
  const auto &f = p.forms[form];
  auto takes = [&](const std::vector<PlacementProblem::Sync> &syncs, const double (Stage::*of)[2],
                   int64_t together) {
    if (syncs.empty())
      return 0.0;
    double bytes = 0;
    std::vector<double> extra;
    for (int64_t s = group; s < count; s += groups) {
      const auto &mine = parts[static_cast<size_t>(s)].*of;
      bytes += mine[0];
      extra.push_back(mine[1] - mine[0]);
    }
    std::sort(extra.begin(), extra.end());
    bytes = std::accumulate(extra.begin(), extra.begin() + n, bytes);
    const std::vector<LinearTime> *ways = &syncs[0].ways;
    for (const auto &sync : syncs)
      if (sync.together <= together)
        ways = &sync.ways;
    return static_cast<double>(leastTime(*ways, bytes));
  };
  int64_t together = replicasTogether(p, form, groups);
  return takes(f.syncs, &Stage::gradients, together) +
         takes(f.expertSyncs, &Stage::experts, std::max<int64_t>(1, together / f.expert));
}

/// Of a parameter that the chain's first and last layer have in common.
double EvenStages::tied(int64_t group) const {
  if (groups == 1 || c.forms.size() > 1 || (group > 0 && group + 1 < groups))
    return 0;
  double sum = 0;
  const auto &f = p.forms[form];
  const auto &link = p.links[f.kind * p.kinds.size() + f.kind];
  for (const auto &tie : p.ties)
    if (tie.a == 0 && tie.b + 1 == p.layers.size())
      sum += static_cast<double>(leastTime(
          {oneServer(0, groups - 1) ? link.inside : link.across},
          static_cast<double>(std::max(p.cost(tie.a, form)->tied, p.cost(tie.b, form)->tied))));
  return sum;
}

/// By the number of larger stages; `price` infinite: bytes beyond `room` alone.
std::vector<double> EvenStages::atPrice(int64_t group, const GroupShare &share,
                                        const std::vector<double> &held,
                                        const std::vector<int8_t> &fixed, double hidden,
                                        double price, double room, double threshold) const {
  bool bytes = std::isinf(price);
  if (bytes)
    price = 1;
  double sum = -price * room;
  std::vector<double> extra, byClass(costs.size());
  size_t must = 0;
  for (size_t chunk = 0; chunk < held.size(); ++chunk) {
    double before = bytes ? 0 : share.forward[chunk], back = bytes ? 0 : share.backward[chunk],
           shows = bytes ? 0 : back - hidden * share.ends;
    for (size_t of = 0; of < costs.size(); ++of) {
      const auto &cost = *costs[of];
      double keeps = INFINITY;
      for (const auto &keep : cost.keeps)
        if (static_cast<double>(keep.working) <= threshold)
          keeps = std::min(keeps, shows * static_cast<double>(keep.again) +
                                      price * held[chunk] * static_cast<double>(keep.kept));
      byClass[of] = keeps + before * static_cast<double>(cost.forward) +
                    shows * static_cast<double>(cost.backward + cost.weight) +
                    (bytes ? 0 : share.ends * static_cast<double>(cost.update)) +
                    price * static_cast<double>(cost.resident);
    }
    auto s = static_cast<int64_t>(chunk) * groups + group;
    const Stage &part = parts[static_cast<size_t>(s)];
    double blocks = p.blockingTransfers ? before * arrives(s) + back * arrives(s + 1) : 0;
    double one = least(part.windows[0], byClass) + (before + back) * part.gather[0];
    sum += one + blocks + before * static_cast<double>(p.perMicrobatch);
    work += 1 + costs.size() / 4;
    if (larger == 0 || fixed[chunk] == 0)
      continue;
    double other = least(part.windows[1], byClass) + (before + back) * part.gather[1] - one;
    if (std::isnan(other)) // neither fits
      other = 0;
    extra.push_back(other);
    if (fixed[chunk] == 1)
      std::swap(extra[must++], extra.back());
  }
  std::sort(extra.begin() + static_cast<std::ptrdiff_t>(must), extra.end());
  std::vector<double> by(static_cast<size_t>(most()) + 1, INFINITY);
  for (size_t n = 0; n < by.size() && n <= extra.size(); ++n) {
    if (n >= must)
      by[n] = sum;
    if (n < extra.size())
      sum += extra[n];
  }
  return by;
}

std::vector<double> EvenStages::group(int64_t group, const GroupShare &share,
                                      const std::vector<double> &held,
                                      const std::vector<int8_t> &fixed) const {
  auto size = static_cast<size_t>(most()) + 1;
  std::vector<double> best(size, -INFINITY), exchanges(size);
  for (size_t n = 0; n < size && share.ends > 0; ++n)
    exchanges[n] = exchange(group, static_cast<int64_t>(n));
  double never = std::max(0.0, 1 - p.hides);
  for (bool shows : {false, true}) {
    if (shows && (share.ends == 0 || exchanges.back() == 0))
      continue;
    double hidden = shows ? p.hidden : 0;
    std::vector<double> all(size, INFINITY);
    for (double threshold : thresholds) {
      double room = memory - threshold;
      std::vector<double> prices{0};
      for (size_t chunk = 0; chunk < held.size(); ++chunk) {
        double again = share.backward[chunk] - hidden * share.ends;
        if (again <= 0 || held[chunk] <= 0)
          continue;
        for (const auto *cost : costs)
          for (const auto &a : cost->keeps)
            for (const auto &b : cost->keeps)
              if (b.again > a.again && b.kept < a.kept &&
                  static_cast<double>(std::max(a.working, b.working)) <= threshold)
                prices.push_back(again * static_cast<double>(b.again - a.again) /
                                 (held[chunk] * static_cast<double>(a.kept - b.kept)));
      }
      std::sort(prices.begin(), prices.end());
      prices.erase(std::unique(prices.begin(), prices.end(),
                               [](double a, double b) { return b - a <= 1e-12 * b; }),
                   prices.end());
      auto at = [&](double price) {
        return atPrice(group, share, held, fixed, hidden, price, room, threshold);
      };
      std::map<size_t, std::vector<double>> known;
      auto by = [&](size_t i) -> const std::vector<double> & {
        auto found = known.find(i);
        return found != known.end() ? found->second : known[i] = at(prices[i]);
      };
      std::vector<double> over = at(INFINITY), most(size, -INFINITY);
      for (size_t n = 0; n < size; ++n) { // concave in the price
        if (over[n] > 1e-9 * memory) {
          most[n] = INFINITY; // at no price
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
          most[n] = std::max(most[n], values[n]);
      for (size_t n = 0; n < size; ++n)
        all[n] = std::min(all[n], most[n]);
    }
    for (size_t n = 0; n < size; ++n)
      best[n] = std::max(best[n], all[n] + share.ends * (shows ? 1 : never) * exchanges[n]);
  }
  for (double &value : best)
    value += share.ends * tied(group);
  return best;
}

} // namespace accord
