#include "lib/placement/solve/ConfigurationSearch.h"
#include "lib/placement/solve/CapacityBound.h"
#include <algorithm>
#include <tuple>

namespace accord::placing {

ConfigurationSearch::ConfigurationSearch(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                                         const Configuration &configuration, SearchState &searchState)
    : BalancedStageSearch(lattice, recomputeSolver, configuration, searchState) {
  if (lattice.chain)
    return;
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

double ConfigurationSearch::capacityBound() {
  return CapacityBound(lattice_, recomputeSolver_, configuration_, searchState_).bound();
}

// --- Plans that are made without search: as balanced as memory lets them be. ---

/// From `good`, which `fits`, the last number towards `end` that does, if all between them do: in steps, then by
/// bisection.
template <typename Fits> static uint32_t farthest(uint32_t good, uint32_t end, uint32_t step, Fits fits) {
  while (good != end) {
    uint32_t next = good < end ? std::min(good + step, end) : good - std::min(step, good - end);
    if (fits(next)) {
      good = next;
      continue;
    }
    while (std::max(good, next) - std::min(good, next) > 1) {
      uint32_t middle = std::min(good, next) + (std::max(good, next) - std::min(good, next)) / 2;
      (fits(middle) ? good : next) = middle;
    }
    break;
  }
  return good;
}

/// Whether a stage fits in memory and takes no longer than a limit per micro-batch, transfers and the host left out.
static bool isWithin(const DownSetLattice &lattice, RecomputeSolver &solver, Id parallelConfig, uint32_t from,
                     uint32_t to, int64_t inFlight, int64_t limit) {
  Sums sums = lattice.between(parallelConfig, from, to);
  if (sums.cannot || sums.time() > limit)
    return false;
  auto recomputeTime =
      solver.minRecomputeTime(parallelConfig, from, to, inFlight, lattice.problem.deviceTypeOf(parallelConfig).memory);
  return recomputeTime && sums.time() - sums.recomputeTime + *recomputeTime <= limit;
}

/// As far along the line as a stage goes within the bottleneck.
uint32_t ConfigurationSearch::reach(int64_t stage, uint32_t from, Id parallelConfig, int64_t bottleneck) {
  uint32_t count = line_.size() - 1;
  uint32_t max = count - (stages_ - 1 - stage);
  uint32_t step = std::max<int64_t>(1, count / stages_);
  uint32_t to = farthest(from, std::max(from, max), step, [&](uint32_t to) {
    return isWithin(lattice_, recomputeSolver_, parallelConfig, line_[from], line_[to], inFlight_[stage], bottleneck);
  });
  while (to > from && !mayHold(stage + 1, line_[to]))
    --to;
  return to;
}

/// Whether the next stage may have a parallel configuration: devices are left for it, and groups for configurations
/// that are not used yet.
bool ConfigurationSearch::mayTake(const std::vector<StagePlacement> &stages, const std::vector<int64_t> &used,
                                  Id parallelConfig) const {
  int64_t s = stages.size();
  if (s >= groups_)
    return parallelConfig == stages[groupOf(s)].parallelConfig;
  const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
  if (used[one.deviceType] + one.devices() > problem_.deviceTypes[one.deviceType].devices)
    return false;
  if (!configuration_.each)
    return true;
  int64_t missing = std::ranges::count_if(configuration_.parallelConfigs, [&](Id other) {
    return other != parallelConfig &&
           std::ranges::none_of(stages, [&](auto &placed) { return placed.parallelConfig == other; });
  });
  return missing <= groups_ - 1 - s;
}

std::optional<std::vector<StagePlacement>> ConfigurationSearch::greedy(int64_t bottleneck) {
  std::vector<StagePlacement> stages;
  std::vector<int64_t> used(problem_.deviceTypes.size());
  uint32_t at = 0;
  for (int64_t s = 0; s < stages_; ++s) {
    uint32_t best = at;
    Id chosen = 0;
    for (Id parallelConfig : configuration_.parallelConfigs) {
      if (!mayTake(stages, used, parallelConfig))
        continue;
      uint32_t to = reach(s, at, parallelConfig, bottleneck);
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
  if (stages_ > lattice_.count(0, lattice_.last()))
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
    planStages(*found, false);
}

// --- The dynamic program from the last stage to the first. ---

void ConfigurationSearch::listStates() {
  collapsed_ = false;
  states_.assign(groups_ + 1, {});
  follow_.assign(groups_ + 1, {});
  states_[0] = {std::vector<int64_t>(problem_.deviceTypes.size())};
  size_t parallelConfigs = configuration_.parallelConfigs.size(), total = 0;
  for (int64_t k = 1; k <= groups_; ++k) {
    std::map<std::vector<int64_t>, int64_t> at;
    follow_[k].assign(states_[k - 1].size() * parallelConfigs, -1);
    for (size_t u = 0; u < states_[k - 1].size(); ++u)
      for (size_t f = 0; f < parallelConfigs; ++f) {
        auto used = states_[k - 1][u];
        const ParallelConfig &parallelConfig = problem_.parallelConfigs[configuration_.parallelConfigs[f]];
        used[parallelConfig.deviceType] += parallelConfig.devices();
        if (used[parallelConfig.deviceType] > problem_.deviceTypes[parallelConfig.deviceType].devices)
          continue;
        auto [found, added] = at.emplace(used, states_[k].size());
        if (added)
          states_[k].push_back(used);
        follow_[k][u * parallelConfigs + f] = found->second;
      }
    total += states_[k].size();
    if (states_[k].size() > 256 || total > 4096) {
      // Too many: devices are not counted, which only makes the bound lower.
      collapsed_ = true;
      states_.assign(groups_ + 1, {std::vector<int64_t>(problem_.deviceTypes.size())});
      follow_.assign(groups_ + 1, std::vector<int64_t>(parallelConfigs, 0));
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
  // What `SuffixBound` says of this stage, with the least work of all others.
  int64_t rest = lattice_.all(configuration_.parallelConfigs[0]).time() - before.time();
  int64_t limit = (longest_ - before.time()) / m, k = stages_ - stage;
  if (configuration_.schedule == PipelineSchedule::GPipe && m > 1)
    limit = std::min(limit, (longest_ - before.time() - rest) / (m - 1));
  else if (m > k + 1)
    limit = std::min(limit, (longest_ - before.time() - 2 * rest) / (m - k - 1));
  return limit + (m > k + 1 ? problem_.hostOverheadPerMicrobatch : 0);
}

/// Whether a stage fits in memory and takes no longer than its limit, transfers left out, in any parallel
/// configuration.
bool ConfigurationSearch::fitsWithin(int64_t stage, uint32_t from, uint32_t to) {
  int64_t limit = limitAt(stage, from) - problem_.hostOverheadPerMicrobatch;
  return std::ranges::any_of(configuration_.parallelConfigs, [&](Id parallelConfig) {
    return isWithin(lattice_, recomputeSolver_, parallelConfig, from, to, inFlight_[stage], limit);
  });
}

/// Where stages can begin and end if none may take longer than its limit per micro-batch: taking as many layers as one
/// can from either end is best, as what fits in a stage also fits without some of its layers. Transfers, which may
/// shrink with more layers, are not looked at here.
void ConfigurationSearch::windows() {
  uint32_t count = lattice_.last();
  low_.assign(stages_ + 1, 0);
  high_.assign(stages_ + 1, count);
  if (!lattice_.above(0).empty())
    return;
  high_[0] = 0, low_[stages_] = count;
  uint32_t step = std::max<int64_t>(1, count / stages_);
  for (int64_t s = 0; s < stages_; ++s) {
    uint32_t from = high_[s];
    uint32_t to = farthest(from, count, step, [&](uint32_t to) { return fitsWithin(s, from, to); });
    high_[s + 1] = std::min<uint32_t>(to, count - (stages_ - 1 - s));
  }
  for (int64_t s = stages_; s-- > 0;) {
    uint32_t to = low_[s + 1];
    uint32_t from = farthest(to, 0, step, [&](uint32_t from) { return fitsWithin(s, from, to); });
    low_[s] = std::max<uint32_t>(from, s);
  }
}

ConfigurationSearch::Cell *ConfigurationSearch::cellAt(int64_t stage, uint32_t node, uint32_t state) {
  if (node < low_[stage] || node > high_[stage])
    return nullptr;
  return &cells_[stage][(node - low_[stage]) * states_[stages_ - stage].size() + state];
}

/// Whether the table is small enough.
bool ConfigurationSearch::makeCells() {
  constexpr int64_t Never = INT64_MAX;
  auto cellsOf = [&](int64_t s) { return (high_[s] - low_[s] + size_t(1)) * states_[stages_ - s].size(); };
  double cells = 0;
  for (int64_t s = 0; s <= stages_; ++s)
    cells += cellsOf(s);
  if (cells > 2e7)
    return false;
  cells_.assign(stages_ + 1, {});
  for (int64_t s = 0; s <= stages_; ++s)
    cells_[s].assign(cellsOf(s), {Never, Never, Never, 0, 0, 0});
  *cellAt(stages_, lattice_.last(), 0) = {0, 0, 0, 0, 0, 0};
  return true;
}

/// Puts a stage before all suffixes that begin where it ends. `parallelConfig`: its position.
void ConfigurationSearch::fillCells(int64_t stage, uint32_t from, uint32_t to, size_t parallelConfig,
                                    const StageBound &bound) {
  const std::vector<int64_t> &follow = follow_[stages_ - stage];
  size_t states = states_[stages_ - stage - 1].size(), parallelConfigs = configuration_.parallelConfigs.size();
  int64_t head = 0, tail = 0;
  if (!lattice_.chain) {
    head = lattice_.before(chainForward_, from, to);
    tail = lattice_.before(chainBackward_, from, to);
  }
  for (uint32_t u = 0; u < states; ++u) {
    Cell *behind = cellAt(stage + 1, to, u);
    int64_t state = follow[u * parallelConfigs + parallelConfig];
    if (!behind || behind->end == INT64_MAX || state < 0)
      continue;
    SuffixBound suffix;
    if (lattice_.chain) {
      suffix = extend({behind->leave, behind->end, behind->through}, bound, stage);
    } else {
      // Alone: after the longest chain of layers before it, and before theirs backward.
      SuffixBound mine = extend({}, bound, -1);
      suffix.end = std::max({behind->end, head + mine.end, head + mine.leave + tail});
      suffix.leave = suffix.end;
    }
    Cell *cell = cellAt(stage, from, state);
    if (suffix.end < cell->end)
      cell->next = to, cell->parallelConfig = configuration_.parallelConfigs[parallelConfig], cell->state = u;
    cell->end = std::min(cell->end, suffix.end);
    cell->leave = std::min(cell->leave, suffix.leave);
    cell->through = std::min(cell->through, suffix.through);
  }
}

/// The same in all parallel configurations; whether larger stages may be of use.
bool ConfigurationSearch::prepend(int64_t stage, uint32_t from, uint32_t to, int64_t limit) {
  bool any = false;
  for (size_t f = 0; f < configuration_.parallelConfigs.size(); ++f) {
    Id parallelConfig = configuration_.parallelConfigs[f];
    searchState_.budget -= 2;
    if (lattice_.between(parallelConfig, from, to).cannot)
      continue;
    auto bound = stageAt(parallelConfig, from, to, stage);
    if (!bound)
      continue;
    // Transfers apart, larger stages take longer.
    any |= bound->work() <= limit || lattice_.path;
    if (bound->work() <= limit && to >= low_[stage + 1])
      fillCells(stage, from, to, f, *bound);
  }
  return any;
}

/// Rates of all groups, if they use so many devices of each type; nothing where `each` parallel configuration cannot be
/// among them.
std::optional<Rates> ConfigurationSearch::ratesOfState(const std::vector<int64_t> &used) const {
  if (collapsed_)
    return minRatesOf({});
  Rates rates;
  if (configuration_.each) { // devices tell the groups of each parallel configuration
    for (size_t f = 0; f < configuration_.parallelConfigs.size(); ++f) {
      const ParallelConfig &one = problem_.parallelConfigs[configuration_.parallelConfigs[f]];
      int64_t n = used[one.deviceType] / one.devices();
      if (n <= 0)
        return std::nullopt;
      for (int64_t i = 0; i < n; ++i)
        rates += rates_[f];
    }
    return rates;
  }
  for (size_t d = 0; d < used.size(); ++d)
    rates += ratesOf(problem_.deviceTypes[d], used[d]);
  return rates;
}

double ConfigurationSearch::bestOfTable() {
  double best = INFINITY;
  const auto &states = states_[groups_];
  for (uint32_t u = 0; u < states.size(); ++u) {
    const Cell *cell = cellAt(0, 0, u);
    if (cell->end == INT64_MAX)
      continue;
    auto rates = ratesOfState(states[u]);
    double bound = rates ? value(cell->end, *rates) : INFINITY;
    if (bound >= best)
      continue;
    best = bound;
    std::vector<StagePlacement> stages;
    uint32_t node = 0, state = u;
    for (int64_t s = 0; s < stages_; ++s) {
      const Cell *at = cellAt(s, node, state);
      stages.push_back({node, at->next, at->parallelConfig});
      node = at->next, state = at->state;
    }
    if (bound < searchState_.value)
      planStages(stages, false);
  }
  return best;
}

double ConfigurationSearch::table() {
  if (configuration_.virtualStages > 1 || !lattice_.complete)
    return 0;
  const double useful = searchState_.cutoff(); // the table has nothing that is worth more
  longest_ = longest();
  windows();
  for (int64_t s = 0; s <= stages_; ++s)
    if (low_[s] > high_[s])
      return useful; // no cut of better value fits
  if (low_[0] > 0)
    return useful;
  listStates();
  if (!makeCells())
    return 0;
  for (int64_t s = stages_; s-- > 0;) {
    for (uint32_t from = low_[s]; from <= high_[s]; ++from) {
      if (!mayHold(s, from))
        continue;
      int64_t limit = limitAt(s, from);
      stagesFrom(from, high_[s + 1], [&](uint32_t to) { return prepend(s, from, to, limit); });
    }
    if (searchState_.isExhausted())
      return 0;
  }
  tabled_ = true;
  return std::max(0.0, std::min(useful, bestOfTable()));
}

// --- Depth-first search from the first stage on, what promises most first. ---

/// Stages chosen so far, and what follows from them.
struct ConfigurationSearch::Prefix {
  std::vector<StagePlacement> stages;
  std::vector<int64_t> used;  ///< devices by type
  std::vector<int64_t> loads; ///< of groups, per micro-batch
  int64_t head = 0;           ///< until the next stage may begin; 0 unless a chain
  int64_t drain = 0;          ///< from when gradients come back until these stages have finished
  int64_t step = 0;           ///< bound by groups of the prefix alone

  int64_t stepWith(const SuffixBound &suffix) const { return std::max(head + suffix.end, head + suffix.leave + drain); }
};

/// Least step of plans that begin with the prefix and the move, by what the table knows of the stages behind;
/// INT64_MAX where nothing of use is.
int64_t ConfigurationSearch::minStepBehind(const Prefix &prefix, const Move &move, int64_t stage) {
  const auto &states = states_[stages_ - 1 - stage];
  int64_t min = INT64_MAX;
  for (uint32_t u = 0; u < states.size(); ++u) {
    const Cell *cell = cellAt(stage + 1, move.to, u);
    if (!cell || cell->end == INT64_MAX)
      continue;
    if (!lattice_.chain) {
      min = std::min(min, cell->end);
      continue;
    }
    const ParallelConfig &one = problem_.parallelConfigs[move.parallelConfig];
    bool room = true;
    for (size_t deviceType = 0; deviceType < states[u].size(); ++deviceType)
      room &= prefix.used[deviceType] + states[u][deviceType] + (deviceType == one.deviceType ? one.devices() : 0) <=
              problem_.deviceTypes[deviceType].devices;
    if (room)
      min = std::min(min, prefix.stepWith(extend({cell->leave, cell->end, cell->through}, move.stage, stage)));
  }
  return min;
}

/// Lower bound of the step of plans that begin with the prefix and the move; nothing where none is of use.
std::optional<int64_t> ConfigurationSearch::minStep(const Prefix &prefix, uint32_t node, const Move &move) {
  int64_t s = prefix.stages.size(), left = stages_ - 1 - s;
  int64_t step = std::max(prefix.step, microbatches_ * (prefix.loads[groupOf(s)] + move.stage.work()));
  if (configuration_.virtualStages == 1) {
    SuffixBound mine = extend({}, move.stage, -1);
    if (lattice_.chain) {
      step = std::max(step, prefix.stepWith(mine));
    } else {
      int64_t head = lattice_.before(chainForward_, node, move.to);
      step = std::max({step, head + mine.end, head + mine.leave + lattice_.before(chainBackward_, node, move.to)});
    }
    if (tabled_) {
      int64_t behind = minStepBehind(prefix, move, s);
      if (behind == INT64_MAX)
        return std::nullopt;
      step = std::max(step, behind);
    }
  }
  // All work that is left shared by the groups.
  double rest = move.stage.work();
  for (int64_t other : prefix.loads)
    rest += other;
  if (configuration_.parallelConfigs.size() == 1) {
    int64_t min = lattice_.between(move.parallelConfig, move.to, lattice_.last()).time();
    rest += 1.0 * min + left * problem_.hostOverheadPerMicrobatch;
  }
  return std::max(step, static_cast<int64_t>(rest / groups_ * microbatches_ * (1 - 1e-12)));
}

/// Lists the stage from `node` to `to` if it may lead to a better plan; whether larger ones may.
bool ConfigurationSearch::consider(Prefix &prefix, uint32_t node, uint32_t to, Id parallelConfig, int64_t limit,
                                   std::vector<Move> &moves) {
  int64_t s = prefix.stages.size(), left = stages_ - 1 - s;
  --searchState_.budget, --work_;
  Sums sums = lattice_.between(parallelConfig, node, to);
  if (sums.cannot)
    return false;
  if (tabled_ && lattice_.linear) { // outside of these nothing of use is left
    if (to > high_[s + 1])
      return false;
    if (to < low_[s + 1])
      return true;
  }
  if (!canBeBalanced(node, to, left))
    return lattice_.count(node, to) <= lattice_.count(0, lattice_.last()) / stages_;
  auto stage = stageAt(parallelConfig, node, to, s);
  if (!stage)
    return false;
  if (!mayHold(s + 1, to))
    return true;
  if (sums.time() + problem_.hostOverheadPerMicrobatch > limit / microbatches_)
    return false;
  if (lattice_.count(to, lattice_.last()) < left || (left == 0 && to != lattice_.last()))
    return lattice_.count(to, lattice_.last()) > left || left == 0;
  Move move{0, to, parallelConfig, *stage};
  auto step = minStep(prefix, node, move);
  if (!step)
    return true;
  prefix.stages.push_back({node, to, parallelConfig});
  move.bound = value(*step, minRatesOf(prefix.stages));
  prefix.stages.pop_back();
  if (searchState_.canPrune(move.bound))
    ++searchState_.pruned;
  else
    moves.push_back(move);
  return true;
}

ConfigurationSearch::Prefix ConfigurationSearch::advance(const Prefix &prefix, uint32_t node, const Move &move) const {
  int64_t s = prefix.stages.size();
  Prefix next = prefix;
  next.stages.push_back({node, move.to, move.parallelConfig});
  int64_t &load = next.loads[groupOf(s)];
  load += move.stage.work();
  next.step = std::max(next.step, microbatches_ * load);
  if (s >= groups_)
    return next;
  const ParallelConfig &parallelConfig = problem_.parallelConfigs[move.parallelConfig];
  next.used[parallelConfig.deviceType] += parallelConfig.devices();
  if (!lattice_.chain)
    return next;
  // Passes of the first virtual stages alone come before any of a later group, and after its last.
  const StageBound &stage = move.stage;
  if (configuration_.virtualStages == 1)
    next.step = std::max(next.step, prefix.stepWith(extend({}, stage, -1)));
  next.head = prefix.head + stage.forward + stage.send;
  next.drain = stage.send + stage.backward +
               (splitsWeights_ ? std::max(stage.weight + stage.stepTail, prefix.drain)
                               : stage.weight + std::max(stage.stepTail, prefix.drain));
  return next;
}

void ConfigurationSearch::dive(Prefix &prefix, uint32_t node) {
  int64_t s = prefix.stages.size();
  if (s == stages_) {
    planStages(prefix.stages, true);
    return;
  }
  std::vector<Move> moves;
  int64_t limit = longest();
  for (Id parallelConfig : configuration_.parallelConfigs) {
    const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
    if (s >= groups_ ? parallelConfig != prefix.stages[groupOf(s)].parallelConfig
                     : prefix.used[one.deviceType] + one.devices() > problem_.deviceTypes[one.deviceType].devices)
      continue;
    stagesFrom(node, lattice_.last(),
               [&](uint32_t to) { return consider(prefix, node, to, parallelConfig, limit, moves); });
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
    Prefix next = advance(prefix, node, move);
    dive(next, move.to);
  }
}

bool ConfigurationSearch::search(int64_t work, double bound) {
  work_ = work;
  complete_ = true;
  Prefix prefix;
  prefix.used.resize(problem_.deviceTypes.size());
  prefix.loads.resize(groups_);
  if (stages_ <= lattice_.count(0, lattice_.last()))
    dive(prefix, 0);
  if (searchState_.gap > 0) // what could not reach the goal was not looked at
    searchState_.recordPruned(searchState_.cutoff());
  bool proved = complete_ && lattice_.complete;
  if (!proved)
    searchState_.recordPruned(bound);
  return proved;
}

} // namespace accord::placing
