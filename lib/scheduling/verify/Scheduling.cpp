// A schedule replayed: every constraint of the problem at every time at which something changes.
#include "lib/scheduling/verify/Scheduling.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = SchedulingProblem::Id;

/// No schedule needs more, and sums of it with a duration fit.
constexpr int64_t kLatest = INT64_MAX / 4;

class Replay {
public:
  Replay(const SchedulingProblem &problem, const SchedulingSolution &solution) : p(problem), s(solution) {}

  Errors run() {
    if (!tasks())
      return std::move(errors);
    precedences();
    lags();
    resources();
    memories();
    budgets();
    pairings();
    if (s.makespan != last)
      report(Code::WrongLength, {}, fmt::format("the makespan is {}, but the last task ends at {}", s.makespan, last));
    return std::move(errors);
  }

private:
  /// From `from` to `to` (not included) task or buffer `who` takes `amount`.
  struct Hold {
    int64_t from, to, amount;
    size_t who;
  };

  Error *report(Code code, const SourceLocation &at, std::string text) {
    if (errors.size() >= 20)
      return nullptr;
    return &errors.emplace_back(Error{code, std::move(text), at, {}});
  }
  const SchedulingProblem::Mode &mode(Id t) const { return p.tasks[t].modes[s.mode[t]]; }
  bool happens(Id t) const { return !mode(t).absent; }
  int64_t end(Id t) const { return s.start[t] + mode(t).duration; }

  /// False: the rest cannot be looked at.
  bool tasks() {
    size_t n = p.tasks.size();
    if (s.start.size() != n || s.mode.size() != n) {
      report(Code::OperationMissing, {},
             fmt::format("{} starts and {} modes for {} tasks", s.start.size(), s.mode.size(), n));
      return false;
    }
    bool readable = true;
    for (Id t = 0; t < n; ++t) {
      const auto &at = p.tasks[t].location;
      if (s.mode[t] >= p.tasks[t].modes.size()) {
        report(Code::WrongMode, at,
               fmt::format("task '{}' runs in mode {}, but has {} modes", p.nameOf(t), s.mode[t],
                           p.tasks[t].modes.size()));
        readable = false;
      } else if (s.start[t] < 0 || s.start[t] > kLatest) {
        report(Code::WrongStart, at, fmt::format("task '{}' starts at {}", p.nameOf(t), s.start[t]));
        readable = false;
      } else if (!happens(t)) {
        if (s.start[t] != 0)
          report(Code::WrongStart, at,
                 fmt::format("task '{}' does not happen, but starts at {}", p.nameOf(t), s.start[t]));
      } else {
        last = std::max(last, end(t));
      }
    }
    return readable;
  }

  void precedences() {
    for (const auto &edge : p.precedences) {
      if (!happens(edge.before) || !happens(edge.after) || s.start[edge.after] >= end(edge.before) + edge.delay)
        continue;
      Error *error = report(Code::DependenceViolated, p.tasks[edge.after].location,
                            fmt::format("task '{}' starts at {}, but '{}' ends at {}{}", p.nameOf(edge.after),
                                        s.start[edge.after], p.nameOf(edge.before), end(edge.before),
                                        edge.delay > 0 ? fmt::format(" and {} must pass", edge.delay) : ""));
      if (error)
        error->notes.push_back(
            {p.tasks[edge.before].location, fmt::format("'{}' is before it", p.nameOf(edge.before))});
    }
  }

  void lags() {
    for (const auto &lag : p.lags) {
      if (!happens(lag.before) || !happens(lag.after) || __int128{s.start[lag.after]} - s.start[lag.before] >= lag.lag)
        continue;
      Error *error = report(
          Code::DependenceViolated, p.tasks[lag.after].location,
          lag.lag < 0
              ? fmt::format("task '{}' starts at {}, more than {} after '{}', which starts at {}", p.nameOf(lag.before),
                            s.start[lag.before], -lag.lag, p.nameOf(lag.after), s.start[lag.after])
              : fmt::format("task '{}' starts at {}, less than {} after '{}', which starts at {}", p.nameOf(lag.after),
                            s.start[lag.after], lag.lag, p.nameOf(lag.before), s.start[lag.before]));
      if (error)
        error->notes.push_back({p.tasks[lag.before].location, fmt::format("'{}' is here", p.nameOf(lag.before))});
    }
  }

