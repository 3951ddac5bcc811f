#include "lib/verify/SchedulingWindows.h"
#include <algorithm>
#include <fmt/format.h>
#include <queue>

namespace accord {

using Id = SchedulingProblem::Id;

namespace {
/// Intervals of steps lie in [0, kFar].
constexpr int64_t kFar = INT64_MAX / 2;
} // namespace

SchedulingWindows::SchedulingWindows(const SchedulingFacts &facts, int64_t horizon)
    : facts(facts), earliest(facts.heads), latest(facts.heads.size()), after(facts.after),
      before(facts.before), place(facts.heads.size()), needs(facts.problem.resources.size()),
      asked(facts.problem.resources.size(), 0) {
  for (size_t i = 0; i < facts.order.size(); ++i)
    place[facts.order[i]] = i;
  for (Id t = 0; t < latest.size(); ++t) {
    latest[t] = horizon - facts.tails[t] - facts.least[t];
    contradiction |= facts.certain[t] && earliest[t] > latest[t];
  }
}

void SchedulingWindows::raise(Id task, int64_t time) {
  if (time <= earliest[task])
    return;
  earliest[task] = time;
  contradiction |= time > latest[task];
  raised.push_back(task);
}

void SchedulingWindows::lower(Id task, int64_t time) {
  if (time >= latest[task])
    return;
  latest[task] = time;
  contradiction |= time < earliest[task];
  lowered.push_back(task);
}

void SchedulingWindows::chains() {
  // Orders that pairs found may go against `place`, even around in circles; stopping is sound.
  size_t left = 16 * (place.size() + facts.problem.precedences.size() + orders);
  auto run = [&](std::vector<Id> &changed, bool forward) {
    std::priority_queue<std::pair<size_t, Id>> queue;
    auto push = [&](Id t) { queue.push({forward ? ~place[t] : place[t], t}); };
    for (Id t : changed)
      push(t);
    changed.clear();
    Id last = SchedulingProblem::kNobody;
    while (!queue.empty() && !contradiction) {
      Id t = queue.top().second;
      queue.pop();
      if (t == std::exchange(last, t)) // queued twice
        continue;
      for (const auto &edge : forward ? after[t] : before[t]) {
        if (left-- == 0)
          return;
        if (forward)
          raise(edge.task, earliest[t] + facts.least[t] + edge.delay);
        else
          lower(edge.task, latest[t] - edge.delay - facts.least[edge.task]);
        if (contradiction)
          return;
      }
      if (!changed.empty())
        last = SchedulingProblem::kNobody;
      for (Id next : changed)
        push(next);
      changed.clear();
    }
  };
  if (!contradiction)
    run(raised, true);
  if (!contradiction)
    run(lowered, false);
}

/// Whether two tasks cannot run at once, whatever their modes.
bool SchedulingWindows::apart(Id a, Id b) const {
  for (const auto *one : facts.modes[a])
    for (const auto *two : facts.modes[b]) {
      bool clash = false;
      if (one->duration > 0 && two->duration > 0)
        for (const auto &use : one->usage)
          clash |= static_cast<__int128>(use.amount) + facts.amountOf(*two, use.of) >
                   facts.problem.resources[use.of].capacity;
      if (!clash)
        return false;
    }
  return !facts.modes[a].empty() && !facts.modes[b].empty();
}

const std::vector<SchedulingWindows::Need> &SchedulingWindows::users(Id resource) {
  if (!asked[resource])
    for (Id t = 0; t < earliest.size(); ++t)
      if (facts.certain[t] && facts.least[t] > 0 && facts.workOf(t, resource) > 0) {
        int64_t amount = INT64_MAX;
        for (const auto *mode : facts.modes[t])
          amount = std::min(amount, facts.amountOf(*mode, resource));
        needs[resource].push_back({t, amount});
      }
  asked[resource] = 1;
  return needs[resource];
}

/// Time of [from, to) that a task of some duration covers at least.
int64_t SchedulingWindows::inside(Id t, int64_t duration, int64_t from, int64_t to) const {
  return std::max<int64_t>(
      0, std::min({earliest[t] + duration - from, to - latest[t], duration, to - from}));
}

std::string SchedulingWindows::pair(const SchedulingStep &s) {
  if (!facts.known(s.other) || !facts.certain[s.other] || s.task == s.other)
    return "the other task is none that always happens";
  if (!apart(s.task, s.other))
    return fmt::format("'{}' and '{}' can run at once", facts.problem.nameOf(s.task),
                       facts.problem.nameOf(s.other));
  Id first = s.early ? s.other : s.task, second = s.early ? s.task : s.other;
  if (earliest[second] + facts.least[second] <= latest[first])
    return fmt::format("'{}' fits before '{}'", facts.problem.nameOf(second),
                       facts.problem.nameOf(first));
  int64_t time =
      s.early ? earliest[first] + facts.least[first] : latest[second] - facts.least[first];
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("only {} follows", time);
  after[first].push_back({second, 0}), before[second].push_back({first, 0});
  ++orders;
  raised.push_back(first), lowered.push_back(second);
  s.early ? raise(second, time) : lower(first, time);
  return "";
}

std::string SchedulingWindows::compulsory(const SchedulingStep &s) {
  int64_t capacity = facts.problem.resources[s.other].capacity;
  std::vector<std::pair<int64_t, __int128>> changes = {{s.from, 0}, {s.to, 0}};
  __int128 all = 0, others = 0, least = -1; // what is certainly used at some time of the interval
  bool own = false;
  for (const Need &need : users(s.other)) {
    int64_t from = std::max(latest[need.task], s.from),
            to = std::min(earliest[need.task] + facts.least[need.task], s.to);
    own |= need.task == s.task;
    if (from >= to || need.task == s.task)
      continue;
    changes.push_back({from, need.amount});
    changes.push_back({to, -static_cast<__int128>(need.amount)});
  }
  std::sort(changes.begin(), changes.end());
  int64_t ownFrom = latest[s.task], ownTo = earliest[s.task] + facts.least[s.task], amount = 0;
  for (const Need &need : users(s.other))
    if (need.task == s.task)
      amount = need.amount;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    others += changes[i].second;
    if (changes[i].first == changes[i + 1].first)
      continue;
    least = least < 0 ? others : std::min(least, others);
    bool mine = ownFrom < changes[i + 1].first && changes[i].first < ownTo;
    all = std::max(all, others + (mine ? amount : 0));
  }
  if (all > capacity) {
    contradiction = true;
    return "";
  }
  if (!own)
    return fmt::format("'{}' does not need the resource", facts.problem.nameOf(s.task));
  if (least + amount <= capacity)
    return fmt::format("of {} there is room for {} beside {}", capacity, amount,
                       static_cast<int64_t>(least));
  int64_t time = s.early ? s.to : s.from - facts.least[s.task];
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("only {} follows", time);
  if (s.early ? ownTo <= s.from : latest[s.task] >= s.to)
    return s.early ? "the task may end before the interval" : "the task may start after it";
  s.early ? raise(s.task, time) : lower(s.task, time);
  return "";
}

