// One configuration (schedule, micro-batches, groups, parallel configurations): bounds of what is behind a stage, the
// dynamic program, the depth-first search, and the evaluation of its plans.
#include "lib/placement/solve/ConfigurationSearch.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace accord::placing {

ConfigurationSearch::ConfigurationSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeChoices,
                                         const Configuration &configuration, SearchState &searchState)
    : lattice_(lattice), recomputeSolver_(recomputeChoices), problem_(lattice.problem), configuration_(configuration),
      searchState_(searchState), model_(modelOf(configuration.schedule)), splitsWeights_(model_.splitsWeights()),
      groups_(configuration.min), stages_(configuration.min * configuration.virtualStages),
      microbatches_(configuration.microbatches),
      held_(recomputeChoices.held({configuration.schedule, groups_, configuration.virtualStages, microbatches_})),
      inFlight_(inFlightOf({configuration.schedule, groups_, configuration.virtualStages, microbatches_}, held_)) {
  for (Id parallelConfig : configuration.parallelConfigs)
    rates_.push_back(ratesOf(problem_, parallelConfig));
  minRates_ = rates_[0];
  joules_ = INFINITY;
  for (size_t f = 0; f < rates_.size(); ++f)
    minRates_ = minRates(minRates_, rates_[f]);
  if (configuration.parallelConfigs.size() == 1) {
    joules_ = lattice.all(configuration.parallelConfigs[0]).joules;
  } else {
    joules_ = 0;
    for (const PlacementProblem::Layer &layer : problem_.layers) {
      double best = INFINITY;
      for (Id parallelConfig : configuration.parallelConfigs)
        if (const auto &cost = problem_.classes[layer.of].costs[parallelConfig])
          best = std::min(best, cost->joules);
      joules_ += std::isinf(best) ? 0 : best;
    }
  }
  if (!lattice.chain) {
    std::vector<int64_t> forward, backward;
    for (Id layer = 0; layer < problem_.layers.size(); ++layer) {
      int64_t f = INT64_MAX, b = INT64_MAX;
      for (Id parallelConfig : configuration.parallelConfigs)
        if (const auto &cost = problem_.cost(layer, parallelConfig))
          f = std::min(f, cost->forward), b = std::min(b, cost->backward);
      forward.push_back(f == INT64_MAX ? 0 : f), backward.push_back(b == INT64_MAX ? 0 : b);
    }
    chainForward_ = lattice.chains(forward), chainBackward_ = lattice.chains(backward);
  }
  line_.push_back(0);
  while (line_.back() != lattice.last())
    line_.push_back(lattice.above(line_.back()).empty() ? line_.back() + 1 : lattice.above(line_.back()).front());
  balanced_ =
      configuration.schedule == PipelineSchedule::Interleaved && middle() && (!problem_.uniformClass || onlyCut());
}

int64_t ConfigurationSearch::minTransfer(Id parallelConfig, int64_t bytes, int64_t stage) const {
  // Between stages `stage` and the next one; both ends have at least these devices.
  if (bytes <= 0 || groupOf(stage) == groupOf(stage + 1))
    return 0;
  const PlacementProblem::ParallelConfig &mine = problem_.parallelConfigs[parallelConfig];
  double max = static_cast<double>(bytes) * (mine.data * mine.microbatch) / mine.devices();
  int64_t devicesPerNode = problem_.deviceTypes[mine.deviceType].devicesPerNode;
  int64_t shortest = INT64_MAX;
  for (Id other : configuration_.parallelConfigs) {
    const PlacementProblem::ParallelConfig &its = problem_.parallelConfigs[other];
    bool intraNode = false;
    if (configuration_.parallelConfigs.size() == 1) {
      int64_t a = groupOf(stage), b = groupOf(stage + 1);
      if (mine.order == PlacementProblem::RankOrder::TensorPipelineData)
        intraNode = replicasShareNode(problem_, parallelConfig, a, b, groups_);
      else
        intraNode = std::min(a, b) * mine.devices() / devicesPerNode ==
                    ((std::max(a, b) + 1) * mine.devices() - 1) / devicesPerNode;
    } else {
      intraNode = its.deviceType == mine.deviceType && mine.devices() + its.devices() <= devicesPerNode;
    }
    for (size_t link : {mine.deviceType * problem_.deviceTypes.size() + its.deviceType,
                        its.deviceType * problem_.deviceTypes.size() + mine.deviceType}) {
      const PlacementProblem::Link &way = problem_.links[link];
      bool either = configuration_.parallelConfigs.size() > 1 && intraNode;
      if (intraNode)
        shortest = std::min(shortest, minTime({way.intraNode}, max));
      if (!intraNode || either)
        shortest = std::min(shortest, minTime({way.interNode}, max));
    }
  }
  return shortest;
}

