// Interleaved stages are even: how long a step takes at least where all but the first and the last
// layers are equal, as in a transformer.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>

namespace accord::placing {

namespace {

/// Least recomputation of a group if layers may be split between two ways to keep them, as a linear
/// program: less is kept where it costs the least time per byte (Sinha and Zoltners, The
/// multiple-choice knapsack problem, Operations Research 27(3), 1979). Nothing if none fits.
std::optional<int64_t> minRecomputeTime(const DownSetLattice &lattice, Id parallelConfig,
                                        const std::vector<Part> &parts, const std::vector<int64_t> &inFlight,
                                        int64_t memory) {
  struct Step {
    double time, bytes;
  };
  std::vector<Step> steps;
  double recomputeTime = 0, bytes = 0;
  int64_t workspace = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part &part = parts[i];
    bytes += lattice.between(parallelConfig, part.from, part.to).staticMemory;
    for (Id layer : lattice.layersBetween(part.from, part.to)) {
      const auto &recomputeChoices = lattice.problem.cost(layer, parallelConfig)->recomputeChoices;
      size_t at = 0; // the fastest, of equal ones the smallest
      int64_t room = INT64_MAX;
      for (size_t k = 0; k < recomputeChoices.size(); ++k) {
        room = std::min(room, recomputeChoices[k].workspace);
        if (std::pair(recomputeChoices[k].recomputeTime, recomputeChoices[k].activations) <
            std::pair(recomputeChoices[at].recomputeTime, recomputeChoices[at].activations))
          at = k;
      }
      workspace = std::max(workspace, room);
      recomputeTime += recomputeChoices[at].recomputeTime;
      auto held = static_cast<double>(inFlight[i]);
      bytes += held * recomputeChoices[at].activations;
      for (;;) { // along the lower hull
        size_t best = at;
        double ratio = 0;
        for (size_t k = 0; k < recomputeChoices.size(); ++k)
          if (recomputeChoices[k].activations < recomputeChoices[at].activations) {
            double one = static_cast<double>(recomputeChoices[k].recomputeTime - recomputeChoices[at].recomputeTime) /
                         (recomputeChoices[at].activations - recomputeChoices[k].activations);
            if (best == at || one < ratio)
              best = k, ratio = one;
          }
        if (best == at)
          break;
        steps.push_back({static_cast<double>(recomputeChoices[best].recomputeTime - recomputeChoices[at].recomputeTime),
                         held * (recomputeChoices[at].activations - recomputeChoices[best].activations)});
        at = best;
      }
    }
  }
  double over = bytes + workspace - memory;
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return a.time * b.bytes < b.time * a.bytes; });
  for (const Step &step : steps) {
    if (over <= 0)
      break;
    double part = std::min(1.0, over / step.bytes);
    recomputeTime += part * step.time, over -= part * step.bytes;
  }
  if (over > 1)
    return std::nullopt;
  return static_cast<int64_t>(recomputeTime * (1 - 1e-12));
}

} // namespace

bool ConfigurationSearch::canBeBalanced(uint32_t from, uint32_t to, int64_t left) const {
  if (configuration_.virtualStages == 1 || problem_.uniformClass)
    return true;
  int64_t all = lattice_.count(0, lattice_.last()), min = all / stages_;
  int64_t max = min + (all % stages_ ? 1 : 0), size = lattice_.count(from, to),
          rest = lattice_.count(to, lattice_.last());
  return size >= min && size <= max && rest >= left * min && rest <= left * max;
}

std::optional<std::vector<int64_t>> ConfigurationSearch::onlyCut() const {
  std::vector<int64_t> sizes;
  auto all = lattice_.last();
  int64_t min = static_cast<int64_t>(all) / stages_;
  uint32_t from = 0;
  for (int64_t s = 1; s <= stages_; ++s) {
    uint32_t to = s == stages_ ? all : from + 1;
    while (to < all && !mayHold(s, to))
      ++to;
    bool several = to < all && mayHold(s, to + 1);
    int64_t size = int64_t{to} - from;
    if (!lattice_.linear || !mayHold(s, to) || several || size < min || size > min + 1)
      return std::nullopt;
    sizes.push_back(size);
    from = to;
  }
  return sizes;
}

