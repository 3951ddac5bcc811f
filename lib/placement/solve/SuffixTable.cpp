// The dynamic program from the last stage to the first.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {

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

} // namespace accord::placing