/// What the ties of a stage with another group take, on the best link there is.
int64_t ConfigurationSearch::minTies(Id parallelConfig, uint32_t from, uint32_t to) const {
  int64_t sum = 0;
  for (const PlacementProblem::Tie &tie : problem_.ties) {
    bool a = lattice_.holds(from, to, tie.a), b = lattice_.holds(from, to, tie.b);
    bool ends = tie.a == 0 && tie.b + 1 == problem_.layers.size();
    if (a == b || (configuration_.virtualStages > 1 && !ends)) // maybe in another chunk of the group
      continue;
    auto bytes = static_cast<double>(problem_.cost(a ? tie.a : tie.b, parallelConfig)->tied);
    const PlacementProblem::ParallelConfig &mine = problem_.parallelConfigs[parallelConfig];
    bool row = configuration_.parallelConfigs.size() == 1 && lattice_.chain && ends &&
               mine.order == PlacementProblem::RankOrder::TensorDataPipeline;
    // First and last group: devices of all of them are in between.
    bool apart = row && groups_ * mine.devices() > problem_.deviceTypes[mine.deviceType].devicesPerNode;
    int64_t shortest = INT64_MAX;
    for (Id other : configuration_.parallelConfigs)
      for (size_t link : {mine.deviceType * problem_.deviceTypes.size() + problem_.parallelConfigs[other].deviceType,
                          problem_.parallelConfigs[other].deviceType * problem_.deviceTypes.size() + mine.deviceType}) {
        const PlacementProblem::Link &way = problem_.links[link];
        shortest = std::min(shortest, minTime({way.interNode}, bytes));
        if (!apart)
          shortest = std::min(shortest, minTime({way.intraNode}, bytes));
      }
    sum += shortest;
  }
  return sum;
}

std::optional<StageBound> ConfigurationSearch::stageAt(Id parallelConfig, uint32_t from, uint32_t to, int64_t stage,
                                                       int64_t memory) {
  auto recomputeTime = recomputeSolver_.minRecomputeTime(parallelConfig, from, to, inFlight_[stage], memory);
  if (!recomputeTime)
    return std::nullopt;
  Sums sums = lattice_.between(parallelConfig, from, to);
  const PlacementProblem::ParallelConfig &f = problem_.parallelConfigs[parallelConfig];
  int64_t gather = f.gather.empty() ? 0 : minTime(f.gather, sums.weights);
  StageBound bound;
  bound.forward = sums.forward + problem_.hostOverheadPerMicrobatch + gather;
  bound.backward = sums.backward + *recomputeTime + gather;
  bound.weight = sums.weight;
  int64_t in = stage > 0 ? minTransfer(parallelConfig, lattice_.crossing(from), stage - 1) : 0;
  int64_t out = stage + 1 < stages_ ? minTransfer(parallelConfig, lattice_.crossing(to), stage) : 0;
  if (problem_.blockingTransfers)
    bound.forward += in, bound.backward += out;
  else
    bound.send = out;
  if (configuration_.virtualStages == 1) {
    // More recomputation hides more of the exchange, but not more than it takes.
    StageWork work;
    work.backward = sums.backward + (problem_.overlapFraction <= 1 ? *recomputeTime : sums.maxRecomputeTime);
    work.weight = sums.weight, work.update = sums.update, work.gradients = sums.gradients;
    work.expertGradients = sums.expertGradients;
    bound.stepTail =
        exposedStepTail(problem_, parallelConfig, work, countReplicasPerNode(problem_, parallelConfig, groups_));
    bound.stepTail += minTies(parallelConfig, from, to);
  }
  return bound;
}

/// `at`: the stage, or -1 for one alone, of which nothing is known but its own work.
SuffixBound ConfigurationSearch::extend(const SuffixBound &behind, const StageBound &stage, int64_t at) const {
  int64_t m = microbatches_, delay = at < 0 || at + 1 == stages_ ? 0 : stage.send;
  bool split = splitsWeights_;
  int64_t each = stage.forward + stage.backward + (split ? 0 : stage.weight);
  SuffixBound suffix;
  suffix.through = each + 2 * delay + behind.through;
  suffix.leave = std::max(m * each, each + 2 * delay + behind.leave);
  if (split) // weight gradients that cannot wait any longer
    suffix.leave = std::max(suffix.leave, m * each + (m - std::min(m, groups_)) * stage.weight);
  if (at >= 0 && configuration_.schedule == PipelineSchedule::GPipe)
    suffix.leave = std::max(suffix.leave, suffix.through + (m - 1) * each);
  else if (int64_t k = groups_ - at; at >= 0 && m > k)
    suffix.leave = std::max(suffix.leave, suffix.through + behind.through + (m - k) * each);
  suffix.end = suffix.leave + (split ? stage.weight : 0);
  suffix.end = std::max(suffix.end, m * stage.work()) + stage.stepTail;
  suffix.end = std::max(suffix.end, stage.forward + delay + behind.end);
  return suffix;
}

Rates ConfigurationSearch::minRatesOf(const std::vector<Placed> &stages) const {
  Rates sum;
  std::vector<char> seen(configuration_.parallelConfigs.size());
  int64_t left = groups_;
  for (size_t s = 0; s < stages.size() && s < static_cast<size_t>(groups_); ++s, --left)
    for (size_t f = 0; f < configuration_.parallelConfigs.size(); ++f)
      if (configuration_.parallelConfigs[f] == stages[s].parallelConfig)
        sum += rates_[f], seen[f] = 1;
  if (configuration_.each)
    for (size_t f = 0; f < seen.size() && left > 0; ++f)
      if (!seen[f])
        sum += rates_[f], --left;
  auto n = static_cast<double>(left);
  sum += {n * minRates_.watts, n * minRates_.price, n * minRates_.tdp, left * minRates_.devices};
  return sum;
}

int64_t ConfigurationSearch::longest() const {
  double step = stepFor(problem_, searchState_.cutoff(), minRatesOf({}), joules_) - problem_.hostOverheadPerStep;
  return step >= 4e18 ? INT64_MAX / 2 : static_cast<int64_t>(std::max(step, 0.0)) + 1;
}

// --- The dynamic program from the last stage to the first. ---