  /// The first time at which more is held than there is; -1 if there is none.
  static int64_t overfull(const std::vector<Hold> &holds, int64_t capacity, __int128 &max) {
    std::vector<std::pair<int64_t, __int128>> changes;
    for (const Hold &hold : holds)
      if (hold.from < hold.to && hold.amount > 0) {
        changes.push_back({hold.from, hold.amount});
        changes.push_back({hold.to, -__int128{hold.amount}});
      }
    std::sort(changes.begin(), changes.end()); // at the same time, what ends is first
    max = 0;
    for (const auto &[time, change] : changes)
      if ((max += change) > capacity)
        return time;
    return -1;
  }

  static std::string print(__int128 value) {
    return value > INT64_MAX ? std::string("more than 2^63") : fmt::format("{}", static_cast<int64_t>(value));
  }

  /// Reports an overfull resource or memory, with those that share it then.
  template <typename Name, typename Place>
  void share(Code code, const char *what, const std::string &name, int64_t capacity, const std::vector<Hold> &holds,
             Name nameOf, Place placeOf) {
    __int128 max;
    int64_t time = overfull(holds, capacity, max);
    if (time < 0)
      return;
    std::string who;
    Error *error = nullptr;
    size_t count = 0;
    std::vector<const Hold *> there;
    max = 0; // at that time in full: several may start at once
    for (const Hold &hold : holds)
      if (hold.from <= time && time < hold.to && hold.amount > 0) {
        max += hold.amount;
        there.push_back(&hold);
        if (++count <= 5)
          who += fmt::format("{}'{}'", who.empty() ? "" : ", ", nameOf(hold.who));
      }
    error = report(code, placeOf(there[0]->who),
                   fmt::format("at {}, {} of {} '{}' are taken, which has {}: {}{}", time, print(max), what, name,
                               capacity, who, count > 5 ? ", …" : ""));
    for (size_t i = 1; error && i < std::min<size_t>(count, 5); ++i)
      error->notes.push_back(
          {placeOf(there[i]->who), fmt::format("'{}' takes {} of it", nameOf(there[i]->who), there[i]->amount)});
  }

  void resources() {
    std::vector<std::vector<Hold>> holds(p.resources.size());
    for (Id t = 0; t < p.tasks.size(); ++t)
      for (const auto &use : mode(t).usage) {
        if (use.amount > p.resources[use.of].capacity && mode(t).duration == 0)
          report(Code::WrongMode, p.tasks[t].location,
                 fmt::format("task '{}' runs in a mode that needs {} of resource '{}', which has {}", p.nameOf(t),
                             use.amount, p.resources[use.of].name, p.resources[use.of].capacity));
        holds[use.of].push_back({s.start[t], end(t), use.amount, t});
      }
    for (Id r = 0; r < p.resources.size(); ++r)
      share(
          Code::ResourceOverlap, "resource", p.resources[r].name, p.resources[r].capacity, holds[r],
          [&](size_t t) { return p.nameOf(t); }, [&](size_t t) { return p.tasks[t].location; });
  }

  /// A buffer that is being written is there, whoever has read it before.
  void memories() {
    std::vector<std::vector<Hold>> holds(p.memories.size());
    for (size_t b = 0; b < p.buffers.size(); ++b) {
      const auto &buffer = p.buffers[b];
      bool input = buffer.producer == SchedulingProblem::kNoTask;
      if (!input && !happens(buffer.producer))
        continue;
      int64_t from = input ? 0 : s.start[buffer.producer], to = input ? 0 : end(buffer.producer);
      for (const auto &reader : buffer.readers)
        if (happens(reader.task) && (reader.unless == SchedulingProblem::kNoTask || !happens(reader.unless)))
          to = std::max(to, end(reader.task));
      holds[buffer.memory].push_back({from, buffer.persistent ? last : to, buffer.bytes, b});
    }
    for (Id m = 0; m < p.memories.size(); ++m)
      share(
          Code::MemoryExceeded, "memory", p.memories[m].name, p.memories[m].capacity, holds[m],
          [&](size_t b) { return p.buffers[b].name.empty() ? fmt::format("#{}", b) : p.buffers[b].name; },
          [&](size_t b) {
            return p.buffers[b].producer == SchedulingProblem::kNoTask ? SourceLocation{}
                                                                       : p.tasks[p.buffers[b].producer].location;
          });
  }