/// The equal layers in the middle of a chain: after `first` others, and before `last` others.
/// Nothing where a first or last stage could not hold the others.
std::optional<ConfigurationSearch::Middle> ConfigurationSearch::middle() const {
  if (!lattice_.chain || configuration_.parallelConfigs.size() != 1)
    return std::nullopt;
  const auto &layers = problem_.layers;
  int64_t size = layers.size(), min = size / stages_;
  Id of = layers[layers.size() / 2].of;
  Middle found;
  while (found.first < size && layers[found.first].of != of)
    ++found.first;
  while (found.last < size && layers[size - 1 - found.last].of != of)
    ++found.last;
  for (int64_t i = found.first; i < size - found.last; ++i)
    if (layers[i].of != of ||
        !mayRunOn(problem_, static_cast<Id>(i), problem_.parallelConfigs[configuration_.parallelConfigs[0]].deviceType))
      return std::nullopt;
  if (stages_ < 2 || min < std::max(found.first, found.last))
    return std::nullopt;
  return found;
}

/// A group runs all passes of its chunks, m times. Before its first one, the groups before it have
/// run the first micro-batch through their first chunks; after its last one, its gradient goes back
/// through these. With n stages of one layer more than the fewest it recomputes no less than where
/// these are the stages with the fewest micro-batches in flight. What all groups can take within a
/// step has to be all layers.
double ConfigurationSearch::balancedBound() {
  auto equal = balanced_ ? middle() : std::nullopt;
  if (!equal)
    return 0;
  Id parallelConfig = configuration_.parallelConfigs[0];
  const PlacementProblem::ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
  int64_t memory = problem_.deviceTypes[one.deviceType].memory;
  auto all = static_cast<int64_t>(problem_.layers.size());
  int64_t min = all / stages_, more = all % stages_;
  auto crossing = [&](int64_t stage) { // into a stage, wherever it begins
    int64_t low = stage * min, high = std::min(all, low + std::min(stage, more)), bytes = INT64_MAX;
    for (int64_t node = low; node <= high; ++node)
      bytes = std::min(bytes, lattice_.crossing(static_cast<uint32_t>(node)));
    return bytes;
  };
  /// Some place of a stage; all have layers of the same classes.
  auto part = [&](int64_t stage, int64_t size) {
    int64_t from = stage == 0 ? 0
                   : stage + 1 == stages_
                       ? all - size
                       : std::clamp(stage * min, equal->first, std::max(equal->first, all - equal->last - size));
    return Part{static_cast<uint32_t>(from), static_cast<uint32_t>(from + size)};
  };
  auto boundOf = [&](const Part &part, int64_t stage) {
    Sums sums = lattice_.between(parallelConfig, part.from, part.to);
    int64_t gather = one.gather.empty() ? 0 : minTime(one.gather, sums.weights);
    int64_t in = stage > 0 ? minTransfer(parallelConfig, crossing(stage), stage - 1) : 0;
    int64_t out = stage + 1 < stages_ ? minTransfer(parallelConfig, crossing(stage + 1), stage) : 0;
    StageBound bound;
    bound.forward = sums.forward + problem_.hostOverheadPerMicrobatch + gather;
    bound.backward = sums.backward + sums.recomputeTime + gather;
    bound.weight = sums.weight;
    if (problem_.blockingTransfers)
      bound.forward += in, bound.backward += out;
    else
      bound.send = out;
    return bound;
  };
  std::vector<std::vector<int64_t>> steps; ///< by group, n
  int64_t front = 0, drain = 0, low = 0;
  for (int64_t g = 0; g < groups_; ++g) {
    std::vector<int64_t> stages;
    for (int64_t s = g; s < stages_; s += groups_)
      stages.push_back(s);
    const auto &held = held_[g].front();
    auto order = stages; // which get a layer more
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return std::pair(held[a / groups_], a) < std::pair(held[b / groups_], b); });
    std::vector<int64_t> mine;
    for (int64_t n = 0; n <= std::min(more, configuration_.virtualStages); ++n) {
      std::vector<Part> parts;
      StageWork work;
      int64_t pass = 0, recomputeTime = 0;
      for (int64_t s : stages) {
        bool larger = std::find(order.begin(), order.begin() + n, s) != order.begin() + n;
        parts.push_back(part(s, min + larger));
        Sums sums = lattice_.between(parallelConfig, parts.back().from, parts.back().to);
        if (sums.cannot)
          return 0;
        StageBound bound = boundOf(parts.back(), s);
        pass += bound.work(), recomputeTime += sums.recomputeTime;
        work.backward += sums.backward + (problem_.overlapFraction <= 1 ? sums.recomputeTime : sums.maxRecomputeTime);
        work.weight += sums.weight, work.update += sums.update, work.gradients += sums.gradients;
        work.expertGradients += sums.expertGradients;
      }
      auto must = minRecomputeTime(lattice_, parallelConfig, parts, held, memory);
      searchState_.budget -= all / groups_;
      if (!must)
        break; // nor with more layers
      // More recomputation hides more of the exchange, but not more than it takes.
      int64_t rest = std::max<int64_t>(0, *must - recomputeTime);
      pass += rest, work.backward += problem_.overlapFraction <= 1 ? rest : 0;
      int64_t stepTail =
          exposedStepTail(problem_, parallelConfig, work, countReplicasPerNode(problem_, parallelConfig, groups_));
      if (g == 0 || g + 1 == groups_) // the ends of the chain are in different groups
        stepTail += minTies(parallelConfig, g == 0 ? 0 : lattice_.last() - 1, g == 0 ? 1 : lattice_.last());
      mine.push_back(front + microbatches_ * pass + std::max(drain, stepTail));
    }
    if (mine.empty())
      return searchState_.value; // nothing fits
    low = std::max(low, mine[0]);
    steps.push_back(std::move(mine));
    StageBound first = boundOf(part(g, min), g);
    front += first.forward + first.send, drain += first.send + first.backward + first.weight;
  }
  maxLarger_.clear();
  for (const auto &mine : steps) {
    int64_t max = -1, limit = longest();
    for (size_t n = 0; n < mine.size(); ++n)
      if (mine[n] <= limit)
        max = n;
    maxLarger_.push_back(max);
  }
  std::vector<int64_t> tried{low};
  for (const auto &mine : steps)
    tried.insert(tried.end(), mine.begin(), mine.end());
  std::sort(tried.begin(), tried.end());
  for (int64_t step : tried) {
    if (step < low)
      continue;
    int64_t room = 0;
    for (const auto &mine : steps)
      room += std::upper_bound(mine.begin(), mine.end(), step) - mine.begin() - 1;
    if (room >= more)
      return value(step, minRatesOf({}));
  }
  return searchState_.value;
}