void ConfigurationSearch::listStates() {
  collapsed_ = false;
  states_.assign(static_cast<size_t>(groups_) + 1, {});
  follow_.assign(static_cast<size_t>(groups_) + 1, {});
  states_[0] = {std::vector<int64_t>(problem_.deviceTypes.size())};
  size_t parallelConfigs = configuration_.parallelConfigs.size(), total = 0;
  for (size_t k = 1; k <= static_cast<size_t>(groups_); ++k) {
    std::map<std::vector<int64_t>, int64_t> at;
    follow_[k].assign(states_[k - 1].size() * parallelConfigs, -1);
    for (size_t u = 0; u < states_[k - 1].size(); ++u)
      for (size_t f = 0; f < parallelConfigs; ++f) {
        auto used = states_[k - 1][u];
        const PlacementProblem::ParallelConfig &parallelConfig =
            problem_.parallelConfigs[configuration_.parallelConfigs[f]];
        used[parallelConfig.deviceType] += parallelConfig.devices();
        if (used[parallelConfig.deviceType] > problem_.deviceTypes[parallelConfig.deviceType].devices)
          continue;
        auto [found, added] = at.emplace(used, static_cast<int64_t>(states_[k].size()));
        if (added)
          states_[k].push_back(used);
        follow_[k][u * parallelConfigs + f] = found->second;
      }
    total += states_[k].size();
    if (states_[k].size() > 256 || total > 4096) {
      // Too many: devices are not counted, which only makes the bound lower.
      collapsed_ = true;
      states_.assign(static_cast<size_t>(groups_) + 1, {std::vector<int64_t>(problem_.deviceTypes.size())});
      follow_.assign(static_cast<size_t>(groups_) + 1, std::vector<int64_t>(parallelConfigs, 0));
      return;
    }
  }
}

int64_t ConfigurationSearch::limitAt(int64_t stage, uint32_t from) const {
  int64_t m = microbatches_;
  if (!lattice_.chain || configuration_.parallelConfigs.size() != 1)
    return longest_ / m;
  Sums before = lattice_.between(configuration_.parallelConfigs[0], 0, from);
  if (splitsWeights_)
    return (longest_ - before.forward) / m;
  // What `Span` says of this stage, with the least work of all others.
  int64_t rest = lattice_.all(configuration_.parallelConfigs[0]).time() - before.time();
  int64_t limit = (longest_ - before.time()) / m, k = stages_ - stage;
  if (configuration_.schedule == PipelineSchedule::GPipe && m > 1)
    limit = std::min(limit, (longest_ - before.time() - rest) / (m - 1));
  else if (m > k + 1)
    limit = std::min(limit, (longest_ - before.time() - 2 * rest) / (m - k - 1));
  return limit + (m > k + 1 ? problem_.hostOverheadPerMicrobatch : 0);
}

/// Where stages can begin and end if none may take longer than `limit` per micro-batch: taking as
/// many layers as one can from either end is best, as what fits in a stage also fits without some
/// of its layers. Transfers, which may shrink with more layers, are not looked at here.
void ConfigurationSearch::windows() {
  auto count = static_cast<uint32_t>(lattice_.last());
  low_.assign(static_cast<size_t>(stages_) + 1, 0);
  high_.assign(static_cast<size_t>(stages_) + 1, count);
  if (!lattice_.above(0).empty())
    return;
  auto fits = [&](int64_t s, uint32_t from, uint32_t to) {
    for (Id parallelConfig : configuration_.parallelConfigs) {
      Sums sums = lattice_.between(parallelConfig, from, to);
      int64_t limit = limitAt(s, from);
      if (sums.cannot || sums.time() + problem_.hostOverheadPerMicrobatch > limit)
        continue;
      auto recomputeTime = recomputeSolver_.minRecomputeTime(
          parallelConfig, from, to, inFlight_[s],
          problem_.deviceTypes[problem_.parallelConfigs[parallelConfig].deviceType].memory);
      if (recomputeTime &&
          sums.time() - sums.recomputeTime + *recomputeTime + problem_.hostOverheadPerMicrobatch <= limit)
        return true;
    }
    return false;
  };
  high_[0] = 0, low_[stages_] = count;
  for (int64_t s = 0; s < stages_; ++s) {
    auto from = high_[s];
    uint32_t to = from, beyond = count + 1; // `to` fits, `beyond` does not
    uint32_t step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
    for (uint32_t next = from + step; to < count; next = to + step) { // gallop, then bisect
      next = std::min(next, count);
      if (!fits(s, from, next)) {
        beyond = next;
        break;
      }
      to = next;
    }
    while (beyond - to > 1 && to < count) {
      uint32_t middle = to + (beyond - to) / 2;
      (fits(s, from, middle) ? to : beyond) = middle;
    }
    high_[static_cast<size_t>(s) + 1] = std::min(to, static_cast<uint32_t>(count - (stages_ - 1 - s)));
  }
  for (int64_t s = stages_; s-- > 0;) {
    auto to = low_[static_cast<size_t>(s) + 1];
    uint32_t from = to, beyond = 0;
    bool found = false;
    uint32_t step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
    while (from > 0) {
      uint32_t next = from > step ? from - step : 0;
      if (!fits(s, next, to)) {
        beyond = next, found = true;
        break;
      }
      from = next;
    }
    while (found && from - beyond > 1) {
      uint32_t middle = beyond + (from - beyond) / 2;
      (fits(s, middle, to) ? from : beyond) = middle;
    }
    low_[s] = std::max(from, static_cast<uint32_t>(s));
  }
}

