// Schedules by exhaustion, for evidence: whether one is valid by what is taken in each unit of
// time, and the shortest of all.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <algorithm>
#include <optional>
#include <unordered_map>

namespace accord::testing {

/// Even where a mode takes no time.
inline bool fitsAlone(const SchedulingProblem &p, const SchedulingProblem::Mode &mode) {
  return std::none_of(mode.usage.begin(), mode.usage.end(),
                      [&](auto &use) { return use.amount > p.resources[use.of].capacity; });
}

/// A schedule looked at in each unit of time [time, time + 1) on its own.
class Occupancy {
public:
  Occupancy(const SchedulingProblem &problem, const SchedulingSolution &solution) : p(problem), s(solution) {}

  bool allows() {
    if (!hasTimes() || !keepsPrecedences() || !keepsLags() || !keepsChoices())
      return false;
    for (int64_t time = 0; time < s.makespan; ++time)
      if (!hasResources(time) || !hasMemory(time))
        return false;
    return true;
  }

private:
  const SchedulingProblem::Mode &mode(size_t t) const { return p.tasks[t].modes[s.mode[t]]; }
  bool happens(size_t t) const { return !mode(t).absent; }
  int64_t end(size_t t) const { return s.start[t] + mode(t).duration; }

  bool hasTimes() const {
    size_t n = p.tasks.size();
    if (s.start.size() != n || s.mode.size() != n)
      return false;
    int64_t horizon = 0;
    for (size_t t = 0; t < n; ++t) {
      if (s.mode[t] >= p.tasks[t].modes.size() || s.start[t] < 0 || s.start[t] > 1000 || !fitsAlone(p, mode(t)) ||
          (!happens(t) && s.start[t] != 0))
        return false;
      if (happens(t))
        horizon = std::max(horizon, end(t));
    }
    return horizon == s.makespan;
  }
  bool keepsLags() const {
    return std::ranges::all_of(p.lags, [&](const SchedulingProblem::TimeLag &lag) {
      return !happens(lag.before) || !happens(lag.after) || s.start[lag.after] - s.start[lag.before] >= lag.lag;
    });
  }
  bool keepsPrecedences() const {
    return std::ranges::none_of(p.precedences, [&](const SchedulingProblem::Precedence &edge) {
      return happens(edge.before) && happens(edge.after) && s.start[edge.after] - end(edge.before) < edge.delay;
    });
  }
  /// Pairings and budgets.
  bool keepsChoices() const {
    for (const auto &pairing : p.pairings)
      if (std::ranges::find(pairing.allowed, std::pair(s.mode[pairing.a], s.mode[pairing.b])) == pairing.allowed.end())
        return false;
    for (size_t b = 0; b < p.budgets.size(); ++b) {
      int64_t left = p.budgets[b].capacity;
      for (size_t t = 0; t < p.tasks.size(); ++t)
        for (const auto &use : mode(t).spends)
          left -= use.of == b ? use.amount : 0;
      if (left < 0)
        return false;
    }
    return true;
  }
  bool hasResources(int64_t time) const {
    std::vector<int64_t> free;
    for (const auto &r : p.resources)
      free.push_back(r.capacity);
    for (size_t t = 0; t < p.tasks.size(); ++t)
      if (happens(t) && s.start[t] <= time && time < end(t))
        for (const auto &use : mode(t).usage)
          free[use.of] -= use.amount;
    return std::ranges::none_of(free, [](int64_t left) { return left < 0; });
  }
  bool hasMemory(int64_t time) const {
    std::vector<int64_t> room;
    for (const auto &m : p.memories)
      room.push_back(m.capacity);
    for (const auto &b : p.buffers) {
      bool made = b.producer == SchedulingProblem::kNoTask || (happens(b.producer) && s.start[b.producer] <= time);
      bool wanted = b.persistent;
      if (b.producer != SchedulingProblem::kNoTask)
        wanted |= time < end(b.producer);
      for (const auto &reader : b.readers) {
        bool elsewhere = reader.unless != SchedulingProblem::kNoTask && happens(reader.unless);
        wanted |= happens(reader.task) && !elsewhere && time < end(reader.task);
      }
      if (made && wanted)
        room[b.memory] -= b.bytes;
    }
    return std::ranges::none_of(room, [](int64_t left) { return left < 0; });
  }

  const SchedulingProblem &p;
  const SchedulingSolution &s;
};

inline bool occupancyAllows(const SchedulingProblem &p, const SchedulingSolution &s) {
  return Occupancy(p, s).allows();
}

/// For each choice of modes, all that can be started in each unit of time, one unit after the
/// other; what is the same from then on is looked at once. At most 15 tasks; durations and delays
/// of a task together at most 14.
class BruteForce {
public:
  explicit BruteForce(const SchedulingProblem &problem) : p(problem), n(problem.tasks.size()) {
    for (size_t left = n; order.size() < n && left-- > 0;) // as many rounds as there are tasks
      for (size_t t = 0; t < n; ++t) {
        bool ready = std::find(order.begin(), order.end(), t) == order.end();
        for (const auto &edge : p.precedences)
          ready &= edge.after != t || std::find(order.begin(), order.end(), edge.before) != order.end();
        if (ready)
          order.push_back(t);
      }
    mode.assign(n, 0);
    choose(0);
  }

  /// The shortest; nothing if the problem is infeasible.
  std::optional<SchedulingSolution> best;

private:
  static constexpr int kNotYet = 15;
  using State = uint64_t; ///< 4 bits a task: time since its start, or not yet