/// Even cuts: a layer more for the ends and then the middle, for the first, for the last, or
/// spread; then from one stage to another while that helps.
void ConfigurationSearch::seedBalanced(bool moves) {
  if (configuration_.parallelConfigs.size() != 1)
    return;
  Id parallelConfig = configuration_.parallelConfigs[0];
  auto all = static_cast<int64_t>(line_.size()) - 1;
  int64_t min = all / stages_, more = problem_.uniformClass ? 0 : all % stages_;
  auto evaluated = [&](const std::vector<int64_t> &sizes) {
    std::vector<Placed> stages;
    size_t at = 0;
    for (int64_t size : sizes) {
      size_t to = at + static_cast<size_t>(size);
      stages.push_back({line_[at], line_[to], parallelConfig});
      if (lattice_.between(parallelConfig, line_[at], line_[to]).cannot)
        return static_cast<double>(INFINITY);
      at = to;
    }
    return leaf(stages, false);
  };
  if (problem_.uniformClass) { // cut as early as can be
    std::vector<int64_t> sizes;
    for (int64_t s = 1, at = 0, to = 1; s <= stages_; ++s, at = to++) {
      while (to < all && (s == stages_ || !mayHold(s, line_[to])))
        ++to;
      if (to > all)
        return;
      sizes.push_back(to - at);
    }
    evaluated(sizes);
    return;
  }
  std::vector<int64_t> best;
  double value = INFINITY;
  for (int way = 0; way < (more ? 4 : 1); ++way) {
    std::vector<int64_t> sizes(stages_, min);
    for (int64_t i = 0; i < more; ++i)
      ++sizes[way == 0   ? (i % 2 ? stages_ - 1 - i / 2 : i / 2)
              : way == 1 ? i
              : way == 2 ? stages_ - 1 - i
                         : i * stages_ / more];
    if (double now = evaluated(sizes); now < value)
      value = now, best = std::move(sizes);
  }
  for (bool better = moves && !best.empty() && more > 0; better && !searchState_.isExhausted();) {
    better = false;
    for (size_t from = 0; from < best.size() && !better; ++from)
      for (size_t to = 0; to < best.size() && !better && best[from] > min; ++to) {
        if (best[to] > min || searchState_.isExhausted())
          continue;
        auto moved = best;
        --moved[from], ++moved[to];
        if (double now = evaluated(moved); now < value)
          value = now, best = std::move(moved), better = true;
      }
  }
}

} // namespace accord::placing