ConfigurationSearch::Cell *ConfigurationSearch::cellAt(int64_t stage, uint32_t node, uint32_t state) {
  auto s = static_cast<size_t>(stage);
  if (node < low_[s] || node > high_[s])
    return nullptr;
  size_t states = states_[stages_ - stage].size();
  return &cells_[s][(node - low_[s]) * states + state];
}

double ConfigurationSearch::table() {
  if (configuration_.virtualStages > 1 || !lattice_.complete)
    return 0;
  longest_ = longest();
  windows();
  for (int64_t s = 0; s <= stages_; ++s)
    if (low_[s] > high_[s])
      return searchState_.cutoff(); // no cut of better value fits
  if (low_[0] > 0)
    return searchState_.cutoff();
  listStates();
  double cells = 0;
  for (int64_t s = 0; s <= stages_; ++s)
    cells += static_cast<double>(high_[s] - low_[s] + 1) * states_[stages_ - s].size();
  if (cells > 2e7)
    return 0;
  constexpr int64_t Never = INT64_MAX;
  cells_.assign(static_cast<size_t>(stages_) + 1, {});
  for (int64_t s = 0; s <= stages_; ++s)
    cells_[s].assign(static_cast<size_t>(high_[s] - low_[s] + 1) * states_[stages_ - s].size(),
                     {Never, Never, Never, 0, 0, 0});
  *cellAt(stages_, lattice_.last(), 0) = {0, 0, 0, 0, 0, 0};
  size_t parallelConfigs = configuration_.parallelConfigs.size();
  for (int64_t s = stages_; s-- > 0;) {
    auto k = static_cast<size_t>(stages_ - s);
    for (uint32_t from = low_[s]; from <= high_[s]; ++from) {
      if (!mayHold(s, from))
        continue;
      int64_t limit = limitAt(s, from);
      stagesFrom(from, high_[static_cast<size_t>(s) + 1], [&](uint32_t to) {
        bool any = false;
        for (size_t f = 0; f < parallelConfigs; ++f) {
          Id parallelConfig = configuration_.parallelConfigs[f];
          searchState_.budget -= 2;
          if (lattice_.between(parallelConfig, from, to).cannot)
            continue;
          auto stage = stageAt(parallelConfig, from, to, s,
                               problem_.deviceTypes[problem_.parallelConfigs[parallelConfig].deviceType].memory);
          if (!stage)
            continue;
          // Transfers apart, larger stages take longer.
          any |= stage->work() <= limit || lattice_.path;
          if (stage->work() > limit)
            continue;
          if (to < low_[static_cast<size_t>(s) + 1])
            continue;
          int64_t head = 0, tail = 0;
          if (!lattice_.chain) {
            head = lattice_.before(chainForward_, from, to);
            tail = lattice_.before(chainBackward_, from, to);
          }
          for (uint32_t u = 0; u < states_[k - 1].size(); ++u) {
            Cell *behind = cellAt(s + 1, to, u);
            int64_t state = follow_[k][u * parallelConfigs + f];
            if (!behind || behind->end == Never || state < 0)
              continue;
            SuffixBound suffix;
            if (lattice_.chain) {
              suffix = extend({behind->leave, behind->end, behind->through}, *stage, s);
            } else {
              // Alone: after the longest chain of layers before it, and before theirs backward.
              SuffixBound mine = extend({}, *stage, -1);
              suffix.end = std::max({behind->end, head + mine.end, head + mine.leave + tail});
              suffix.leave = suffix.end;
            }
            Cell *cell = cellAt(s, from, static_cast<uint32_t>(state));
            if (suffix.end < cell->end)
              cell->next = to, cell->parallelConfig = parallelConfig, cell->state = u;
            cell->end = std::min(cell->end, suffix.end);
            cell->leave = std::min(cell->leave, suffix.leave);
            cell->through = std::min(cell->through, suffix.through);
          }
        }
        return any;
      });
    }
    if (searchState_.isExhausted())
      return 0;
  }
  tabled_ = true;
  double best = INFINITY;
  const auto &states = states_[groups_];
  for (uint32_t u = 0; u < states.size(); ++u) {
    Cell *cell = cellAt(0, 0, u);
    if (cell->end == Never)
      continue;
    Rates rates = minRatesOf({});
    if (!collapsed_ && configuration_.each) { // devices tell the groups of each form
      rates = {};
      bool all = true;
      for (size_t f = 0; f < parallelConfigs; ++f) {
        const PlacementProblem::ParallelConfig &parallelConfig =
            problem_.parallelConfigs[configuration_.parallelConfigs[f]];
        int64_t n = states[u][parallelConfig.deviceType] / parallelConfig.devices();
        all &= n > 0;
        for (int64_t i = 0; i < n; ++i)
          rates += rates_[f];
      }
      if (!all)
        continue;
    } else if (!collapsed_) {
      rates = {};
      for (size_t deviceType = 0; deviceType < problem_.deviceTypes.size(); ++deviceType) {
        auto n = static_cast<double>(states[u][deviceType]);
        rates +=
            {n * problem_.deviceTypes[deviceType].idleWatts, n * problem_.deviceTypes[deviceType].pricePerHour / 3600,
             n * problem_.deviceTypes[deviceType].tdpWatts, states[u][deviceType]};
      }
    }
    double bound = value(cell->end, rates);
    if (bound >= best)
      continue;
    best = bound;
    std::vector<Placed> stages;
    uint32_t node = 0, state = u;
    for (int64_t s = 0; s < stages_; ++s) {
      Cell *at = cellAt(s, node, state);
      stages.push_back({node, at->next, at->parallelConfig});
      node = at->next, state = at->state;
    }
    if (bound < searchState_.value)
      leaf(stages, false);
  }
  return std::isinf(best) ? std::max(searchState_.cutoff(), 0.0) : best;
}