std::string SchedulingWindows::energy(const SchedulingStep &s) {
  int64_t length = s.to - s.from;
  __int128 rest = static_cast<__int128>(facts.problem.resources[s.other].capacity) * length,
           mine = 0;
  for (const Need &need : users(s.other)) {
    __int128 least = -1;
    for (const auto *mode : facts.modes[need.task]) {
      __int128 here = static_cast<__int128>(facts.amountOf(*mode, s.other)) *
                      inside(need.task, mode->duration, s.from, s.to);
      least = least < 0 ? here : std::min(least, here);
    }
    if (need.task == s.task)
      mine = least;
    else
      rest -= least;
    if (rest < 0)
      break;
  }
  if (rest < mine) { // others alone, or with the task
    contradiction = true;
    return "";
  }
  // Starting within the window but beyond `time`, it would cover more than the rest allows.
  int64_t time = s.early ? INT64_MAX : INT64_MIN;
  for (const auto *mode : facts.modes[s.task]) {
    int64_t amount = facts.amountOf(*mode, s.other);
    int64_t most =
        amount == 0 ? INT64_MAX : static_cast<int64_t>(std::min<__int128>(rest / amount, kFar));
    int64_t covers = s.early ? earliest[s.task] + mode->duration - s.from : s.to - latest[s.task];
    if (std::min({length, covers, mode->duration}) <= most)
      return fmt::format("'{}' still fits into [{}, {})", facts.problem.nameOf(s.task), s.from,
                         s.to);
    time = s.early ? std::min(time, s.to - most) : std::max(time, s.from + most - mode->duration);
  }
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("only {} follows", time);
  s.early ? raise(s.task, time) : lower(s.task, time);
  return "";
}

std::string SchedulingWindows::take(const SchedulingStep &s) {
  using Rule = SchedulingStep::Rule;
  if (s.rule == Rule::Chain) {
    chains();
    return "";
  }
  if (!facts.known(s.task) || !facts.certain[s.task] || facts.modes[s.task].empty())
    return "the task is none that always happens";
  if (s.rule == Rule::Pair)
    return pair(s);
  if (s.other >= facts.problem.resources.size())
    return "there is no such resource";
  if (s.from < 0 || s.to <= s.from || s.to > kFar)
    return fmt::format("[{}, {}) is no interval", s.from, s.to);
  if (s.rule == Rule::Compulsory)
    return compulsory(s);
  if (s.rule == Rule::Energy)
    return energy(s);
  return "there is no such rule";
}

} // namespace accord
