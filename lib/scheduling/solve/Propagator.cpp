#include "lib/scheduling/solve/Propagator.h"
#include "lib/scheduling/solve/Bounds.h"
#include <algorithm>
#include <utility>

namespace accord::solve {

/// Tables of pairs of tasks.
constexpr size_t kMaxForPairs = 600;

Propagator::Propagator(const Instance &in, int64_t horizon, size_t energetic)
    : earliest(in.heads), latest(in.size()), steps(in.steps), in(in), energetic(energetic), after(in.size()),
      before(in.size()), users(in.problem.resources.size()) {
  size_t n = in.size();
  for (Id t = 0; t < n; ++t) {
    latest[t] = horizon - in.tails[t] - in.minDuration[t];
    for (const Edge &e : in.after(t))
      if (in.mandatory[t] && in.mandatory[e.task])
        after[t].push_back(e), before[e.task].push_back({t, e.delay});
  }
  if (n <= kMaxForPairs)
    reaches.assign(n, std::vector<char>(n));
  for (size_t i = reaches.size(); i-- > 0;)
    for (const Edge &e : after[in.order[i]]) {
      auto &mine = reaches[in.order[i]];
      mine[e.task] = 1;
      for (size_t j = 0; j < n; ++j)
        mine[j] |= reaches[e.task][j];
    }
  for (Id t = 0; t < n; ++t) // orders follow from precedences alone
    for (const Edge &e : in.lagsAfter(t))
      after[t].push_back(e), before[e.task].push_back({t, e.delay});
  for (Id t = 0; t < n; ++t)
    if (in.mandatory[t] && in.minDuration[t] > 0)
      for (Id r = 0; r < users.size(); ++r) {
        User user = userOf(t, [&](const SchedulingProblem::Mode &mode) { return mode.uses(r); });
        if (user.max > 0)
          users[r].push_back(std::move(user));
      }
  if (n > kMaxForPairs)
    return;
  std::vector<std::vector<char>> isDisjunctive(n, std::vector<char>(n));
  for (Id r = 0; r < users.size(); ++r)
    for (const User &a : users[r])
      for (const User &b : users[r])
        if (a.task < b.task && a.amount + b.amount > in.problem.resources[r].capacity)
          isDisjunctive[a.task][b.task] = 1;
  for (Id a = 0; a < n; ++a)
    for (Id b = a + 1; b < n; ++b)
      if (isDisjunctive[a][b] && !reaches[a][b] && !reaches[b][a])
        open.push_back({a, b});
}

bool Propagator::deduce(const ProofStep &step) {
  int64_t &bound = step.early ? earliest[step.task] : latest[step.task];
  if (step.early ? step.time <= bound : step.time >= bound)
    return true;
  bound = step.time;
  changed = true;
  if (step.rule != Rule::Chain)
    steps.push_back(step);
  return earliest[step.task] <= latest[step.task];
}

bool Propagator::chains() {
  bool before = std::exchange(changed, false), open = true;
  for (Id t : in.order)
    for (const Edge &e : after[t])
      open &= deduce({Rule::Chain, e.task, 0, true, earliest[t] + in.minDuration[t] + e.delay, 0, 0, {}});
  for (size_t i = in.size(); i-- > 0;)
    for (const Edge &e : after[in.order[i]])
      open &= deduce(
          {Rule::Chain, in.order[i], 0, false, latest[e.task] - e.delay - in.minDuration[in.order[i]], 0, 0, {}});
  if (changed)
    steps.push_back({Rule::Chain, 0, 0, true, 0, 0, 0, {}});
  changed |= before;
  return open;
}

bool Propagator::pairs() {
  for (size_t i = 0; i < open.size();) {
    auto [a, b] = open[i];
    bool first = earliest[a] + in.minDuration[a] <= latest[b], second = earliest[b] + in.minDuration[b] <= latest[a];
    if (first && second) {
      ++i;
      continue;
    }
    if (second)
      std::swap(a, b);
    // b does not fit before a, so it comes after it: from now on a precedence.
    ProofStep step{Rule::Pair, b, a, true, earliest[a] + in.minDuration[a], 0, 0, {}};
    steps.push_back(step);
    if (!first && !second)
      return false;
    after[a].push_back({b, 0}), before[b].push_back({a, 0});
    ordered.push_back({a, b});
    open[i] = open.back();
    open.pop_back();
    changed = true;
  }
  return true;
}

/// A task whose latest start is before its earliest end runs in between, whatever happens.
bool Propagator::compulsory() {
  for (Id r = 0; r < users.size(); ++r) {
    int64_t capacity = in.problem.resources[r].capacity;
    std::vector<std::pair<int64_t, int64_t>> events; // time, amount
    for (const User &u : users[r])
      if (u.amount > 0 && latest[u.task] < earliest[u.task] + u.duration) {
        events.push_back({latest[u.task], u.amount});
        events.push_back({earliest[u.task] + u.duration, -u.amount});
      }
    if (events.empty())
      continue;
    std::sort(events.begin(), events.end());
    struct Step {
      int64_t from, to, used;
    };
    std::vector<Step> taken;
    int64_t used = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      used += events[i].second;
      if (i + 1 < events.size() && events[i + 1].first > events[i].first && used > 0)
        taken.push_back({events[i].first, events[i + 1].first, used});
      if (used > capacity && i + 1 < events.size() && events[i + 1].first > events[i].first) {
        steps.push_back({Rule::Compulsory, users[r][0].task, r, true, 0, events[i].first, events[i + 1].first, {}});
        return false;
      }
    }
    for (const User &u : users[r]) {
      if (u.amount == 0)
        continue;
      int64_t ownFrom = latest[u.task], ownTo = earliest[u.task] + u.duration;
      auto full = [&](const Step &s) {
        int64_t others = s.used - (s.from >= ownFrom && s.to <= ownTo ? u.amount : 0);
        return others + u.amount > capacity;
      };
      for (const Step &s : taken)
        if (s.from < earliest[u.task] + u.duration && s.to > earliest[u.task] && full(s) &&
            !deduce({Rule::Compulsory, u.task, r, true, s.to, s.from, s.to, {}}))
          return false;
      for (size_t i = taken.size(); i-- > 0;) {
        const Step &s = taken[i];
        if (s.from < latest[u.task] + u.duration && s.to > latest[u.task] && full(s) &&
            !deduce({Rule::Compulsory, u.task, r, false, s.from - u.duration, s.from, s.to, {}}))
          return false;
      }
    }
  }
  return true;
}