// --- Depth-first search from the first stage on, what promises most first. ---

/// Stages chosen so far, and what follows from them.
struct ConfigurationSearch::Prefix {
  std::vector<Placed> stages;
  std::vector<int64_t> used;  ///< devices by kind
  std::vector<int64_t> loads; ///< of groups, per micro-batch
  int64_t head = 0;           ///< until the next stage may begin; 0 unless a chain
  int64_t drain = 0;          ///< from when gradients come back until these stages have finished
  int64_t step = 0;           ///< bound by groups of the prefix alone
};

void ConfigurationSearch::dive(Prefix &prefix, uint32_t node) {
  auto s = static_cast<int64_t>(prefix.stages.size());
  if (s == stages_) {
    leaf(prefix.stages, true);
    return;
  }
  struct Move {
    double bound;
    uint32_t to;
    Id parallelConfig;
    StageBound stage;
  };
  std::vector<Move> moves;
  int64_t limit = longest();
  auto left = static_cast<uint32_t>(stages_ - 1 - s);
  for (Id parallelConfig : configuration_.parallelConfigs) {
    const PlacementProblem::ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
    if (s >= groups_ ? parallelConfig != prefix.stages[static_cast<size_t>(groupOf(s))].parallelConfig
                     : prefix.used[one.deviceType] + one.devices() > problem_.deviceTypes[one.deviceType].devices)
      continue;
    int64_t memory = problem_.deviceTypes[one.deviceType].memory;
    auto group = static_cast<size_t>(groupOf(s));
    auto consider = [&](uint32_t to) {
      --searchState_.budget, --work_;
      if (lattice_.between(parallelConfig, node, to).cannot)
        return false;
      if (tabled_ && lattice_.linear) { // outside of these nothing of use is left
        if (to > high_[static_cast<size_t>(s) + 1])
          return false;
        if (to < low_[static_cast<size_t>(s) + 1])
          return true;
      }
      if (!canBeBalanced(node, to, left))
        return lattice_.count(node, to) <= lattice_.count(0, lattice_.last()) / stages_;
      auto stage = stageAt(parallelConfig, node, to, s, memory);
      if (!stage)
        return false;
      if (!mayHold(s + 1, to))
        return true;
      int64_t load = prefix.loads[group] + stage->work();
      Sums sums = lattice_.between(parallelConfig, node, to);
      if (sums.time() + problem_.hostOverheadPerMicrobatch > limit / microbatches_)
        return false;
      if (lattice_.count(to, lattice_.last()) < left || (left == 0 && to != lattice_.last()))
        return lattice_.count(to, lattice_.last()) > left || left == 0;
      int64_t step = std::max(prefix.step, microbatches_ * load);
      Rates rates = {};
      prefix.stages.push_back({node, to, parallelConfig});
      rates = minRatesOf(prefix.stages);
      prefix.stages.pop_back();
      if (configuration_.virtualStages == 1 && lattice_.chain) {
        SuffixBound mine = extend({}, *stage, -1);
        step = std::max({step, prefix.head + mine.end, prefix.head + mine.leave + prefix.drain});
        if (tabled_) {
          int64_t behind = INT64_MAX;
          const auto &states = states_[left];
          for (uint32_t u = 0; u < states.size(); ++u) {
            bool room = true;
            for (size_t deviceType = 0; deviceType < states[u].size(); ++deviceType)
              room &= prefix.used[deviceType] + states[u][deviceType] +
                          (deviceType == one.deviceType ? one.devices() : 0) <=
                      problem_.deviceTypes[deviceType].devices;
            Cell *cell = cellAt(s + 1, to, u);
            if (!room || !cell || cell->end == INT64_MAX)
              continue;
            SuffixBound suffix = extend({cell->leave, cell->end, cell->through}, *stage, s);
            behind = std::min(behind, std::max(prefix.head + suffix.end, prefix.head + suffix.leave + prefix.drain));
          }
          if (behind == INT64_MAX)
            return true;
          step = std::max(step, behind);
        }
      } else if (configuration_.virtualStages == 1 && !lattice_.chain) {
        SuffixBound mine = extend({}, *stage, -1);
        step = std::max(
            {step, lattice_.before(chainForward_, node, to) + mine.end,
             lattice_.before(chainForward_, node, to) + mine.leave + lattice_.before(chainBackward_, node, to)});
        if (tabled_) {
          int64_t behind = INT64_MAX;
          for (uint32_t u = 0; u < states_[left].size(); ++u)
            if (Cell *cell = cellAt(s + 1, to, u))
              behind = std::min(behind, cell->end);
          if (behind == INT64_MAX)
            return true;
          step = std::max(step, behind);
        }
      }
      // All work that is left shared by the groups.
      double rest = stage->work();
      for (int64_t other : prefix.loads)
        rest += other;
      int64_t min = INT64_MAX;
      if (configuration_.parallelConfigs.size() == 1)
        min = lattice_.between(parallelConfig, to, lattice_.last()).time();
      if (min < INT64_MAX)
        rest += static_cast<double>(min) + (left * problem_.hostOverheadPerMicrobatch);
      step = std::max(step, static_cast<int64_t>(rest / groups_ * microbatches_ * (1 - 1e-12)));
      double bound = value(step, rates);
      if (searchState_.canPrune(bound))
        ++searchState_.pruned;
      else
        moves.push_back({bound, to, parallelConfig, *stage});
      return true;
    };
    stagesFrom(node, lattice_.last(), consider);
  }
  std::sort(moves.begin(), moves.end(), [](const Move &a, const Move &b) {
    return std::tie(a.bound, a.to, a.parallelConfig) < std::tie(b.bound, b.to, b.parallelConfig);
  });
  for (const Move &move : moves) {
    if (searchState_.canPrune(move.bound)) {
      ++searchState_.pruned;
      continue;
    }
    if (work_ <= 0 || searchState_.isExhausted()) {
      complete_ = false;
      return;
    }
    Prefix next = prefix;
    next.stages.push_back({node, move.to, move.parallelConfig});
    auto group = static_cast<size_t>(groupOf(s));
    next.loads[group] += move.stage.work();
    next.step = std::max(next.step, microbatches_ * next.loads[group]);
    if (s < groups_) {
      const PlacementProblem::ParallelConfig &parallelConfig = problem_.parallelConfigs[move.parallelConfig];
      next.used[parallelConfig.deviceType] += parallelConfig.devices();
    }
    bool split = splitsWeights_;
    if (lattice_.chain && s < groups_) {
      // Passes of the first chunks alone come before any of a later group, and after its last.
      SuffixBound mine = extend({}, move.stage, -1);
      if (configuration_.virtualStages == 1)
        next.step = std::max({next.step, prefix.head + mine.end, prefix.head + mine.leave + prefix.drain});
      next.head = prefix.head + move.stage.forward + move.stage.send;
      next.drain = move.stage.send + move.stage.backward +
                   (split ? std::max(move.stage.weight + move.stage.stepTail, prefix.drain)
                          : move.stage.weight + std::max(move.stage.stepTail, prefix.drain));
    }
    dive(next, move.to);
  }
}

