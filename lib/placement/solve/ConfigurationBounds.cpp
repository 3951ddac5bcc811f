// One configuration: bounds that need no search over its plans, balanced stages, and first plans.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {

// --- How many of the most frequent layers the groups hold, if none may take longer than a bottleneck. ---

namespace {

/// Most layers with sum x_k time_k <= time and sum x_k bytes_k <= bytes over the ways k to keep
/// them: a linear program of two rows, whose best vertex uses at most two ways.
double maxBytesWithin(const std::vector<std::pair<double, double>> &alternatives, double time, double bytes) {
  if (time < 0 || bytes < 0)
    return -1;
  double max = 0;
  auto ratio = [](double have, double each) { return each > 0 ? have / each : INFINITY; };
  for (size_t i = 0; i < alternatives.size(); ++i) {
    auto [ti, bi] = alternatives[i];
    max = std::max(max, std::min(ratio(time, ti), ratio(bytes, bi)));
    for (size_t j = i + 1; j < alternatives.size(); ++j) {
      auto [tj, bj] = alternatives[j];
      double determinant = ti * bj - tj * bi;
      if (determinant == 0)
        continue;
      double x = (time * bj - tj * bytes) / determinant, y = (ti * bytes - time * bi) / determinant;
      if (x >= 0 && y >= 0)
        max = std::max(max, x + y);
    }
  }
  return max;
}

} // namespace

/// Layers of one class, all others left out but the first and the last layer of a chain, which are
/// in the first and the last group. Each group holds no more of them than fit within the time of
/// the bottleneck and its memory (micro-batches in flight at least as many as in the emptiest of
/// its chunks, at any moment), in any of the forms. The least bottleneck for which this is enough
/// bounds the fullest group of each plan, and a step takes all its passes.
double ConfigurationSearch::capacityBound() {
  if (!mayHold(stages_, lattice_.last())) // a layer is pinned to a stage that is not there
    return INFINITY;
  std::vector<int64_t> counts(problem_.classes.size());
  for (const PlacementProblem::Layer &layer : problem_.layers)
    ++counts[layer.of];
  auto unit = static_cast<Id>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  auto end = static_cast<Id>(problem_.layers.size() - 1);
  auto p = static_cast<size_t>(groups_);
  struct Use {
    int64_t time = 0, bytes = 0;
  };
  auto useOf = [&](Id parallelConfig, Id layer, int64_t inFlight) -> Use {
    const auto &cost = problem_.cost(layer, parallelConfig);
    if (problem_.layers[layer].of == unit || !cost)
      return {};
    int64_t recomputeTime = INT64_MAX, activations = INT64_MAX;
    for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices)
      recomputeTime = std::min(recomputeTime, recomputeChoice.recomputeTime),
      activations = std::min(activations, recomputeChoice.activations);
    return {cost->forward + cost->backward + cost->weight + recomputeTime, cost->staticMemory + inFlight * activations};
  };
  struct Row {
    double fixed, bytes;
    std::vector<std::pair<double, double>> alternatives;
    double groups = 1;
  };
  std::vector<std::vector<Row>> rows; ///< by group (equal ones once), form
  int64_t last = -1;
  for (size_t g = 0; g < p; ++g) {
    int64_t inFlight = 0;
    for (const auto &held : held_[g])
      inFlight = std::max(inFlight, *std::min_element(held.begin(), held.end()));
    auto lastGroup = static_cast<size_t>(groupOf(stages_ - 1));
    bool special = lattice_.chain && (g == 0 || g == lastGroup);
    if (!special && inFlight == last) {
      for (Row &row : rows.back())
        ++row.groups;
      continue;
    }
    last = special ? -1 : inFlight;
    rows.emplace_back();
    for (Id parallelConfig : configuration_.parallelConfigs) {
      const auto &cost = problem_.classes[unit].costs[parallelConfig];
      int64_t memory = problem_.deviceTypes[problem_.parallelConfigs[parallelConfig].deviceType].memory,
              workspace = INT64_MAX;
      Use fixed;
      for (auto [here, layer] : {std::pair{g == 0, Id{0}}, std::pair{g == lastGroup && end > 0, end}})
        if (lattice_.chain && here) {
          Use use = useOf(parallelConfig, layer, inFlight);
          fixed.time += use.time, fixed.bytes += use.bytes;
        }
      Row row{static_cast<double>(fixed.time + problem_.hostOverheadPerMicrobatch * configuration_.virtualStages),
              0,
              {},
              1};
      if (cost)
        for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices) {
          workspace = std::min(workspace, recomputeChoice.workspace);
          row.alternatives.push_back(
              {static_cast<double>(cost->forward + cost->backward + cost->weight + recomputeChoice.recomputeTime),
               static_cast<double>(cost->staticMemory + inFlight * recomputeChoice.activations)});
        }
      row.bytes = memory - fixed.bytes - (cost ? workspace : 0);
      // A group without any of these layers needs no room to work on them.
      if (row.bytes < 0)
        row.bytes = 0;
      rows.back().push_back(std::move(row));
    }
  }
  auto holds = [&](double bottleneck) {
    double sum = 0;
    for (const auto &group : rows) {
      double max = 0;
      for (const Row &row : group)
        max = std::max(max, maxBytesWithin(row.alternatives, bottleneck - row.fixed, row.bytes));
      sum += std::isinf(max) ? max : group[0].groups * std::floor(max * (1 + 1e-12) + 1e-9);
      if (sum >= counts[unit])
        return true;
    }
    return false;
  };
  double high = std::min(static_cast<double>(longest()) / microbatches_, 4e18);
  if (!holds(high))
    return std::isinf(searchState_.value) && high < 4e18 ? INFINITY : searchState_.cutoff();
  double low = 0;
  while (high - low > std::max(0.5, high * 2e-4)) {
    double middle = high > 4 * low + 4 ? std::sqrt((low + 1) * (high + 1)) : low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  double step = low * microbatches_ * (1 - 1e-12);
  return value(step, minRatesOf({}));
}

