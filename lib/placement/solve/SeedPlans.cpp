// Plans that are made without search: as even as memory lets them be.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>

namespace accord::placing {

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