bool ConfigurationSearch::search(int64_t work, double bound) {
  work_ = work;
  complete_ = true;
  Prefix prefix;
  prefix.used.resize(problem_.deviceTypes.size());
  prefix.loads.resize(groups_);
  if (stages_ < static_cast<int64_t>(line_.size()))
    dive(prefix, 0);
  if (searchState_.gap > 0) // what could not reach the goal was not looked at
    searchState_.recordPruned(searchState_.cutoff());
  bool proved = complete_ && lattice_.complete;
  if (!proved)
    searchState_.recordPruned(bound);
  return proved;
}

// --- Plans whose stages are chosen: what each group keeps, a last bound, and the judge. ---

/// Lower bound of the simulated step from the exact times of the stages: each is a path through
/// what any run of the schedule must do one after the other.
int64_t ConfigurationSearch::minStepOf(const PlanMetrics &metrics, const StageEdges &edges) const {
  auto p = static_cast<size_t>(groups_), v = static_cast<size_t>(configuration_.virtualStages);
  int64_t m = microbatches_;
  bool split = splitsWeights_, interleaves = configuration_.schedule == PipelineSchedule::Interleaved;
  const auto &times = metrics.times;
  // Longest paths of first forward passes to, and of last backward passes from, each stage.
  std::vector<int64_t> head(times.size()), tail(times.size());
  for (size_t s = 0; s < times.size(); ++s)
    for (uint32_t from : edges[s]) {
      head[s] = std::max(head[s], head[from] + times[from].forward + times[from].send);
      int64_t back = times[from].backward + (split ? 0 : times[from].weight);
      tail[s] = std::max(tail[s], tail[from] + back + times[from].send);
    }
  // From a stage's last backward pass until its own and all earlier groups have finished.
  std::vector<int64_t> after(times.size());
  for (size_t s = 0; s < p; ++s) {
    after[s] = times[s].stepTail;
    for (uint32_t from : edges[s])
      after[s] = std::max(after[s], times[from].send + times[from].backward + times[from].weight +
                                        (split ? times[from].stepTail : after[from]));
    if (split)
      for (uint32_t from : edges[s])
        after[s] = std::max(after[s], times[from].send + times[from].backward + after[from]);
  }
  int64_t step = 0;
  for (size_t g = 0; g < p; ++g) {
    int64_t work = 0, mine = 0, weights = 0;
    for (size_t c = 0; c < v; ++c) {
      const StageTimes &time = times[stageOf(g, c)];
      work += time.forward + time.backward + time.weight, weights += time.weight;
    }
    if (split) {
      int64_t held = std::min(m, groups_);
      step = std::max({step, head[g] + m * work + times[g].stepTail, head[g] + m * work - held * weights + after[g],
                       head[g] + m * work - held * weights + weights + times[g].stepTail});
    } else {
      step = std::max(step, head[g] + m * work + after[g]);
    }
    // Interleaved, micro-batch 0 reaches chunk c of a group when the first group has run m' = p
    // micro-batches through all chunks before, which this group, too, has done by then.
    if (interleaves && lattice_.chain && m >= groups_) {
      int64_t first = 0;
      for (size_t c = 0; c < v; ++c) {
        int64_t reach = first - mine;
        for (size_t other = 0; other < g; ++other)
          reach += times[c * p + other].forward + times[c * p + other].send;
        step = std::max(step, reach + m * work + after[g]);
        first += groups_ * times[c * p].forward;
        mine += groups_ * times[c * p + g].forward;
      }
    }
  }
  if (configuration_.schedule != PipelineSchedule::GPipe && (v == 1 || interleaves) && lattice_.chain) {
    // `Span`, with the exact times, and its like for chunks: before a group's first backward pass
    // micro-batch 0 goes forward through all stages and back to the group; after its last forward
    // pass the last micro-batch goes on to the last stage and back through all. Between are all
    // passes but the first and the last `warm`, chunk after chunk, p at a time.
    int64_t through = times[0].stepTail;
    for (size_t s = 0; s < times.size(); ++s)
      through += times[s].forward + times[s].backward + (split ? 0 : times[s].weight) +
                 (s + 1 < times.size() ? 2 * times[s].send : 0);
    for (size_t g = 0; g < p; ++g) {
      auto behind = static_cast<int64_t>(p - g - 1), all = m * static_cast<int64_t>(v);
      int64_t warm = v > 1 ? 2 * behind + static_cast<int64_t>((v - 1) * p) + 1 : behind + 1;
      if (warm >= all)
        continue;
      int64_t between = through;
      for (size_t c = 0; c < v; ++c) {
        const StageTimes &time = times[c * p + g];
        auto round = static_cast<int64_t>(p * v), first = static_cast<int64_t>(c * p);
        int64_t left = v == 1 ? warm : warm / round * groups_ + std::clamp<int64_t>(warm % round - first, 0, groups_);
        between += (m - left) * (time.forward + time.backward + (split ? 0 : time.weight));
      }
      for (size_t s = (v - 1) * p + g + 1; s < times.size(); ++s)
        between += times[s].forward + times[s].backward + (split ? 0 : times[s].weight) + 2 * times[s - 1].send;
      step = std::max(step, between);
    }
  }
  if (configuration_.schedule == PipelineSchedule::GPipe && lattice_.chain) {
    // All forward passes leave the last stage before any backward pass: two flow shops in a row.
    int64_t forward = 0, backward = 0, maxForward = 0, maxBackward = 0;
    for (const StageTimes &time : times) {
      forward += time.forward + time.send;
      backward += time.backward + time.weight + time.send;
      maxForward = std::max(maxForward, time.forward);
      maxBackward = std::max(maxBackward, time.backward + time.weight);
    }
    forward -= times.back().send, backward -= times.back().send;
    step = std::max(step, forward + backward + (m - 1) * (maxForward + maxBackward));
  }
  return step;
}