// --- Interleaved stages are even: how long a step takes at least where all but the first and the last layers are
// equal, as in a transformer. ---

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

// --- What the game of even stages is played with. ---

/// Nothing where a layer cannot run in the form.
std::optional<BalancedPlans> ConfigurationSearch::balancedPlans(const Middle &middle) const {
  Id parallelConfig = configuration_.parallelConfigs[0];
  const PlacementProblem::ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
  auto all = static_cast<int64_t>(problem_.layers.size()), min = all / stages_;
  BalancedPlans plans;
  plans.shape = {configuration_.schedule, groups_, configuration_.virtualStages, microbatches_};
  plans.more = all % stages_;
  plans.memory = problem_.deviceTypes[one.deviceType].memory;
  plans.overlapFraction = problem_.overlapFraction, plans.maxOverlap = problem_.maxOverlap;
  std::map<Id, size_t> classes;
  auto classOf = [&](int64_t layer) {
    Id of = problem_.layers[layer].of;
    auto [found, added] = classes.emplace(of, plans.classes.size());
    if (added) {
      const auto &cost = *problem_.classes[of].costs[parallelConfig];
      plans.classes.push_back({static_cast<double>(cost.staticMemory), cost.recomputeChoices});
      auto &recomputeChoices = plans.classes.back().recomputeChoices;
      std::sort(recomputeChoices.begin(), recomputeChoices.end(),
                [](const auto &a, const auto &b) { return a.workspace < b.workspace; });
    }
    return found->second;
  };
  auto crossing = [&](int64_t stage) { // into a stage, wherever it begins
    int64_t low = stage * min, high = std::min(all, low + std::min(stage, plans.more)), bytes = INT64_MAX;
    for (int64_t node = low; node <= high; ++node)
      bytes = std::min(bytes, lattice_.crossing(static_cast<uint32_t>(node)));
    return bytes;
  };
  if (lattice_.all(parallelConfig).cannot)
    return std::nullopt;
  plans.middle = classOf(middle.first);
  std::vector<StageWork> works(groups_);
  for (int64_t s = 0; s < stages_; ++s) {
    // Somewhere: all its places have layers of the same classes.
    int64_t from = s == 0 ? 0
                   : s + 1 == stages_
                       ? all - min
                       : std::clamp(s * min, middle.first, std::max(middle.first, all - middle.last - min));
    Sums sums = lattice_.between(parallelConfig, static_cast<uint32_t>(from), static_cast<uint32_t>(from + min));
    auto extra = static_cast<uint32_t>(middle.first);
    Sums layer = lattice_.between(parallelConfig, extra, extra + 1);
    auto gather = [&](int64_t weights) { return one.gather.empty() ? 0 : minTime(one.gather, weights); };
    int64_t in = s > 0 ? minTransfer(parallelConfig, crossing(s), s - 1) : 0;
    int64_t out = s + 1 < stages_ ? minTransfer(parallelConfig, crossing(s + 1), s) : 0;
    bool blocks = problem_.blockingTransfers;
    int64_t gathers = gather(sums.weights), longer = gather(sums.weights + layer.weights) - gathers;
    BalancedPlans::Stage stage;
    stage.forward = sums.forward + problem_.hostOverheadPerMicrobatch + gathers + (blocks ? in : 0);
    stage.backward = sums.backward + sums.weight + gathers + (blocks ? out : 0);
    stage.moreForward = layer.forward + longer;
    stage.moreBackward = layer.backward + layer.weight + longer;
    plans.send.push_back(blocks ? 0 : static_cast<double>(out));
    for (int64_t i = from; i < from + min; ++i) {
      size_t of = classOf(i);
      auto found =
          std::find_if(stage.classes.begin(), stage.classes.end(), [&](const auto &each) { return each.first == of; });
      if (found == stage.classes.end())
        stage.classes.push_back({of, 1});
      else
        found->second += 1;
    }
    plans.stages.push_back(std::move(stage));
    StageWork &work = works[s % groups_];
    work.backward += sums.backward, work.weight += sums.weight;
    work.update += sums.update, work.gradients += sums.gradients;
    work.expertGradients += sums.expertGradients;
  }
  Sums layer =
      lattice_.between(parallelConfig, static_cast<uint32_t>(middle.first), static_cast<uint32_t>(middle.first) + 1);
  int64_t replicasPerNode = countReplicasPerNode(problem_, parallelConfig, groups_);
  for (size_t g = 0; g < works.size(); ++g) {
    BalancedPlans::Group group{held_[g], {}, {}, {}};
    int64_t tied = 0; // the ends of the chain are in different groups
    if (g == 0)
      tied = minTies(parallelConfig, 0, 1);
    else if (g + 1 == works.size())
      tied = minTies(parallelConfig, lattice_.last() - 1, lattice_.last());
    for (int64_t n = 0; n <= std::min(plans.more, configuration_.virtualStages); ++n) {
      StageWork work;
      work.gradients = works[g].gradients + n * layer.gradients;
      work.expertGradients = works[g].expertGradients + n * layer.expertGradients;
      group.exchange.push_back(gradientSyncTime(problem_, parallelConfig, work, replicasPerNode));
      group.overlapTime.push_back(works[g].backward + works[g].weight + n * (layer.backward + layer.weight));
      group.update.push_back(works[g].update + n * layer.update + tied);
    }
    plans.groups.push_back(std::move(group));
  }
  return plans;
}

