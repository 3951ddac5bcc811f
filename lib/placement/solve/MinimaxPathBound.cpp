#include "lib/placement/solve/MinimaxPathBound.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accord::placing {

/// One group for given weights of its passes: what its layers cost at a price per byte.
struct MinimaxPathBound::Priced {
  const BalancedPlans &plans;
  const BalancedPlans::Group &group;
  std::vector<size_t> stages;                           ///< by virtual stage
  std::vector<double> forward, backward, recomputeTime; ///< weights by virtual stage; of recomputation
  std::vector<double> held;                             ///< by virtual stage: the mean of the moments

  struct Best {
    double value = INFINITY, threshold = 0;
    std::vector<double> more; ///< by virtual stage: what a layer more costs
  };

  double recomputeCost(size_t virtualStage, size_t of, double price, double threshold,
                       const RecomputeChoice **which = nullptr, bool small = true) const {
    double best = INFINITY;
    for (const RecomputeChoice &recomputeChoice : plans.classes[of].recomputeChoices) {
      if (recomputeChoice.workspace > threshold)
        break;
      double cost = recomputeTime[virtualStage] * recomputeChoice.recomputeTime +
                    price * held[virtualStage] * recomputeChoice.activations;
      bool near = std::abs(cost - best) <= 1e-9 * std::abs(best);
      if (which && (near ? ((*which)->activations < recomputeChoice.activations) != small : cost < best))
        *which = &recomputeChoice;
      best = std::min(best, cost);
    }
    return best;
  }

  /// What the group costs with its fewest layers, and with one more of each virtual stage.
  Best at(double price, double threshold) const {
    Best best{0, threshold, {}};
    for (size_t c = 0; c < stages.size(); ++c) {
      const BalancedPlans::Stage &stage = plans.stages[stages[c]];
      best.value += forward[c] * stage.forward + backward[c] * stage.backward;
      for (auto [of, n] : stage.classes)
        best.value += n * (price * plans.classes[of].staticMemory + recomputeCost(c, of, price, threshold));
      best.more.push_back(forward[c] * stage.moreForward + backward[c] * stage.moreBackward +
                          price * plans.classes[plans.middle].staticMemory +
                          recomputeCost(c, plans.middle, price, threshold));
    }
    best.value -= price * (plans.memory - threshold);
    return best;
  }

  /// Which virtual stages get one layer more first: those that have to, then the cheapest. Of others the cost is
  /// infinite.
  std::vector<size_t> order(Best &best, const BalancedSubset &part, size_t &min) const {
    std::vector<size_t> list(stages.size());
    std::iota(list.begin(), list.end(), 0);
    min = 0;
    auto fixed = [&](size_t c) { return part.stages[stages[c]]; };
    for (size_t c : list) {
      min += fixed(c) == 1;
      if (fixed(c) == 0)
        best.more[c] = INFINITY;
    }
    std::sort(list.begin(), list.end(), [&](size_t a, size_t b) {
      return (fixed(a) == 1) != (fixed(b) == 1) ? fixed(a) == 1
             : best.more[a] != best.more[b]     ? best.more[a] < best.more[b]
                                                : a < b;
    });
    return list;
  }

  std::vector<double> prices() const {
    std::vector<double> list{0};
    for (size_t c = 0; c < stages.size(); ++c)
      for (size_t of = 0; of < plans.classes.size(); ++of) {
        const auto &classes = plans.stages[stages[c]].classes;
        if (of != plans.middle &&
            std::none_of(classes.begin(), classes.end(), [&](auto &one) { return one.first == of; }))
          continue;
        const auto &recomputeChoices = plans.classes[of].recomputeChoices;
        for (const auto &a : recomputeChoices)
          for (const auto &b : recomputeChoices)
            if (a.activations > b.activations && b.recomputeTime > a.recomputeTime && recomputeTime[c] > 0 &&
                held[c] > 0)
              list.push_back(recomputeTime[c] * (b.recomputeTime - a.recomputeTime) /
                             (held[c] * (a.activations - b.activations)));
      }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end(), [](double a, double b) { return b - a <= 1e-12 * b; }),
               list.end());
    list.push_back(list.back() * 16); // where nothing fits, this costs more than any plan
    return list;
  }
};