double ConfigurationSearch::leaf(const std::vector<Placed> &stages, bool exhaustive) {
  auto p = static_cast<size_t>(groups_), v = static_cast<size_t>(configuration_.virtualStages);
  if (configuration_.each)
    for (Id parallelConfig : configuration_.parallelConfigs)
      if (std::none_of(stages.begin(), stages.end(), [&](auto &one) { return one.parallelConfig == parallelConfig; }))
        return INFINITY;
  for (size_t s = 0; s < stages.size(); ++s)
    if (!mayHold(static_cast<int64_t>(s) + 1, stages[s].to))
      return INFINITY;
  Placement plan;
  plan.schedule = configuration_.schedule;
  plan.virtualStages = configuration_.virtualStages;
  plan.microbatches = microbatches_;
  for (const Placed &stage : stages)
    plan.stages.push_back({lattice_.layersBetween(stage.from, stage.to), stage.parallelConfig, {}});
  // With a fixed order of passes, less recomputation never makes a step longer: its last pass is
  // that of the first chunk, and what it hides less of the exchange it takes less itself.
  bool monotone = model_.hasFixedOrder() && problem_.limits.watts <= 0 && problem_.overlapFraction <= 1 &&
                  (problem_.overlapFraction <= 0 || configuration_.virtualStages == 1);
  bool energy = formulaOf(problem_.objective).countsJoules || problem_.limits.joules > 0 || problem_.limits.watts > 0;
  std::vector<RecomputeSolver::Options> options;
  for (size_t g = 0; g < p; ++g) {
    std::vector<uint64_t> key{g, stages[g].parallelConfig};
    for (size_t c = 0; c < v; ++c)
      key.push_back(lattice_.classesOf(stages[stageOf(g, c)].from, stages[stageOf(g, c)].to));
    if (auto found = known_.find(key); !exhaustive && balanced_ && found != known_.end()) {
      options.push_back(found->second);
      --searchState_.budget;
      if (options.back().list.empty())
        return INFINITY;
      continue;
    }
    std::vector<Part> parts;
    for (size_t c = 0; c < v; ++c)
      parts.push_back({stages[stageOf(g, c)].from, stages[stageOf(g, c)].to});
    const PlacementProblem::ParallelConfig &parallelConfig = problem_.parallelConfigs[stages[g].parallelConfig];
    options.push_back(recomputeSolver_.options(stages[g].parallelConfig, parts, held_[g],
                                               problem_.deviceTypes[parallelConfig.deviceType].memory,
                                               !exhaustive           ? RecomputeSolver::Which::MinTime
                                               : !monotone && energy ? RecomputeSolver::Which::All
                                               : !monotone           ? RecomputeSolver::Which::Distinct
                                               : energy              ? RecomputeSolver::Which::ParetoFront
                                                                     : RecomputeSolver::Which::ParetoTimes));
    complete_ &= options.back().exact;
    searchState_.budget -= 20 + options.back().work;
    work_ -= options.back().work;
    if (!exhaustive && balanced_)
      known_.emplace(std::move(key), options.back());
    if (options.back().list.empty())
      return INFINITY;
  }
  return choose(stages, plan, options, exhaustive);
}