  const SchedulingProblem::Mode &of(size_t t) const { return p.tasks[t].modes[mode[t]]; }
  static int since(State state, size_t t) { return static_cast<int>(state >> (4 * t) & 15); }
  static State with(State state, size_t t, int time) {
    return (state & ~(State{15} << (4 * t))) | static_cast<State>(time) << (4 * t);
  }

  void choose(size_t t) {
    for (const auto &pairing : p.pairings)
      if (pairing.a < t && pairing.b < t &&
          std::find(pairing.allowed.begin(), pairing.allowed.end(), std::pair{mode[pairing.a], mode[pairing.b]}) ==
              pairing.allowed.end())
        return;
    if (t == n)
      return explore();
    for (mode[t] = 0; mode[t] < p.tasks[t].modes.size(); ++mode[t])
      if (fitsAlone(p, of(t)))
        choose(t + 1);
  }

  void explore() {
    for (size_t b = 0; b < p.budgets.size(); ++b) {
      int64_t spent = 0;
      for (size_t t = 0; t < n; ++t)
        for (const auto &use : of(t).spends)
          spent += use.of == b ? use.amount : 0;
      if (spent > p.budgets[b].capacity)
        return;
    }
    // From the start of a task to the end of all, at least.
    tail.assign(n, 0);
    matters.assign(n, 0);
    for (size_t i = n; i-- > 0;) {
      size_t t = order[i];
      if (of(t).absent)
        continue;
      matters[t] = of(t).duration;
      for (const auto &edge : p.precedences)
        if (edge.before == t)
          matters[t] = std::max(matters[t], of(t).duration + edge.delay);
      for (const auto &edge : p.precedences)
        if (edge.before == t && !of(edge.after).absent)
          tail[t] = std::max(tail[t], edge.delay + tail[edge.after]);
      tail[t] += of(t).duration;
    }
    State nothing = 0;
    for (size_t t = 0; t < n; ++t)
      nothing = with(nothing, t, kNotYet);
    from = {};
    from.emplace(nothing, nothing);
    std::vector<State> layer = {nothing};
    for (int64_t time = 0; !layer.empty() && (!best || time < best->makespan); ++time) {
      next.clear();
      for (State state : layer)
        if (start(state, state, 0, time))
          return;
      layer = next;
    }
  }

  /// Starts any of the tasks from order[i] on, or none; true when all have ended.
  bool start(State origin, State state, size_t i, int64_t time) {
    if (i == n)
      return advance(origin, state, time);
    size_t t = order[i];
    if (!of(t).absent && since(state, t) == kNotYet) {
      bool ready = true;
      for (const auto &edge : p.precedences)
        if (edge.after == t && !of(edge.before).absent)
          ready &= since(state, edge.before) != kNotYet &&
                   since(state, edge.before) >= of(edge.before).duration + edge.delay;
      if (ready && start(origin, with(state, t, 0), i + 1, time))
        return true;
    }
    return start(origin, state, i + 1, time);
  }

  bool over(State state, size_t t) const {
    return of(t).absent || (since(state, t) != kNotYet && since(state, t) >= of(t).duration);
  }

  bool advance(State origin, State state, int64_t time) {
    bool done = true;
    for (size_t t = 0; t < n; ++t)
      done &= over(state, t);
    if (done) {
      keep(origin, state, time);
      return true;
    }
    for (size_t r = 0; r < p.resources.size(); ++r) {
      int64_t used = 0;
      for (size_t t = 0; t < n; ++t)
        if (since(state, t) != kNotYet && !over(state, t))
          for (const auto &use : of(t).usage)
            used += use.of == r ? use.amount : 0;
      if (used > p.resources[r].capacity)
        return false;
    }
    for (size_t m = 0; m < p.memories.size(); ++m) {
      int64_t used = 0;
      for (const auto &b : p.buffers)
        if (b.memory == m && live(b, state))
          used += b.bytes;
      if (used > p.memories[m].capacity)
        return false;
    }
    for (size_t t = 0; best && t < n; ++t)
      if (since(state, t) == kNotYet && time + 1 + tail[t] >= best->makespan)
        return false;
    State later = state;
    for (size_t t = 0; t < n; ++t)
      if (since(state, t) < matters[t])
        later = with(later, t, since(state, t) + 1);
    if (from.emplace(later, origin).second)
      next.push_back(later);
    return false;
  }

  /// Where not everything is over.
  bool live(const SchedulingProblem::Buffer &b, State state) const {
    if (b.producer != SchedulingProblem::kNoTask) {
      if (of(b.producer).absent || since(state, b.producer) == kNotYet)
        return false;
      if (!over(state, b.producer))
        return true;
    }
    for (const auto &reader : b.readers)
      if ((reader.unless == SchedulingProblem::kNoTask || of(reader.unless).absent) && !over(state, reader.task))
        return true;
    return b.persistent;
  }

  void keep(State origin, State last, int64_t time) {
    if (best && best->makespan <= time)
      return;
    best = SchedulingSolution{std::vector<int64_t>(n, 0), mode, time};
    for (State state = last;; state = origin, origin = from.at(origin), --time) {
      // `state` holds what was started at `time`, `origin` what was before.
      for (size_t t = 0; t < n; ++t)
        if (since(state, t) != kNotYet && since(origin, t) == kNotYet && !of(t).absent)
          best->start[t] = time;
      if (time == 0)
        return;
    }
  }

  const SchedulingProblem &p;
  size_t n;
  std::vector<size_t> order;
  std::vector<SchedulingProblem::Id> mode;
  std::vector<int64_t> tail, matters; ///< how long ago a start was matters up to that time
  std::vector<State> next;
  std::unordered_map<State, State> from; ///< a state, and the one a unit of time before
};

} // namespace accord::testing