MinimaxPathBound::MinimaxPathBound(const BalancedPlans &plans) : plans_(plans), order_(plans.shape, plans.send) {
  for (const BalancedPlans::Group &group : plans.groups)
    weights_.emplace_back(group.held.size(), 1.0 / group.held.size());
  for (const BalancedPlans::Class &one : plans.classes)
    for (const RecomputeChoice &recomputeChoice : one.recomputeChoices)
      thresholds_.push_back(recomputeChoice.workspace);
  std::sort(thresholds_.begin(), thresholds_.end());
  thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
  std::erase_if(thresholds_, [&](double one) { return one > plans.memory; });
  // Of many groups some.
  int64_t apart = std::max<int64_t>(1, plans.shape.groups / 16);
  for (int64_t g = 0; g < plans.shape.groups; ++g) {
    if (g % apart != 0 && g + 1 != plans.shape.groups)
      continue;
    add(order_.through(g, true));
    if (g > 0)
      add(order_.through(g, false));
  }
  fixed_ = paths_.size();
}

void MinimaxPathBound::add(PathCounts path) {
  lengths_.emplace_back();
  for (const MeanPlan &plan : chosen_)
    lengths_.back().push_back(lengthOf(path, plan.times));
  paths_.push_back(std::move(path));
}

void MinimaxPathBound::add(MeanPlan plan) {
  for (size_t i = 0; i < paths_.size(); ++i)
    lengths_[i].push_back(lengthOf(paths_[i], plan.times));
  chosen_.push_back(std::move(plan));
}

/// The group for given weights of its passes. The exchange that shows is a line below it.
MinimaxPathBound::Priced MinimaxPathBound::priced(size_t g, const PathCounts &counts) const {
  size_t p = plans_.shape.groups, v = plans_.shape.virtualStages;
  const BalancedPlans::Group &group = plans_.groups[g];
  Priced mine{plans_, group, {}, {}, {}, {}, std::vector<double>(v)};
  bool shows = exchangeShows(group);
  for (size_t c = 0; c < v; ++c) {
    mine.stages.push_back(c * p + g);
    mine.forward.push_back(counts.passes[2 * (c * p + g)]);
    mine.backward.push_back(counts.passes[2 * (c * p + g) + 1]);
    mine.recomputeTime.push_back(mine.backward[c] - (shows ? plans_.overlapFraction * counts.ends[g] : 0));
    for (size_t k = 0; k < group.held.size(); ++k)
      mine.held[c] += weights_[g][k] * group.held[k][c];
  }
  return mine;
}

/// What cannot be hidden of an exchange.
double MinimaxPathBound::exposedFraction() const { return std::max(0.0, 1 - plans_.maxOverlap); }

/// Whether more of the group's exchange shows than that.
bool MinimaxPathBound::exchangeShows(const BalancedPlans::Group &group) const {
  return group.exchange[0] * (1 - exposedFraction()) > plans_.overlapFraction * group.overlapTime[0];
}

/// What the group costs at least by number of its larger stages, its end included; `choices`: at which price and
/// threshold.
std::vector<double> MinimaxPathBound::minCosts(const BalancedSubset &part, size_t g, double ends, const Priced &mine,
                                               std::vector<Choice> &choices) {
  const BalancedPlans::Group &group = plans_.groups[g];
  size_t max = choices.size() - 1;
  std::vector<double> value(max + 1, INFINITY), prices = mine.prices();
  for (double threshold : thresholds_) {
    // Plans that work with no more than this, at the price that says most of them.
    std::vector<double> now(max + 1, -INFINITY);
    std::vector<Choice> by(max + 1);
    for (double price : prices) {
      Priced::Best best = mine.at(price, threshold);
      size_t min = 0;
      std::vector<size_t> order = mine.order(best, part, min);
      work_ += plans_.shape.virtualStages;
      for (size_t n = 0; n <= max; ++n) {
        if (n >= min && best.value > now[n])
          now[n] = best.value, by[n] = {price, threshold};
        if (n < max)
          best.value += best.more[order[n]];
      }
    }
    for (size_t n = 0; n <= max; ++n)
      if (by[n].threshold >= 0 && now[n] < value[n])
        value[n] = now[n], choices[n] = by[n];
  }
  bool shows = exchangeShows(group);
  for (size_t n = 0; n <= max; ++n)
    if (int64_t k = n; k < part.groups[g].first || k > part.groups[g].second || choices[n].threshold < 0)
      value[n] = INFINITY;
    else
      value[n] += ends * (group.update[n] + (shows ? group.exchange[n] - plans_.overlapFraction * group.overlapTime[n]
                                                   : exposedFraction() * group.exchange[n]));
  return value;
}