  void budgets() {
    std::vector<__int128> spent(p.budgets.size());
    for (Id t = 0; t < p.tasks.size(); ++t)
      for (const auto &use : mode(t).spends)
        spent[use.of] += use.amount;
    for (Id b = 0; b < p.budgets.size(); ++b)
      if (spent[b] > p.budgets[b].capacity)
        report(Code::BudgetOverspent, {},
               fmt::format("{} of budget '{}' are spent, which has {}", print(spent[b]), p.budgets[b].name,
                           p.budgets[b].capacity));
  }

  void pairings() {
    for (const auto &pairing : p.pairings) {
      if (pairing.allows(s.mode[pairing.a], s.mode[pairing.b]))
        continue;
      Error *error = report(Code::PairingBroken, p.tasks[pairing.a].location,
                            fmt::format("mode {} of '{}' does not go with mode {} of '{}'", modeName(pairing.a),
                                        p.nameOf(pairing.a), modeName(pairing.b), p.nameOf(pairing.b)));
      if (error)
        error->notes.push_back({p.tasks[pairing.b].location, fmt::format("'{}' is here", p.nameOf(pairing.b))});
    }
  }
  std::string modeName(Id t) const {
    return mode(t).name.empty() ? fmt::format("{}", s.mode[t]) : "'" + mode(t).name + "'";
  }

  const SchedulingProblem &p;
  const SchedulingSolution &s;
  Errors errors;
  int64_t last = 0; ///< the end of the last task
};

} // namespace

Errors verify(const SchedulingProblem &problem, const SchedulingSolution &solution) {
  if (Errors malformed = check(problem); !malformed.empty())
    return malformed;
  return Replay(problem, solution).run();
}

bool provesInfeasible(const SchedulingProblem &problem, const SchedulingBound &bound) {
  using Kind = SchedulingBound::Kind;
  return bound.kind == Kind::Budgets || bound.kind == Kind::Cycle ||
         (!problem.lags.empty() && bound.kind != Kind::Nothing && bound.value > serialLength(problem));
}

Errors verify(const SchedulingProblem &problem, const SchedulingResult &result, std::vector<std::string> *trusted) {
  Errors errors = verify(problem, result.bound, trusted);
  if (!errors.empty() && errors[0].code == Code::MalformedSchedulingProblem)
    return errors;
  auto add = [&](Code code, std::string text) { errors.push_back({code, std::move(text), {}, {}}); };
  using Status = SchedulingResult::Status;
  if (result.status == Status::Infeasible) {
    if (result.conflict.empty())
      add(Code::WrongVerdict, "no schedule exists, but no conflict says why");
    else if (trusted && !provesInfeasible(problem, result.bound))
      trusted->push_back("that no schedule exists is the answer of the solver");
    return errors;
  }
  if (result.bound.kind == SchedulingBound::Kind::Budgets)
    add(Code::WrongVerdict, "no choice of modes is said to keep the budgets, of a problem that is not infeasible");
  if (result.bound.kind == SchedulingBound::Kind::Cycle)
    add(Code::WrongVerdict, "tasks are said to start after themselves, of a problem that is not infeasible");
  if (!result.conflict.empty())
    add(Code::WrongVerdict, fmt::format("conflict '{}' of a problem that is not infeasible", result.conflict[0]));
  if (result.status == Status::Unknown)
    return errors;
  for (Error &error : Replay(problem, result.solution).run())
    errors.push_back(std::move(error));
  if (result.bound.value > result.solution.makespan)
    add(Code::BoundNotProved,
        fmt::format("the makespan is {}, but stated to be at least {}", result.solution.makespan, result.bound.value));
  return errors;
}

} // namespace accord
