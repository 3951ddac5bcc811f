#include "lib/scheduling/verify/SchedulingWindows.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <queue>
#include <utility>

namespace accord {

SchedulingFacts::SchedulingFacts(const SchedulingProblem &problem)
    : problem(problem), mandatory(problem.tasks.size(), 1), minDuration(problem.tasks.size(), 0),
      modes(problem.tasks.size()), after(problem.tasks.size()), before(problem.tasks.size()),
      lagsAfter(problem.tasks.size()), lagsBefore(problem.tasks.size()), heads(problem.tasks.size(), 0),
      tails(problem.tasks.size(), 0) {
  size_t n = problem.tasks.size();
  for (Id t = 0; t < n; ++t) {
    for (const auto &mode : problem.tasks[t].modes) {
      mandatory[t] &= !mode.absent;
      bool fits = true;
      for (const auto &use : mode.usage)
        fits &= use.amount <= problem.resources[use.of].capacity;
      for (const auto &use : mode.spends)
        fits &= use.amount <= problem.budgets[use.of].capacity;
      if (fits)
        modes[t].push_back(&mode);
    }
    if (!modes[t].empty()) {
      minDuration[t] = INT64_MAX;
      for (const auto *mode : modes[t])
        minDuration[t] = std::min(minDuration[t], mode->duration);
    }
  }
  std::vector<size_t> waiting(n);
  for (const auto &edge : problem.precedences)
    if (mandatory[edge.before] && mandatory[edge.after]) {
      after[edge.before].push_back({edge.after, edge.delay});
      before[edge.after].push_back({edge.before, edge.delay});
      ++waiting[edge.after];
    }
  for (Id t = 0; t < n; ++t)
    if (waiting[t] == 0)
      order.push_back(t);
  for (size_t i = 0; i < order.size(); ++i)
    for (const Edge &edge : after[order[i]]) {
      heads[edge.task] = std::max(heads[edge.task], heads[order[i]] + minDuration[order[i]] + edge.delay);
      if (--waiting[edge.task] == 0)
        order.push_back(edge.task);
    }
  for (size_t i = order.size(); i-- > 0;)
    for (const Edge &edge : before[order[i]])
      tails[edge.task] = std::max(tails[edge.task], tails[order[i]] + minDuration[order[i]] + edge.delay);
  for (const auto &lag : problem.lags)
    if (mandatory[lag.before] && mandatory[lag.after]) {
      lagsAfter[lag.before].push_back({lag.after, lag.lag - minDuration[lag.before]});
      lagsBefore[lag.after].push_back({lag.before, lag.lag - minDuration[lag.before]});
    }
  lengthenByLags();
}

/// Rounds over all edges until nothing changes (Bellman, Ford), or as many as there are tasks: more of them change
/// something only on a circle.
void SchedulingFacts::lengthenByLags() {
  size_t n = problem.tasks.size();
  bool changed = !problem.lags.empty();
  auto lengthen = [&](int64_t &chain, int64_t to) {
    changed |= to > chain;
    chain = std::max(chain, to);
  };
  for (size_t round = 0; changed && round < n; ++round) {
    changed = false;
    for (Id t : order) {
      for (const auto *edges : {&after[t], &lagsAfter[t]})
        for (const Edge &edge : *edges)
          lengthen(heads[edge.task], heads[t] + minDuration[t] + edge.delay);
    }
    for (size_t i = order.size(); i-- > 0;) {
      Id t = order[i];
      for (const auto *edges : {&after[t], &lagsAfter[t]})
        for (const Edge &edge : *edges)
          lengthen(tails[t], tails[edge.task] + minDuration[edge.task] + edge.delay);
    }
  }
}

__int128 SchedulingFacts::workOf(Id task, Id resource) const {
  __int128 work = -1;
  for (const auto *mode : modes[task]) {
    __int128 here = __int128{mode->duration} * mode->uses(resource);
    work = work < 0 ? here : std::min(work, here);
  }
  return std::max<__int128>(work, 0);
}

using Id = SchedulingProblem::Id;

namespace {
/// Intervals of steps lie in [0, kFar].
constexpr int64_t kFar = INT64_MAX / 2;
/// Looks at an edge, each time chains are followed around circles of time lags.
constexpr size_t kMaxLagSteps = 50'000'000;
} // namespace

SchedulingWindows::SchedulingWindows(const SchedulingFacts &facts, int64_t horizon)
    : earliest(facts.heads), latest(facts.heads.size()), facts(facts), horizon(horizon), after(facts.after),
      before(facts.before), place(facts.heads.size()), needs(facts.problem.resources.size()),
      isCollected(facts.problem.resources.size(), 0), excluded(facts.problem.resources.size()) {
  for (Id t = 0; t < after.size(); ++t) {
    after[t].insert(after[t].end(), facts.lagsAfter[t].begin(), facts.lagsAfter[t].end());
    before[t].insert(before[t].end(), facts.lagsBefore[t].begin(), facts.lagsBefore[t].end());
  }
  for (size_t i = 0; i < facts.order.size(); ++i)
    place[facts.order[i]] = i;
  for (Id t = 0; t < latest.size(); ++t) {
    latest[t] = horizon - facts.tails[t] - facts.minDuration[t];
    contradiction |= facts.mandatory[t] && earliest[t] > latest[t];
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
  size_t left = 16 * (place.size() + facts.problem.precedences.size() + ordered.size());
  if (size_t lags = facts.problem.lags.size(); lags > 0)
    left = kMaxLagSteps;
  auto run = [&](std::vector<Id> &changed, bool forward) {
    std::priority_queue<std::pair<size_t, Id>> queue;
    auto push = [&](Id t) { queue.push({forward ? ~place[t] : place[t], t}); };
    for (Id t : changed)
      push(t);
    changed.clear();
    Id last = SchedulingProblem::kNoTask;
    while (!queue.empty() && !contradiction) {
      Id t = queue.top().second;
      queue.pop();
      if (t == std::exchange(last, t)) // queued twice
        continue;
      for (const auto &edge : forward ? after[t] : before[t]) {
        if (left-- == 0)
          return;
        if (forward)
          raise(edge.task, earliest[t] + facts.minDuration[t] + edge.delay);
        else
          lower(edge.task, latest[t] - edge.delay - facts.minDuration[edge.task]);
        if (contradiction)
          return;
      }
      if (!changed.empty())
        last = SchedulingProblem::kNoTask;
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

/// Whether two tasks cannot run at once, whatever modes their windows have room for.
bool SchedulingWindows::isDisjunctive(Id a, Id b) const {
  for (const auto *one : facts.modes[a])
    for (const auto *two : facts.modes[b]) {
      bool clash = !inWindow(a, *one) || !inWindow(b, *two);
      if (one->duration > 0 && two->duration > 0)
        for (const auto &use : one->usage)
          clash |= __int128{use.amount} + two->uses(use.of) > facts.problem.resources[use.of].capacity;
      if (!clash)
        return false;
    }
  return !facts.modes[a].empty() && !facts.modes[b].empty();
}

const std::vector<SchedulingWindows::Need> &SchedulingWindows::users(Id resource) {
  if (!isCollected[resource])
    for (Id t = 0; t < earliest.size(); ++t)
      if (facts.mandatory[t] && facts.minDuration[t] > 0) {
        int64_t amount = INT64_MAX, max = 0;
        for (const auto *mode : facts.modes[t]) {
          amount = std::min(amount, mode->uses(resource));
          max = std::max(max, mode->uses(resource));
        }
        if (max > 0)
          needs[resource].push_back({t, amount});
      }
  isCollected[resource] = 1;
  return needs[resource];
}

bool SchedulingWindows::inWindow(Id t, const SchedulingProblem::Mode &mode) const {
  return earliest[t] + mode.duration <= latest[t] + facts.minDuration[t];
}

/// Time of [from, to) that a task of some duration covers at least.
int64_t SchedulingWindows::inside(Id t, int64_t duration, int64_t from, int64_t to) const {
  int64_t lastStart = latest[t] + facts.minDuration[t] - duration;
  return std::max<int64_t>(0, std::min({earliest[t] + duration - from, to - lastStart, duration, to - from}));
}

std::string SchedulingWindows::pair(const ProofStep &s) {
  if (!facts.known(s.other))
    return fmt::format("it names task {} of {}", s.other, facts.mandatory.size());
  if (!facts.mandatory[s.other] || s.task == s.other)
    return "the other task is none that always happens";
  if (!isDisjunctive(s.task, s.other))
    return fmt::format("'{}' and '{}' can run at once", facts.problem.nameOf(s.task), facts.problem.nameOf(s.other));
  Id first = s.early ? s.other : s.task, second = s.early ? s.task : s.other;
  if (earliest[second] + facts.minDuration[second] <= latest[first])
    return fmt::format("'{}' fits before '{}'", facts.problem.nameOf(second), facts.problem.nameOf(first));
  int64_t time = s.early ? earliest[first] + facts.minDuration[first] : latest[second] - facts.minDuration[first];
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("only {} follows", time);
  after[first].push_back({second, 0}), before[second].push_back({first, 0});
  ordered.push_back({first, second});
  raised.push_back(first), lowered.push_back(second);
  s.early ? raise(second, time) : lower(first, time);
  return "";
}

std::string SchedulingWindows::compulsory(const ProofStep &s) {
  int64_t capacity = facts.problem.resources[s.other].capacity;
  std::vector<std::pair<int64_t, __int128>> changes = {{s.from, 0}, {s.to, 0}};
  __int128 all = 0, others = 0, minUsed = -1; // what is certainly used at some time of the interval
  bool own = false;
  for (const Need &need : users(s.other)) {
    int64_t from = std::max(latest[need.task], s.from),
            to = std::min(earliest[need.task] + facts.minDuration[need.task], s.to);
    own |= need.task == s.task;
    if (from >= to || need.task == s.task)
      continue;
    changes.push_back({from, need.amount});
    changes.push_back({to, -__int128{need.amount}});
  }
  std::sort(changes.begin(), changes.end());
  int64_t ownFrom = latest[s.task], ownTo = earliest[s.task] + facts.minDuration[s.task], amount = 0;
  for (const Need &need : users(s.other))
    if (need.task == s.task)
      amount = need.amount;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    others += changes[i].second;
    if (changes[i].first == changes[i + 1].first)
      continue;
    minUsed = minUsed < 0 ? others : std::min(minUsed, others);
    bool mine = ownFrom < changes[i + 1].first && changes[i].first < ownTo;
    all = std::max(all, others + (mine ? amount : 0));
  }
  if (all > capacity) {
    contradiction = true;
    return "";
  }
  if (!own)
    return fmt::format("'{}' does not need the resource", facts.problem.nameOf(s.task));
  if (minUsed + amount <= capacity)
    return fmt::format("of {} there is room for {} beside {}", capacity, amount, static_cast<int64_t>(minUsed));
  int64_t time = s.early ? s.to : s.from - facts.minDuration[s.task];
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("only {} follows", time);
  if (s.early ? ownTo <= s.from : latest[s.task] >= s.to)
    return s.early ? "the task may end before the interval" : "the task may start after it";
  s.early ? raise(s.task, time) : lower(s.task, time);
  return "";
}

/// By precedences, directly or not.
const std::vector<char> &SchedulingWindows::following(Id task) {
  auto [known, fresh] = followers.try_emplace(task);
  if (!fresh)
    return known->second;
  known->second.resize(place.size());
  for (std::vector<Id> open = {task}; !open.empty();) {
    Id t = open.back();
    open.pop_back();
    for (const auto &edge : facts.after[t])
      if (!std::exchange(known->second[edge.task], char{1}))
        open.push_back(edge.task);
  }
  return known->second;
}

std::string SchedulingWindows::beside(const std::vector<Id> &tasks, Id resource) {
  if (tasks == excluded[resource]) // windows only become narrower
    return "";
  std::vector<Id> others;
  for (const Need &need : users(resource))
    others.push_back(need.task);
  for (Id t : tasks) {
    if (!facts.known(t) || !facts.mandatory[t] || facts.modes[t].empty())
      return "a task beside it is none that always happens";
    for (Id other : others)
      if (t == other || (!following(t)[other] && !following(other)[t] && !isDisjunctive(t, other)))
        return fmt::format("'{}' and '{}' can run at once", facts.problem.nameOf(t), facts.problem.nameOf(other));
    others.push_back(t);
  }
  excluded[resource] = tasks;
  return "";
}

std::string SchedulingWindows::energy(const ProofStep &s) {
  int64_t length = s.to - s.from;
  int64_t capacity = facts.problem.resources[s.other].capacity;
  __int128 rest = __int128{capacity} * length, mine = 0;
  if (std::string error = beside(s.tasks, s.other); !error.empty())
    return error;
  auto amountOf = [&](Id t, const SchedulingProblem::Mode &mode) {
    return llvm::is_contained(s.tasks, t) ? capacity : mode.uses(s.other);
  };
  std::vector<Id> sharing = s.tasks;
  for (const Need &need : users(s.other))
    sharing.push_back(need.task);
  for (Id t : sharing) {
    __int128 minUsed = -1;
    for (const auto *mode : facts.modes[t]) {
      if (!inWindow(t, *mode))
        continue;
      __int128 here = __int128{amountOf(t, *mode)} * inside(t, mode->duration, s.from, s.to);
      minUsed = minUsed < 0 ? here : std::min(minUsed, here);
    }
    if (minUsed < 0) { // no mode is left
      contradiction = true;
      return "";
    }
    if (t == s.task)
      mine = minUsed;
    else
      rest -= minUsed;
    if (rest < 0)
      break;
  }
  if (rest < mine) { // others alone, or with the task
    contradiction = true;
    return "";
  }
  // In each mode that is left: starting (ending) earlier (later) it would cover more than the rest
  // allows, or its window says as much.
  int64_t end = latest[s.task] + facts.minDuration[s.task];
  int64_t time = s.early ? INT64_MAX : INT64_MIN;
  for (const auto *mode : facts.modes[s.task]) {
    if (!inWindow(s.task, *mode))
      continue;
    int64_t amount = amountOf(s.task, *mode);
    int64_t max = amount == 0 ? kFar : static_cast<int64_t>(std::min<__int128>(rest / amount, kFar));
    int64_t covers = s.early ? std::min(mode->duration, earliest[s.task] + mode->duration - s.from)
                             : std::min(mode->duration, s.to - (end - mode->duration));
    bool tooMuch = std::min(length, covers) > max;
    if (s.early)
      time = std::min(time, tooMuch ? s.to - max : earliest[s.task]);
    else
      time = std::max(time, (tooMuch ? s.from + max : end) - facts.minDuration[s.task]);
  }
  if (s.early ? s.time > time : s.time < time)
    return fmt::format("'{}' still fits into [{}, {})", facts.problem.nameOf(s.task), s.from, s.to);
  s.early ? raise(s.task, s.time) : lower(s.task, s.time);
  return "";
}

/// Follows the chains up to a task. Sets come in the order of the chains, so each is followed once.
void SchedulingWindows::sweep(Id task, bool early) {
  if (early)
    for (; sweptOn < place[task]; ++sweptOn) {
      Id t = facts.order[sweptOn];
      for (const auto &edge : after[t])
        raise(edge.task, earliest[t] + facts.minDuration[t] + edge.delay);
    }
  else
    for (; sweptBack < place.size() - 1 - place[task]; ++sweptBack) {
      Id t = facts.order[place.size() - 1 - sweptBack];
      for (const auto &edge : before[t])
        lower(edge.task, latest[t] - edge.delay - facts.minDuration[edge.task]);
    }
}

/// Longest chains from the ends of the named tasks to the start of `task` (or back), found by going
/// back from it only as far as the farthest of them in topological order.
std::string SchedulingWindows::set(const ProofStep &s) {
  int64_t capacity = facts.problem.resources[s.other].capacity;
  if (s.tasks.empty() || capacity <= 0)
    return "the set is empty";
  sweep(s.task, s.early);
  size_t farthest = place[s.task];
  for (Id t : s.tasks) {
    if (!facts.known(t) || !facts.mandatory[t] || t == s.task)
      return "a task of the set is none that always happens";
    farthest = s.early ? std::min(farthest, place[t]) : std::max(farthest, place[t]);
  }
  std::map<size_t, int64_t> chain; // by place, of those that reach the task
  auto reach = [&](Id from, int64_t length) {
    for (const auto &edge : s.early ? facts.before[from] : facts.after[from])
      if (s.early ? place[edge.task] >= farthest : place[edge.task] <= farthest) {
        int64_t &longest = chain[place[edge.task]];
        longest = std::max(longest, length + edge.delay);
      }
  };
  reach(s.task, 0);
  auto step = [&](size_t at, int64_t length) {
    Id t = facts.order[at];
    reach(t, length + facts.minDuration[t]);
  };
  if (s.early)
    for (auto it = chain.rbegin(); it != chain.rend(); ++it)
      step(it->first, it->second);
  else
    for (auto it = chain.begin(); it != chain.end(); ++it)
      step(it->first, it->second);
  __int128 work = 0;
  int64_t head = INT64_MAX, tail = INT64_MAX;
  std::vector<Id> sorted = s.tasks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return "a task is in the set twice";
  for (Id t : sorted) {
    auto at = chain.find(place[t]);
    if (at == chain.end())
      return fmt::format("'{}' {} '{}'", facts.problem.nameOf(t), s.early ? "does not precede" : "does not follow",
                         facts.problem.nameOf(s.task));
    work += facts.workOf(t, s.other);
    head = std::min(head, s.early ? earliest[t] : horizon - latest[t] - facts.minDuration[t]);
    tail = std::min(tail, at->second);
  }
  __int128 time = head + (work + capacity - 1) / capacity + tail;
  if (s.time > time)
    return fmt::format("only {} follows", static_cast<int64_t>(std::min<__int128>(time, kFar)));
  s.early ? raise(s.task, s.time) : lower(s.task, horizon - s.time - facts.minDuration[s.task]);
  return "";
}

std::string SchedulingWindows::take(const ProofStep &s) {
  using Rule = ProofStep::Rule;
  if (s.rule == Rule::Chain) {
    chains();
    return "";
  }
  if (!facts.known(s.task))
    return fmt::format("it names task {} of {}", s.task, facts.mandatory.size());
  if (!facts.mandatory[s.task] || facts.modes[s.task].empty())
    return "the task is none that always happens";
  if (s.rule == Rule::Pair)
    return pair(s);
  if (s.rule == Rule::Set && s.other < facts.problem.resources.size())
    return set(s);
  if (s.other >= facts.problem.resources.size())
    return fmt::format("it names resource {} of {}", s.other, facts.problem.resources.size());
  if (s.from < 0 || s.to <= s.from || s.to > kFar)
    return fmt::format("[{}, {}) is no interval", s.from, s.to);
  if (s.rule == Rule::Compulsory)
    return compulsory(s);
  if (s.rule == Rule::Energy)
    return energy(s);
  return "there is no such rule";
}

} // namespace accord