/// The group's part of the plan with `n` larger stages, a mean of two plans where memory is scarce.
void MinimaxPathBound::takeGroup(const BalancedSubset &part, size_t g, size_t n, const Priced &mine,
                                 const Choice &choice, MeanPlan &mean) {
  const BalancedPlans::Group &group = plans_.groups[g];
  size_t v = mine.stages.size();
  auto [price, threshold] = choice;
  Priced::Best best = mine.at(price, threshold);
  size_t min = 0;
  std::vector<size_t> order = mine.order(best, part, min);
  std::vector<double> extra(v);
  for (size_t i = 0; i < n; ++i)
    extra[order[i]] = 1;
  std::vector<double> recomputeTime[2], activations[2];
  double bytes[2] = {0, 0};
  for (int side = 0; side < 2; ++side)
    for (size_t c = 0; c < v; ++c) {
      recomputeTime[side].push_back(0), activations[side].push_back(0);
      auto take = [&](size_t of, double count) {
        const RecomputeChoice *recomputeChoice = &plans_.classes[of].recomputeChoices.front();
        mine.recomputeCost(c, of, price, threshold, &recomputeChoice, side == 0);
        recomputeTime[side].back() += count * recomputeChoice->recomputeTime;
        activations[side].back() += count * recomputeChoice->activations;
        bytes[side] += count * (plans_.classes[of].staticMemory + mine.held[c] * recomputeChoice->activations);
      };
      for (auto [of, count] : plans_.stages[mine.stages[c]].classes)
        take(of, count);
      take(plans_.middle, extra[c]);
    }
  double room = plans_.memory - threshold;
  double share = bytes[1] > bytes[0] // of the second
                     ? std::clamp((room - bytes[0]) / (bytes[1] - bytes[0]), 0.0, 1.0)
                     : 1;
  double all = 0;
  std::vector<double> full(group.held.size());
  for (size_t c = 0; c < v; ++c) {
    const BalancedPlans::Stage &stage = plans_.stages[mine.stages[c]];
    double computed = (1 - share) * recomputeTime[0][c] + share * recomputeTime[1][c];
    all += computed;
    mean.larger[mine.stages[c]] = extra[c];
    mean.times.passes[2 * mine.stages[c]] = stage.forward + extra[c] * stage.moreForward;
    mean.times.passes[2 * mine.stages[c] + 1] = stage.backward + extra[c] * stage.moreBackward + computed;
    for (size_t k = 0; k < full.size(); ++k)
      full[k] += group.held[k][c] * ((1 - share) * activations[0][c] + share * activations[1][c]);
  }
  mean.times.stepTail[g] =
      group.update[n] + std::max(exposedFraction() * group.exchange[n],
                                 group.exchange[n] - plans_.overlapFraction * (group.overlapTime[n] + all));
  if (price > 0)
    reweigh(g, full);
}

/// The fullest moments of a group count more the next time. `full`: bytes by moment.
void MinimaxPathBound::reweigh(size_t g, const std::vector<double> &full) {
  double max = *std::max_element(full.begin(), full.end()), sum = 0;
  double spread = max - *std::min_element(full.begin(), full.end());
  if (spread <= 0)
    return;
  for (size_t k = 0; k < full.size(); ++k)
    sum += weights_[g][k] *= std::exp(-1.0 / (1 + 0.1 * round_) * (max - full[k]) / spread);
  for (double &weight : weights_[g])
    weight /= sum;
}

double MinimaxPathBound::minMeanLength(const BalancedSubset &part, const PathCounts &counts, MeanPlan &mean) {
  size_t p = plans_.shape.groups, v = plans_.shape.virtualStages;
  size_t more = plans_.more;
  size_t max = std::min(v, more);
  std::vector<std::vector<Choice>> choices(p, std::vector<Choice>(max + 1)); // by group, number of larger stages
  std::vector<Priced> groups;
  // Least of the groups so far by number of larger stages.
  std::vector<double> sums(more + 1, INFINITY);
  sums[0] = 0;
  std::vector<std::vector<size_t>> taken;
  for (size_t g = 0; g < p; ++g) {
    groups.push_back(priced(g, counts));
    std::vector<double> value = minCosts(part, g, counts.ends[g], groups.back(), choices[g]);
    std::vector<double> next(more + 1, INFINITY);
    taken.emplace_back(more + 1);
    for (size_t have = 0; have <= more; ++have)
      for (size_t n = 0; n <= std::min(max, more - have); ++n)
        if (double sum = sums[have] + value[n]; sum < next[have + n])
          next[have + n] = sum, taken.back()[have + n] = n;
    sums = std::move(next);
  }
  if (!std::isfinite(sums[more]))
    return INFINITY;
  mean.times = {std::vector<double>(2 * p * v), std::vector<double>(p)};
  mean.larger.assign(p * v, 0);
  for (size_t g = p, have = more; g-- > 0;) {
    size_t n = taken[g][have];
    have -= n;
    takeGroup(part, g, n, groups[g], choices[g][n], mean);
  }
  return sums[more] + counts.sends;
}