/// Whether two tasks never run at once: by precedences, or in whatever modes their windows have
/// room for.
bool Propagator::isDisjunctive(Id a, Id b) const {
  if (reaches[a][b] || reaches[b][a])
    return true;
  auto left = [&](Id t, const SchedulingProblem::Mode &mode) {
    return in.problem.fits(mode) && earliest[t] + mode.duration <= end(t);
  };
  for (const auto &one : in.problem.tasks[a].modes)
    for (const auto &two : in.problem.tasks[b].modes) {
      if (!left(a, one) || !left(b, two))
        continue;
      if (!in.problem.clash(one, two) || one.duration == 0 || two.duration == 0)
        return false;
    }
  return true;
}

/// Tasks that do not use a resource, but never run beside those that do, nor beside each other: as
/// if they took all of it. The longest first. Only where some task has modes: the problem of a
/// step has all others.
std::vector<Id> Propagator::joining(Id r) const {
  std::vector<Id> found, others;
  if (in.single || users[r].size() < 2 || reaches.empty())
    return found;
  std::vector<char> uses(in.size());
  for (const User &u : users[r])
    uses[u.task] = 1;
  for (Id t = 0; t < in.size(); ++t)
    if (in.mandatory[t] && in.minDuration[t] > 0 && !uses[t])
      others.push_back(t);
  std::sort(others.begin(), others.end(),
            [&](Id a, Id b) { return std::pair(-in.minDuration[a], a) < std::pair(-in.minDuration[b], b); });
  for (Id t : others)
    if (std::all_of(users[r].begin(), users[r].end(), [&](const User &u) { return isDisjunctive(t, u.task); }) &&
        std::all_of(found.begin(), found.end(), [&](Id other) { return isDisjunctive(t, other); }))
      found.push_back(t);
  return found;
}

/// A task with `amount` of a resource in each mode that fits when it is alone.
Propagator::User Propagator::userOf(Id t, llvm::function_ref<int64_t(const SchedulingProblem::Mode &)> amount) const {
  User user{t, INT64_MAX, 0, in.minDuration[t], 0, {}};
  for (const auto &mode : in.problem.tasks[t].modes)
    if (in.problem.fits(mode)) {
      const Option &option = user.options.emplace_back(amount(mode), mode.duration);
      user.amount = std::min(user.amount, option.amount), user.max = std::max(user.max, option.amount);
      user.energy = std::max(user.energy, __int128{option.amount} * option.duration);
    }
  return user;
}

