// Proofs of bounds by windows, found by trying everything in units of time: slow and plain, so that
// the checker of proofs meets proofs that it did not make.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <algorithm>
#include <map>

namespace accord::testing {

/// Of schedules that end by `horizon`; tasks count with least durations and amounts.
class NaiveProver {
public:
  using Id = SchedulingProblem::Id;
  using Step = ProofStep;
  using Rule = ProofStep::Rule;

  NaiveProver(const SchedulingProblem &problem, int64_t horizon)
      : p(problem), horizon(horizon), earliest(problem.tasks.size(), 0), latest(problem.tasks.size()),
        duration(problem.tasks.size(), INT64_MAX) {
    for (Id t = 0; t < p.tasks.size(); ++t) {
      for (const auto &mode : p.tasks[t].modes)
        duration[t] = fits(mode) ? std::min(duration[t], mode.duration) : duration[t];
      latest[t] = horizon - duration[t];
    }
    for (const auto &edge : p.precedences)
      if (!p.optional(edge.before) && !p.optional(edge.after))
        order(edge.before, edge.after, edge.delay);
  }

  std::vector<Step> steps;

  /// True: no schedule ends by the horizon, as `steps` show.
  bool run() {
    for (Id t = 0; t < p.tasks.size(); ++t)
      if (!p.optional(t) && closed(t)) // before any step
        return true;
    for (;;) {
      size_t before = steps.size();
      if (chains() || pairs() || chains() || intervals(false))
        return true;
      if (steps.size() == before && intervals(true))
        return true;
      if (steps.size() == before)
        return false;
    }
  }

private:
  void order(Id before, Id after, int64_t delay) { edges.push_back({before, after, delay}); }
  bool fits(const SchedulingProblem::Mode &mode) const {
    for (const auto &use : mode.usage)
      if (use.amount > p.resources[use.of].capacity)
        return false;
    for (const auto &use : mode.spends)
      if (use.amount > p.budgets[use.of].capacity)
        return false;
    return true;
  }
  int64_t amount(Id t, Id r) const {
    int64_t min = INT64_MAX;
    for (const auto &mode : p.tasks[t].modes) {
      int64_t here = 0;
      for (const auto &use : mode.usage)
        here = use.of == r ? use.amount : here;
      min = fits(mode) ? std::min(min, here) : min;
    }
    return min;
  }
  bool counts(Id t) const { return !p.optional(t) && duration[t] > 0; }
  bool closed(Id t) const { return earliest[t] > latest[t]; }

  bool move(const Step &step) {
    auto &bound = step.early ? earliest[step.task] : latest[step.task];
    if (step.early ? step.time <= bound : step.time >= bound)
      return false;
    bound = step.time;
    steps.push_back(step);
    return closed(step.task);
  }

  bool chains() {
    bool any = false;
    for (bool changed = true; std::exchange(changed, false);)
      for (const auto &e : edges) {
        int64_t after = earliest[e.before] + duration[e.before] + e.delay,
                before = latest[e.after] - e.delay - duration[e.before];
        if (after > earliest[e.after])
          earliest[e.after] = after, changed = any = true;
        if (before < latest[e.before])
          latest[e.before] = before, changed = any = true;
        if (closed(e.after) || closed(e.before)) {
          steps.push_back({});
          return true;
        }
      }
    if (any)
      steps.push_back({});
    return false;
  }

  bool pairs() {
    for (Id a = 0; a < p.tasks.size(); ++a)
      for (Id b = 0; b < p.tasks.size(); ++b) {
        bool apart = false;
        for (Id r = 0; r < p.resources.size() && a != b && counts(a) && counts(b); ++r)
          apart |= amount(a, r) + amount(b, r) > p.resources[r].capacity;
        if (!apart || known[{a, b}])
          continue;
        bool fits = false; // b before a
        for (int64_t start = earliest[b]; start <= latest[b]; ++start)
          fits |= start + duration[b] <= latest[a];
        if (fits)
          continue;
        known[{a, b}] = true;
        order(a, b, 0);
        steps.push_back({Rule::Pair, b, a, true, earliest[a] + duration[a], 0, 0, {}});
        earliest[b] = std::max(earliest[b], steps.back().time);
        if (closed(b))
          return true;
        if (move({Rule::Pair, a, b, false, latest[b] - duration[a], 0, 0, {}}))
          return true;
      }
    return false;
  }

  /// Units of [from, to) that a task covers when it starts at some time; the least of its window.
  int64_t covers(Id t, int64_t start, int64_t from, int64_t to) const {
    int64_t units = 0;
    for (int64_t time = from; time < to; ++time)
      units += start <= time && time < start + duration[t];
    return units;
  }
  int64_t min(Id t, int64_t from, int64_t to) const {
    int64_t units = INT64_MAX;
    for (int64_t start = earliest[t]; start <= latest[t]; ++start)
      units = std::min(units, covers(t, start, from, to));
    return units;
  }

  /// Intervals of one unit (what is compulsory then), or all.
  bool intervals(bool all) {
    for (Id r = 0; r < p.resources.size(); ++r)
      for (int64_t from = 0; from < horizon; ++from)
        for (int64_t to = from + 1; to <= (all ? horizon : from + 1); ++to)
          for (Id t = 0; t < p.tasks.size(); ++t) {
            if (!counts(t) || amount(t, r) == 0)
              continue;
            int64_t rest = p.resources[r].capacity * (to - from);
            for (Id u = 0; u < p.tasks.size(); ++u)
              if (u != t && counts(u))
                rest -= amount(u, r) * min(u, from, to);
            auto possible = [&](int64_t start) { return amount(t, r) * covers(t, start, from, to) <= rest; };
            int64_t first = earliest[t], last = latest[t];
            while (first <= latest[t] && !possible(first))
              ++first;
            while (last >= earliest[t] && !possible(last))
              --last;
            Rule rule = all ? Rule::Energy : Rule::Compulsory;
            if (move({rule, t, r, true, first, from, to, {}}) || move({rule, t, r, false, last, from, to, {}}))
              return true;
          }
    return false;
  }

  const SchedulingProblem &p;
  int64_t horizon;
  std::vector<int64_t> earliest, latest, duration;
  std::vector<SchedulingProblem::Precedence> edges;
  std::map<std::pair<Id, Id>, bool> known;
};

} // namespace accord::testing