double MinimaxPathBound::bound(const BalancedSubset &part, double enough, size_t rounds, const MinimaxProof *from) {
  constexpr double Rounding = 1 - 1e-11;
  auto inside = [&](const MeanPlan &plan) {
    for (size_t s = 0; s < plan.larger.size(); ++s)
      if (part.stages[s] >= 0 && plan.larger[s] != part.stages[s])
        return false;
    for (size_t g = 0; g < part.groups.size(); ++g) {
      double n = 0;
      for (size_t s = g; s < plan.larger.size(); s += part.groups.size())
        n += plan.larger[s];
      if (n < part.groups[g].first || n > part.groups[g].second)
        return false;
    }
    return true;
  };
  for (size_t j = chosen_.size(); j-- > 0;)
    if (!inside(chosen_[j])) {
      chosen_.erase(chosen_.begin() + j);
      for (auto &row : lengths_)
        row.erase(row.begin() + j);
    }
  double best = -1;
  GameWeights game;
  limit_ = INFINITY;
  for (size_t i = 0; i < rounds && best < enough; ++i, ++round_) {
    bool again = i == 0 && from && !from->paths.empty();
    if (again)
      weights_ = from->moments;
    if (chosen_.empty())
      game.rows.assign(paths_.size(), 1.0 / paths_.size());
    else if (!again)
      game = solveGame(lengths_);
    // All but some rounds go half of the way from the best mean so far, which turns less from side to side (Wentges,
    // Weighted Dantzig-Wolfe decomposition, International Transactions in Operational Research 4(2), 1997).
    MinimaxProof proof = again ? *from : meanOf(game.rows, best > 0 && i % 8 != 0 ? &proof_ : nullptr);
    MeanPlan plan;
    double now = minMeanLength(part, proof.counts, plan) * Rounding;
    if (now > best)
      best = now, proof_ = proof;
    if (std::isinf(now))
      return INFINITY;
    add(std::move(plan));
    game = solveGame(lengths_);
    MeanPlan mean{{std::vector<double>(paths_[0].passes.size()), std::vector<double>(paths_[0].ends.size())},
                  std::vector<double>(chosen_[0].larger.size())};
    for (size_t j = 0; j < chosen_.size(); ++j) {
      auto sum = [&](std::vector<double> &to, const std::vector<double> &from) {
        for (size_t k = 0; k < to.size(); ++k)
          to[k] += game.columns[j] * from[k];
      };
      if (game.columns[j] > 0) {
        sum(mean.times.passes, chosen_[j].times.passes);
        sum(mean.times.stepTail, chosen_[j].times.stepTail);
        sum(mean.larger, chosen_[j].larger);
      }
    }
    PathCounts path;
    if (double step = order_.longest(mean.times, path); step < limit_)
      limit_ = step, mean_ = std::move(mean);
    work_ += order_.size() / 4 + paths_.size() * (paths_.size() + chosen_.size());
    add(std::move(path));
    // Where the bound cannot come to be enough, what it still may gain is looked for in smaller parts.
    if (limit_ - best <= (limit_ < enough ? std::max(1e-5 * limit_, 0.1 * (enough - limit_)) : 1e-5 * limit_))
      break;
  }
  forget(game.rows);
  return std::max(best, 0.0);
}

void MinimaxProof::add(const std::shared_ptr<const PathBound::Path> &path, double weight) {
  auto known = std::ranges::find(paths, path, [](const auto &one) { return one.first; });
  if (known == paths.end())
    paths.push_back({path, weight});
  else
    known->second += weight;
}