// --- Branch and bound over the even cuts of one configuration. ---

namespace {

struct BalancedNode {
  BalancedSubset part;
  double bound = 0;
  size_t proof = 0; ///< in EvenProofs
  std::vector<double> larger;
};

bool later(const BalancedNode &a, const BalancedNode &b) { return a.bound > b.bound; }

/// Halves of a part at what is most between two whole numbers: layers of a group, or else of a
/// stage. Empty: there is only one cut. `how`: as a certificate says it.
std::vector<BalancedSubset> split(const BalancedNode &node, PathBound::Part &how) {
  size_t p = node.part.groups.size(), group = p, stage = node.larger.size();
  double max = 1e-6, n = 0;
  for (size_t g = 0; g < p; ++g) {
    double sum = 0;
    for (size_t s = g; s < node.larger.size(); s += p)
      sum += node.larger[s];
    if (double apart = std::abs(sum - std::round(sum)); apart > max)
      max = apart, group = g, n = sum;
  }
  if (group < p) {
    std::vector<BalancedSubset> halves(2, node.part);
    halves[0].groups[group].second = static_cast<int64_t>(std::floor(n));
    halves[1].groups[group].first = static_cast<int64_t>(std::floor(n)) + 1;
    how.fork = PathBound::Part::Split::Group, how.of = static_cast<uint32_t>(group);
    how.max = halves[0].groups[group].second;
    return halves;
  }
  for (size_t s = 0; s < node.larger.size(); ++s)
    if (double apart = std::min(node.larger[s], 1 - node.larger[s]); node.part.stages[s] < 0 && apart > max)
      max = apart, stage = s;
  // All whole: the part may have other cuts all the same.
  for (size_t s = 0; s < node.larger.size() && stage == node.larger.size(); ++s)
    if (node.part.stages[s] < 0)
      stage = s;
  if (stage == node.larger.size())
    return {};
  std::vector<BalancedSubset> halves(2, node.part);
  halves[0].stages[stage] = 0, halves[1].stages[stage] = 1;
  how.fork = PathBound::Part::Split::Stage, how.of = static_cast<uint32_t>(stage);
  return halves;
}

} // namespace

