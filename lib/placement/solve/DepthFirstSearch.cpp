// Depth-first search from the first stage on, what promises most first.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>
#include <tuple>

namespace accord::placing {

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

} // namespace accord::placing