/// Energetic reasoning (Erschler, Lopez 1990; Baptiste, Le Pape, Nuijten, Satisfiability tests and
/// time-bound adjustments for cumulative scheduling problems, Annals of OR 92, 1999): what tasks
/// need at least in an interval, shifted as far out of it as their windows allow.
bool Propagator::energy() {
  for (Id r = 0; r < users.size(); ++r) {
    int64_t capacity = in.problem.resources[r].capacity;
    std::vector<User> sharing = users[r];
    const std::vector<Id> beside = joining(r);
    for (Id t : beside)
      sharing.push_back(userOf(t, [&](const auto &) { return capacity; })); // as if it took all
    std::vector<int64_t> begins, ends;
    std::vector<__int128> own(sharing.size()); // of the interval, at least
    for (const User &u : sharing) {
      begins.push_back(earliest[u.task]), begins.push_back(latest[u.task]);
      begins.push_back(earliest[u.task] + u.duration);
      ends.push_back(latest[u.task] + u.duration), ends.push_back(earliest[u.task] + u.duration);
      ends.push_back(latest[u.task]);
    }
    for (auto *list : {&begins, &ends}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    for (int64_t from : begins)
      for (int64_t to : ends) {
        if (to <= from)
          continue;
        __int128 room = __int128{capacity} * (to - from), need = 0;
        for (size_t i = 0; i < sharing.size(); ++i)
          need += own[i] = needs(sharing[i], from, to);
        if (need > room) {
          steps.push_back({Rule::Energy, sharing[0].task, r, true, 0, from, to, beside});
          return false;
        }
        for (size_t i = 0; i < sharing.size(); ++i) {
          const User &u = sharing[i];
          __int128 rest = room - (need - own[i]);
          if (std::min(__int128{u.max} * (to - from), u.energy) <= rest)
            continue; // however it lies
          // Whatever its mode, it starts (ends) after (before) this.
          int64_t start = INT64_MAX, stop = INT64_MIN;
          for (const Option &o : u.options) {
            if (!inWindow(u.task, o))
              continue;
            // Of the interval, for this task.
            int64_t max =
                o.amount == 0 ? to - from : static_cast<int64_t>(std::min<__int128>(rest / o.amount, to - from));
            int64_t left = o.duration - std::max<int64_t>(0, from - earliest[u.task]),
                    right = o.duration - std::max<int64_t>(0, end(u.task) - to);
            start = std::min(start, std::min(to - from, left) > max ? to - max : earliest[u.task]);
            stop = std::max(stop, std::min(to - from, right) > max ? from + max : end(u.task));
          }
          if (start == INT64_MAX)
            continue; // no mode is left: chains find it
          if (!deduce({Rule::Energy, u.task, r, true, start, from, to, beside}) ||
              !deduce({Rule::Energy, u.task, r, false, stop - in.minDuration[u.task], from, to, beside}))
            return false;
        }
      }
  }
  return true;
}

/// Of an interval, whatever the mode among those that the window of the task has room for.
__int128 Propagator::needs(const User &u, int64_t from, int64_t to) const {
  __int128 minDuration = -1;
  for (const Option &o : u.options) {
    if (!inWindow(u.task, o))
      continue;
    int64_t left = std::max<int64_t>(0, earliest[u.task] + o.duration - from),
            right = std::max<int64_t>(0, to - (end(u.task) - o.duration));
    __int128 work = __int128{o.amount} * std::min({left, right, o.duration, to - from});
    minDuration = minDuration < 0 ? work : std::min(minDuration, work);
  }
  return std::max<__int128>(minDuration, 0);
}

/// Work in the interval of a set of tasks: the critical one of each resource, by windows.
bool Propagator::sets() {
  for (Id r = 0; r < users.size(); ++r) {
    int64_t capacity = in.problem.resources[r].capacity, last = 0;
    std::vector<Job> jobs;
    for (const User &u : users[r])
      last = std::max(last, end(u.task));
    for (const User &u : users[r]) {
      __int128 work = needs(u, earliest[u.task], end(u.task));
      if (capacity > 0 && work >= capacity)
        jobs.push_back({earliest[u.task], static_cast<int64_t>(work / capacity), last - end(u.task)});
    }
    CriticalSet set = criticalSet(jobs);
    if (set.value > last) {
      steps.push_back({Rule::Energy, users[r][0].task, r, true, 0, set.head, last - set.tail, {}});
      return false;
    }
  }
  return true;
}

bool Propagator::run(size_t rounds) {
  for (Id t = 0; t < in.size(); ++t)
    if (in.mandatory[t] && earliest[t] > latest[t]) // another one does not happen, then
      return false;
  do {
    changed = false;
    if (!chains() || !pairs() || !compulsory())
      return false;
    if (!changed && !(in.size() <= energetic ? energy() : sets()))
      return false;
  } while (changed && --rounds > 0);
  return true;
}

uint64_t Propagator::probe(uint64_t max) {
  uint64_t runs = 0;
  auto closes = [&](Id t, bool early, int64_t width) {
    Propagator tried = *this;
    tried.steps.clear();
    if (early)
      tried.latest[t] = earliest[t] + width - 1;
    else
      tried.earliest[t] = latest[t] - width + 1;
    ++runs;
    return !tried.run();
  };
  for (bool narrower = true; narrower && runs < max;) {
    narrower = false;
    for (Id t : in.order)
      for (bool early : {true, false}) {
        if (!in.mandatory[t])
          continue;
        // Wider while it closes, then narrow again, until not even one start does.
        for (int64_t width = 1; latest[t] - earliest[t] >= width && runs < max;) {
          if (!closes(t, early, width)) {
            if (width == 1)
              break;
            width = 1;
            continue;
          }
          (early ? earliest[t] += width : latest[t] -= width);
          width *= 2, narrower = true;
        }
      }
    Propagator after = *this;
    ++runs;
    if (!after.run())
      return runs;
    earliest = std::move(after.earliest), latest = std::move(after.latest);
  }
  return runs;
}

} // namespace accord::solve