double ConfigurationSearch::minimaxBound(size_t parts) {
  auto equal = balanced_ ? middle() : std::nullopt;
  auto plans = equal ? balancedPlans(*equal) : std::nullopt;
  if (!plans)
    return 0;
  Id parallelConfig = configuration_.parallelConfigs[0];
  auto all = static_cast<int64_t>(problem_.layers.size());
  MinimaxPathBound game(*plans);
  Rates rates = minRatesOf({});
  std::set<std::vector<char>> seen;
  auto evaluated = [&](const MeanPlan &mean) {
    std::vector<size_t> order;
    for (size_t s = 0; s < mean.larger.size(); ++s)
      order.push_back(s);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return mean.larger[a] != mean.larger[b] ? mean.larger[a] > mean.larger[b] : a < b;
    });
    std::vector<char> larger(order.size());
    for (int64_t i = 0; i < plans->more; ++i)
      larger[order[i]] = 1;
    if (!seen.insert(larger).second)
      return;
    std::vector<Placed> stages;
    uint32_t at = 0;
    for (char more : larger) {
      uint32_t to = at + static_cast<uint32_t>(all / stages_) + (more ? 1 : 0);
      stages.push_back({at, to, parallelConfig});
      at = to;
    }
    leaf(stages, false);
  };
  int64_t before = 0;
  MinimaxProofTree proofs;
  auto bounded = [&](BalancedNode &node, size_t rounds) {
    double step = game.bound(node.part, longest(), rounds);
    searchState_.budget -= (game.work() - before) / 64;
    before = game.work();
    double proved = value(step, rates);
    proofs.prove(node.proof, game.proof(), proved);
    node.bound = std::max(node.bound, proved);
    if (std::isinf(step) || node.bound >= searchState_.cutoff())
      return;
    node.larger = game.mean().larger;
    evaluated(game.mean());
  };
  BalancedNode root;
  root.part.groups.assign(groups_, {0, std::min(plans->more, configuration_.virtualStages)});
  root.part.stages.assign(stages_, -1);
  if (problem_.uniformClass) {
    auto sizes = *onlyCut();
    for (auto &range : root.part.groups)
      range = {0, 0};
    for (size_t s = 0; s < sizes.size(); ++s) {
      root.part.stages[s] = sizes[s] > all / stages_;
      auto &[min, max] = root.part.groups[s % static_cast<size_t>(groups_)];
      min += root.part.stages[s], max += root.part.stages[s];
    }
  }
  double simple = balancedBound();
  if (simple >= searchState_.cutoff())
    return simple;
  root.bound = simple;
  int64_t room = 0;
  for (size_t g = 0; g < maxLarger_.size(); ++g) {
    if (maxLarger_[g] < 0)
      return searchState_.cutoff();
    int64_t &max = root.part.groups[g].second;
    max = std::min(max, maxLarger_[g]);
    if (max < root.part.groups[g].first)
      return searchState_.cutoff();
    room += max;
  }
  if (room < plans->more)
    return searchState_.cutoff();
  bounded(root, parts > 1 ? 40 : 16);
  std::vector<BalancedNode> heap{root};
  double closed = INFINITY;
  for (size_t looked = 1; !heap.empty() && looked < parts && !searchState_.isExhausted(); looked += 2) {
    std::pop_heap(heap.begin(), heap.end(), later);
    BalancedNode node = std::move(heap.back());
    heap.pop_back();
    if (node.bound >= std::min(closed, searchState_.cutoff())) {
      closed = std::min(closed, node.bound);
      break;
    }
    PathBound::Part how;
    auto halves = split(node, how);
    if (halves.empty()) {
      closed = std::min(closed, node.bound);
      continue;
    }
    size_t proof = proofs.split(node.proof, std::move(how));
    for (BalancedSubset &half : halves) {
      BalancedNode next{std::move(half), node.bound, proof++, {}};
      bounded(next, 12);
      if (std::isinf(next.bound))
        continue;
      heap.push_back(std::move(next));
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  for (const BalancedNode &node : heap)
    closed = std::min(closed, node.bound);
  if (std::isinf(closed))
    closed = std::max(searchState_.cutoff(), root.bound);
  ProvedPathBound &proved = searchState_.proved[{microbatches_, configuration_.virtualStages, groups_, parallelConfig}];
  if (closed > proved.bound)
    proved = {simple, closed, proofs.written(plans->shape, parallelConfig, held_)};
  return closed;
}

// --- Plans that are made without search: as even as memory lets them be. ---

/// As far along the line as a stage goes within the bottleneck.
uint32_t ConfigurationSearch::reach(int64_t stage, uint32_t from, Id parallelConfig, int64_t bottleneck,
                                    int64_t memory) {
  auto count = static_cast<uint32_t>(line_.size() - 1);
  auto max = static_cast<uint32_t>(count - (stages_ - 1 - stage));
  auto fits = [&](uint32_t to) {
    Sums sums = lattice_.between(parallelConfig, line_[from], line_[to]);
    if (sums.cannot || sums.time() > bottleneck)
      return false;
    auto recomputeTime =
        recomputeSolver_.minRecomputeTime(parallelConfig, line_[from], line_[to], inFlight_[stage], memory);
    return recomputeTime && sums.time() - sums.recomputeTime + *recomputeTime <= bottleneck;
  };
  uint32_t to = from, beyond = max + 1;
  auto step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
  while (to < max) {
    uint32_t next = std::min(max, to + step);
    if (!fits(next)) {
      beyond = next;
      break;
    }
    to = next;
  }
  while (to < max && beyond - to > 1) {
    uint32_t middle = to + (beyond - to) / 2;
    (fits(middle) ? to : beyond) = middle;
  }
  while (to > from && !mayHold(stage + 1, line_[to]))
    --to;
  return to;
}

std::optional<std::vector<ConfigurationSearch::Placed>> ConfigurationSearch::greedy(int64_t bottleneck) {
  std::vector<Placed> stages;
  std::vector<int64_t> used(problem_.deviceTypes.size());
  uint32_t at = 0;
  for (int64_t s = 0; s < stages_; ++s) {
    uint32_t best = at;
    Id chosen = 0;
    for (size_t f = 0; f < configuration_.parallelConfigs.size(); ++f) {
      Id parallelConfig = configuration_.parallelConfigs[f];
      const PlacementProblem::ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
      if (s >= groups_ && parallelConfig != stages[static_cast<size_t>(groupOf(s))].parallelConfig)
        continue;
      if (s < groups_ && used[one.deviceType] + one.devices() > problem_.deviceTypes[one.deviceType].devices)
        continue;
      if (configuration_.each && s < groups_) { // leave groups for forms not used yet
        int64_t missing = 0;
        for (Id other : configuration_.parallelConfigs)
          missing += other != parallelConfig && std::none_of(stages.begin(), stages.end(), [&](auto &placed) {
                       return placed.parallelConfig == other;
                     });
        if (missing > groups_ - 1 - s)
          continue;
      }
      uint32_t to = reach(s, at, parallelConfig, bottleneck, problem_.deviceTypes[one.deviceType].memory);
      if (to > best)
        best = to, chosen = parallelConfig;
    }
    if (best == at)
      return std::nullopt;
    if (s < groups_)
      used[problem_.parallelConfigs[chosen].deviceType] += problem_.parallelConfigs[chosen].devices();
    stages.push_back({line_[at], line_[best], chosen});
    at = best;
  }
  return at + 1 == line_.size() ? std::optional(stages) : std::nullopt;
}

void ConfigurationSearch::seed(bool moves) {
  if (stages_ >= static_cast<int64_t>(line_.size()))
    return;
  if (configuration_.virtualStages > 1)
    return seedBalanced(moves);
  int64_t total = 1;
  for (Id parallelConfig : configuration_.parallelConfigs)
    total += lattice_.all(parallelConfig).time() + lattice_.all(parallelConfig).maxRecomputeTime;
  int64_t low = 0, high = total;
  auto found = greedy(high);
  while (found && high - low > std::max<int64_t>(1, high / 1000)) {
    int64_t middle = low + (high - low) / 2;
    searchState_.budget -= 2 * stages_;
    if (auto stages = greedy(middle))
      found = std::move(stages), high = middle;
    else
      low = middle;
  }
  if (found)
    leaf(*found, false);
}

} // namespace accord::placing