/// The mean of the paths with these weights; half of it and half of another one, if there is.
MinimaxProof MinimaxPathBound::meanOf(const std::vector<double> &weights, const MinimaxProof *other) const {
  MinimaxProof mean{
      {std::vector<double>(paths_[0].passes.size()), std::vector<double>(paths_[0].ends.size()), 0, {}}, {}, weights_};
  auto blend = [&](const PathCounts &path, double weight) {
    for (size_t k = 0; k < path.passes.size(); ++k)
      mean.counts.passes[k] += weight * path.passes[k];
    for (size_t k = 0; k < path.ends.size(); ++k)
      mean.counts.ends[k] += weight * path.ends[k];
    mean.counts.sends += weight * path.sends;
  };
  for (size_t k = 0; k < paths_.size(); ++k)
    if (weights[k] > 0) {
      blend(paths_[k], weights[k] * (other ? 0.5 : 1));
      mean.add(paths_[k].way, weights[k] * (other ? 0.5 : 1));
    }
  if (!other)
    return mean;
  blend(other->counts, 0.5);
  for (const auto &[way, weight] : other->paths)
    mean.add(way, weight / 2);
  return mean;
}

/// Paths that took no part in the end, when there are many.
void MinimaxPathBound::forget(const std::vector<double> &weights) {
  constexpr size_t kMaxPaths = 48;
  for (size_t k = std::min(paths_.size(), weights.size()); paths_.size() > kMaxPaths && k-- > fixed_;)
    if (weights[k] <= 0) {
      paths_.erase(paths_.begin() + k);
      lengths_.erase(lengths_.begin() + k);
    }
  if (chosen_.size() > kMaxPaths) {
    size_t drop = chosen_.size() - kMaxPaths;
    chosen_.erase(chosen_.begin(), chosen_.begin() + drop);
    for (auto &row : lengths_)
      row.erase(row.begin(), row.begin() + drop);
  }
}

size_t MinimaxProofTree::split(size_t node, PathBound::Part part) {
  size_t first = nodes_.size();
  nodes_[node].part = std::move(part), nodes_[node].halves = first;
  Node half;
  half.proof = nodes_[node].proof, half.bound = nodes_[node].bound;
  nodes_.resize(first + 2, half);
  return first;
}

void MinimaxProofTree::prove(size_t node, const MinimaxProof &proof, double bound) {
  if (bound <= nodes_[node].bound)
    return;
  nodes_[node].bound = bound;
  nodes_[node].proof = std::make_shared<const MinimaxProof>(proof);
}

namespace {

/// After how many forward passes a group first holds so many micro-batches of each virtual stage.
int64_t momentOf(const std::vector<PipelinePass> &order, const PipelineShape &shape, const std::vector<int64_t> &held) {
  std::vector<int64_t> now(held.size());
  int64_t forward = 0;
  for (const PipelinePass &pass : order) {
    now[pass.stage / shape.groups] += pass.pass == Pass::Forward ? 1 : -1;
    if (pass.pass == Pass::Forward && ++forward && now == held)
      return forward;
  }
  return forward;
}

} // namespace

PathBound MinimaxProofTree::written(const PipelineShape &shape, uint32_t parallelConfig,
                                    const std::vector<InFlightStates> &held) const {
  PathBound all{shape.groups, shape.virtualStages, shape.microbatches, parallelConfig, {}, {}};
  std::map<const PathBound::Path *, uint32_t> known;
  std::vector<std::vector<uint32_t>> moments;
  for (int64_t g = 0; g < shape.groups; ++g) {
    std::vector<PipelinePass> order = passesOf(shape, g);
    moments.emplace_back();
    for (const auto &one : held[g])
      moments.back().push_back(momentOf(order, shape, one));
  }
  std::vector<size_t> left{0};
  while (!left.empty()) {
    const Node &node = nodes_[left.back()];
    left.pop_back();
    all.parts.push_back(node.part);
    if (node.halves > 0) {
      left.push_back(node.halves + 1), left.push_back(node.halves);
      continue;
    }
    if (!node.proof)
      continue;
    std::map<uint32_t, double> weights;
    for (const auto &[way, weight] : node.proof->paths) {
      auto [found, added] = known.emplace(way.get(), all.paths.size());
      if (added)
        all.paths.push_back(*way);
      weights[found->second] += weight;
    }
    for (auto [of, weight] : weights)
      all.parts.back().paths.push_back({of, weight});
    for (size_t g = 0; g < moments.size(); ++g) {
      all.parts.back().moments.emplace_back();
      for (size_t k = 0; k < moments[g].size(); ++k)
        if (double weight = node.proof->moments[g][k]; weight > 0)
          all.parts.back().moments.back().push_back({moments[g][k], weight});
    }
  }
  return all;
}

} // namespace accord::placing
