// Depth-first search from the first stage on, what promises most first.
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>
#include <tuple>

namespace accord::placing {

/// Stages chosen so far, and what follows from them.
struct Shape::Prefix {
  std::vector<Placed> stages;
  std::vector<int64_t> used;  ///< devices by kind
  std::vector<int64_t> loads; ///< of groups, per micro-batch
  int64_t head = 0;           ///< until the next stage may begin; 0 unless a chain
  int64_t drain = 0;          ///< from when gradients come back until these stages have finished
  int64_t step = 0;           ///< bound by groups of the prefix alone
};

void Shape::dive(Prefix &prefix, uint32_t node) {
  auto s = static_cast<int64_t>(prefix.stages.size());
  if (s == stages_) {
    leaf(prefix.stages, true);
    return;
  }
  struct Move {
    double bound;
    uint32_t to;
    Id form;
    StageBound stage;
  };
  std::vector<Move> moves;
  int64_t limit = longest();
  auto left = static_cast<uint32_t>(stages_ - 1 - s);
  for (Id form : configuration_.forms) {
    const PlacementProblem::Form &one = problem_.forms[form];
    if (s >= groups_ ? form != prefix.stages[static_cast<size_t>(s - groups_)].form
                     : prefix.used[one.kind] + one.devices() > problem_.kinds[one.kind].devices)
      continue;
    int64_t memory = problem_.kinds[one.kind].memory;
    auto group = static_cast<size_t>(s % groups_);
    auto consider = [&](uint32_t to) {
      --answer_.budget, --work_;
      if (space_.between(form, node, to).cannot)
        return false;
      if (tabled_ && space_.linear) { // outside of these nothing of use is left
        if (to > high_[static_cast<size_t>(s) + 1])
          return false;
        if (to < low_[static_cast<size_t>(s) + 1])
          return true;
      }
      if (!evenAt(node, to, left))
        return space_.count(node, to) <= space_.count(0, space_.last()) / stages_;
      auto stage = stageAt(form, node, to, s, memory);
      if (!stage)
        return false;
      if (!mayHold(s + 1, to))
        return true;
      int64_t load = prefix.loads[group] + stage->work();
      Sums sums = space_.between(form, node, to);
      if (sums.time() + problem_.perMicrobatch > limit / microbatches_)
        return false;
      if (space_.count(to, space_.last()) < left || (left == 0 && to != space_.last()))
        return space_.count(to, space_.last()) > left || left == 0;
      int64_t step = std::max(prefix.step, microbatches_ * load);
      Rates rates = {};
      prefix.stages.push_back({node, to, form});
      rates = ratesAtLeast(prefix.stages);
      prefix.stages.pop_back();
      if (configuration_.chunks == 1 && space_.chain) {
        Span mine = extend({}, *stage, -1);
        step = std::max({step, prefix.head + mine.end, prefix.head + mine.leave + prefix.drain});
        if (tabled_) {
          int64_t behind = INT64_MAX;
          const auto &states = states_[static_cast<size_t>(left)];
          for (uint32_t u = 0; u < states.size(); ++u) {
            bool room = true;
            for (size_t kind = 0; kind < states[u].size(); ++kind)
              room &=
                  prefix.used[kind] + states[u][kind] + (kind == one.kind ? one.devices() : 0) <=
                  problem_.kinds[kind].devices;
            Cell *cell = cellAt(s + 1, to, u);
            if (!room || !cell || cell->end == INT64_MAX)
              continue;
            Span span = extend({cell->leave, cell->end, cell->through}, *stage, s);
            behind = std::min(
                behind, std::max(prefix.head + span.end, prefix.head + span.leave + prefix.drain));
          }
          if (behind == INT64_MAX)
            return true;
          step = std::max(step, behind);
        }
      } else if (configuration_.chunks == 1 && !space_.chain) {
        Span mine = extend({}, *stage, -1);
        step = std::max({step, space_.before(chainForward_, node, to) + mine.end,
                         space_.before(chainForward_, node, to) + mine.leave +
                             space_.before(chainBackward_, node, to)});
        if (tabled_) {
          int64_t behind = INT64_MAX;
          for (uint32_t u = 0; u < states_[static_cast<size_t>(left)].size(); ++u)
            if (Cell *cell = cellAt(s + 1, to, u))
              behind = std::min(behind, cell->end);
          if (behind == INT64_MAX)
            return true;
          step = std::max(step, behind);
        }
      }
      // All work that is left shared by the groups.
      double rest = static_cast<double>(stage->work());
      for (int64_t other : prefix.loads)
        rest += static_cast<double>(other);
      int64_t least = INT64_MAX;
      if (configuration_.forms.size() == 1)
        least = space_.between(form, to, space_.last()).time();
      if (least < INT64_MAX)
        rest += static_cast<double>(least) + static_cast<double>(left * problem_.perMicrobatch);
      step = std::max(step, static_cast<int64_t>(rest / static_cast<double>(groups_) *
                                                 static_cast<double>(microbatches_) * (1 - 1e-12)));
      double bound = value(static_cast<double>(step), rates);
      if (answer_.useless(bound))
        ++answer_.pruned;
      else
        moves.push_back({bound, to, form, *stage});
      return true;
    };
    stagesFrom(node, space_.last(), consider);
  }
  std::sort(moves.begin(), moves.end(), [](const Move &a, const Move &b) {
    return std::tie(a.bound, a.to, a.form) < std::tie(b.bound, b.to, b.form);
  });
  for (const Move &move : moves) {
    if (answer_.useless(move.bound)) {
      ++answer_.pruned;
      continue;
    }
    if (work_ <= 0 || answer_.over()) {
      complete_ = false;
      return;
    }
    Prefix next = prefix;
    next.stages.push_back({node, move.to, move.form});
    auto group = static_cast<size_t>(s % groups_);
    next.loads[group] += move.stage.work();
    next.step = std::max(next.step, microbatches_ * next.loads[group]);
    if (s < groups_) {
      const PlacementProblem::Form &form = problem_.forms[move.form];
      next.used[form.kind] += form.devices();
    }
    bool split = configuration_.schedule == PipelineSchedule::ZeroBubble;
    if (space_.chain && s < groups_) {
      // Passes of the first chunks alone come before any of a later group, and after its last.
      Span mine = extend({}, move.stage, -1);
      if (configuration_.chunks == 1)
        next.step =
            std::max({next.step, prefix.head + mine.end, prefix.head + mine.leave + prefix.drain});
      next.head = prefix.head + move.stage.forward + move.stage.send;
      next.drain = move.stage.send + move.stage.backward +
                   (split ? std::max(move.stage.weight + move.stage.finish, prefix.drain)
                          : move.stage.weight + std::max(move.stage.finish, prefix.drain));
    }
    dive(next, move.to);
  }
}

bool Shape::search(int64_t work, double bound) {
  work_ = work;
  complete_ = true;
  Prefix prefix;
  prefix.used.resize(problem_.kinds.size());
  prefix.loads.resize(static_cast<size_t>(groups_));
  if (stages_ < static_cast<int64_t>(line_.size()))
    dive(prefix, 0);
  if (answer_.gap > 0) // what could not reach the goal was not looked at
    answer_.leave(answer_.goal());
  bool proved = complete_ && space_.complete;
  if (!proved)
    answer_.leave(bound);
  return proved;
}

} // namespace accord::placing