/// What each group keeps, group after group: the least times of those to come bound what is left.
double ConfigurationSearch::choose(const std::vector<Placed> &stages, Placement &plan,
                                   const std::vector<RecomputeSolver::Options> &options, bool exhaustive) {
  auto p = static_cast<size_t>(groups_);
  auto recomputeChoice = [&](size_t g, const GroupRecomputeChoice &option) {
    for (size_t c = 0; c < option.recomputeChoices.size(); ++c)
      plan.stages[stageOf(g, c)].recomputeChoices = option.recomputeChoices[c];
  };
  for (size_t g = 0; g < p; ++g)
    recomputeChoice(g, options[g].list[0]);
  StageEdges edges;
  PlanMetrics metrics = evaluateStages(problem_, plan, edges);
  std::vector<StageTimes> &times = metrics.times;
  searchState_.budget -= static_cast<int64_t>(10 * stages.size());
  std::vector<StageWork> works(p);
  std::vector<double> joules(p + 1, metrics.joules); // of the work, and of all again from g on
  for (const RecomputeSolver::Options &of : options)
    joules[p] -= of.list[0].joules;
  for (size_t s = 0; s < stages.size(); ++s) {
    Sums sums = lattice_.between(stages[s].parallelConfig, stages[s].from, stages[s].to);
    StageWork &work = works[static_cast<size_t>(groupOf(static_cast<int64_t>(s)))];
    work.backward += sums.backward, work.weight += sums.weight;
    work.update += sums.update, work.gradients += sums.gradients;
    work.expertGradients += sums.expertGradients;
  }
  for (size_t g = 0; g < p; ++g)
    for (size_t c = 0; c < options[g].list[0].recomputeTime.size(); ++c)
      times[stageOf(g, c)].backward -= options[g].list[0].recomputeTime[c];
  std::vector<int64_t> tied(p); // with what another group keeps
  for (size_t g = 0; g < p; ++g) {
    StageWork work = works[g];
    for (int64_t recomputeTime : options[g].list[0].recomputeTime)
      work.backward += recomputeTime;
    tied[g] = times[g].stepTail - exposedStepTail(problem_, stages[g].parallelConfig, work,
                                                  countReplicasPerNode(problem_, stages[g].parallelConfig, groups_));
  }
  std::vector<StageTimes> bare = times;
  auto stepTail = [&](size_t g, const GroupRecomputeChoice &option) {
    StageWork work = works[g];
    for (int64_t recomputeTime : option.recomputeTime)
      work.backward += recomputeTime;
    return tied[g] + exposedStepTail(problem_, stages[g].parallelConfig, work,
                                     countReplicasPerNode(problem_, stages[g].parallelConfig, groups_));
  };
  auto put = [&](size_t g, const std::vector<int64_t> &recomputeTime, int64_t finishes) {
    for (size_t c = 0; c < recomputeTime.size(); ++c)
      times[stageOf(g, c)].backward = bare[stageOf(g, c)].backward + recomputeTime[c];
    times[g].stepTail = finishes;
  };
  std::vector<GroupRecomputeChoice> min(p);
  std::vector<int64_t> minStepTail(p, INT64_MAX);
  for (size_t g = p; g-- > 0;) {
    min[g] = options[g].list[0];
    for (const GroupRecomputeChoice &option : options[g].list) {
      for (size_t c = 0; c < option.recomputeTime.size(); ++c)
        min[g].recomputeTime[c] = std::min(min[g].recomputeTime[c], option.recomputeTime[c]);
      min[g].joules = std::min(min[g].joules, option.joules);
      minStepTail[g] = std::min(minStepTail[g], stepTail(g, option));
    }
    joules[g] = joules[g + 1] + min[g].joules;
    put(g, min[g].recomputeTime, minStepTail[g]);
  }
  double best = INFINITY;
  Rates rates = minRatesOf(stages);
  auto canPrune = [&](int64_t step, double energy) {
    double bound = valueOf(problem_, step + problem_.hostOverheadPerStep, rates, energy, lattice_.maxTdpTime);
    if (!searchState_.canPrune(bound))
      return false;
    best = std::min(best, bound);
    return true;
  };
  auto simulated = [&] {
    return simulate({configuration_.schedule, groups_, configuration_.virtualStages, microbatches_}, times, edges).step;
  };
  std::function<void(size_t, double)> next = [&](size_t g, double energy) {
    if (exhaustive && searchState_.isExhausted()) {
      complete_ = false;
      return;
    }
    searchState_.budget -= static_cast<int64_t>(stages.size());
    work_ -= static_cast<int64_t>(stages.size());
    bool changed = g == 0 || options[g - 1].list.size() > 1;
    if (changed && canPrune(minStepOf(metrics, edges), energy + joules[g]))
      return;
    if (g < p) {
      for (const GroupRecomputeChoice &option : options[g].list) {
        recomputeChoice(g, option);
        put(g, option.recomputeTime, stepTail(g, option));
        next(g + 1, energy + option.joules);
      }
      put(g, min[g].recomputeTime, minStepTail[g]);
      return;
    }
    ++searchState_.examined;
    searchState_.budget -= static_cast<int64_t>(stages.size()) * microbatches_;
    if (canPrune(simulated(), energy + joules[p]))
      return;
    PlanMetrics evaluated = evaluate(problem_, plan);
    if (!evaluated.fits || !satisfiesLimits(problem_, evaluated) ||
        (lattice_.maxTdpTime > 0 && tdpTimeOf(problem_, plan, evaluated) > lattice_.maxTdpTime))
      return;
    best = std::min(best, evaluated.value);
    if (searchState_.onPlanEvaluated)
      searchState_.onPlanEvaluated(plan, evaluated);
    if (evaluated.value < searchState_.value) {
      searchState_.value = evaluated.value;
      searchState_.plan = plan;
      searchState_.metrics = std::move(evaluated);
    }
  };
  next(0, 0);
  return best;
}

} // namespace accord::placing
