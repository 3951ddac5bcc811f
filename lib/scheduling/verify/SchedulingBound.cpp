// Bounds of a scheduling problem proved again by arithmetic.
#include "lib/scheduling/verify/Scheduling.h"
#include "lib/scheduling/verify/SchedulingWindows.h"
#include "lib/scheduling/verify/SubsetProof.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace accord {
namespace {

constexpr size_t kMaxAmounts = 1'000'000, kMaxSums = 20'000'000; ///< at a time, and in all

/// What is spent of all budgets but the last, and the least of the last one beside it.
using Spent = std::map<std::vector<int64_t>, int64_t>;

/// What a mode takes of a budget.
int64_t amountOf(const SchedulingProblem::Mode &mode, size_t budget) {
  int64_t sum = 0;
  for (const auto &use : mode.spends)
    sum += use.of == budget ? use.amount : 0;
  return sum;
}

/// Whether `spent` and what `mode` takes stay within all budgets; then it goes into `into`.
bool add(const SchedulingProblem &problem, const std::pair<const std::vector<int64_t>, int64_t> &spent,
         const SchedulingProblem::Mode &mode, Spent &into) {
  std::vector<int64_t> all = spent.first;
  size_t last = all.size();
  for (size_t b = 0; b < last; ++b)
    if ((all[b] += amountOf(mode, b)) > problem.budgets[b].capacity)
      return false;
  int64_t rest = spent.second + amountOf(mode, last);
  if (rest > problem.budgets[last].capacity)
    return false;
  auto [at, isNew] = into.try_emplace(std::move(all), rest);
  at->second = std::min(at->second, rest);
  return true;
}

} // namespace

bool budgetsAdmitNothing(const SchedulingProblem &problem) {
  if (problem.budgets.empty())
    return false;
  Spent spent{{std::vector<int64_t>(problem.budgets.size() - 1), 0}};
  size_t sums = 0;
  for (const auto &task : problem.tasks) {
    Spent next;
    for (const auto &mode : task.modes)
      if (problem.fits(mode))
        for (const auto &one : spent)
          add(problem, one, mode, next);
    if (next.size() > kMaxAmounts || (sums += spent.size() * task.modes.size()) > kMaxSums)
      return false;
    spent = std::move(next);
    if (spent.empty())
      return true;
  }
  return false;
}

namespace {

using Id = SchedulingProblem::Id;

/// Beyond it windows could overflow; what `check` passes has schedules of at most half of it, or
/// none.
constexpr int64_t kMaxValue = INT64_MAX / 2;

class SchedulingBoundProof {
public:
  SchedulingBoundProof(const SchedulingProblem &problem, const SchedulingBound &bound)
      : p(problem), b(bound), facts(problem) {}

  Errors run(std::vector<std::string> *trusted) {
    using Kind = SchedulingBound::Kind;
    if (b.value <= 0)
      return {}; // as every schedule is
    if (b.value > kMaxValue)
      return report("it is beyond every schedule");
    switch (b.kind) {
    case Kind::Nothing:
      return report("nothing proves it");
    case Kind::Path:
      return path();
    case Kind::Set:
      return set();
    case Kind::Windows:
      return windows();
    case Kind::Solver: {
      auto windowsOrError = solver();
      if (!windowsOrError)
        return {windowsOrError.error()};
      if (trusted)
        trusted->push_back(fmt::format("that no schedule of at most {} exists is the answer of a solver{}", b.value - 1,
                                       b.proof.empty() ? "" : " (" + b.proof + ")"));
      return {};
    }
    case Kind::Budgets:
      return budgetsAdmitNothing(p) ? Errors() : report("some choice of modes may keep the budgets");
    case Kind::Subsets:
      return subsets();
    case Kind::Cycle:
      return cycle();
    }
    return report("its kind is unknown");
  }

  Result<StartWindows> solver() {
    if (b.value <= 0 || b.value > kMaxValue)
      return report("it is beyond every schedule")[0];
    if (b.unit < 1)
      return report(fmt::format("the solver counted in units of {}", b.unit))[0];
    SchedulingWindows windows(facts, b.value - 1);
    if (auto issues = take(windows); !issues.empty())
      return issues[0];
    windows.chains();
    return StartWindows{windows.earliest, windows.latest, windows.ordered};
  }

private:
  Errors report(const std::string &error, Id task = SchedulingProblem::kNoTask) {
    SourceLocation at = facts.known(task) ? p.tasks[task].location : SourceLocation{};
    return {{Code::BoundNotProved,
             fmt::format("no schedule is stated to be shorter than {}, but {}", b.value, error),
             at,
             {}}};
  }
  /// Each listed task happens in every schedule and is listed once; else why not.
  Errors members() {
    std::vector<char> seen(p.tasks.size());
    for (Id t : b.tasks) {
      if (!facts.known(t))
        return report(fmt::format("its proof names task {} of {}", t, p.tasks.size()));
      if (!facts.mandatory[t])
        return report(fmt::format("task '{}' of its proof may not happen", p.nameOf(t)), t);
      if (seen[t]++)
        return report(fmt::format("its proof counts task '{}' twice", p.nameOf(t)), t);
    }
    return {};
  }
  Errors compare(__int128 proved, const char *what) {
    if (proved >= b.value)
      return {};
    return report(fmt::format("{} proves {}", what, static_cast<int64_t>(proved)));
  }

  Errors path() {
    if (auto issues = members(); !issues.empty())
      return issues;
    std::vector<Id> next(p.tasks.size(), SchedulingProblem::kNoTask);
    std::vector<int64_t> delay(p.tasks.size(), -1);
    for (size_t i = 0; i + 1 < b.tasks.size(); ++i)
      next[b.tasks[i]] = b.tasks[i + 1];
    for (const auto &edge : p.precedences)
      if (next[edge.before] == edge.after)
        delay[edge.before] = std::max(delay[edge.before], edge.delay);
    __int128 length = 0;
    for (Id t : b.tasks) {
      length += facts.minDuration[t];
      if (next[t] == SchedulingProblem::kNoTask)
        continue;
      if (delay[t] < 0)
        return report(
            fmt::format("its proof lets '{}' follow '{}', which no precedence says", p.nameOf(next[t]), p.nameOf(t)),
            next[t]);
      length += delay[t];
    }
    return compare(length, "the path");
  }

  /// The longest that one task starts after another, by what is stated of the two; nothing if that is nothing.
  std::optional<int64_t> startAfter(Id before, Id after) const {
    std::optional<int64_t> longest;
    auto consider = [&](int64_t lag) { longest = std::max(longest.value_or(lag), lag); };
    for (const auto &edge : p.precedences)
      if (edge.before == before && edge.after == after)
        consider(facts.minDuration[before] + edge.delay);
    for (const auto &lag : p.lags)
      if (lag.before == before && lag.after == after)
        consider(lag.lag);
    return longest;
  }

  Errors cycle() {
    if (auto issues = members(); !issues.empty())
      return issues;
    if (b.tasks.size() < 2)
      return report("its cycle has no tasks");
    __int128 length = 0;
    for (size_t i = 0; i < b.tasks.size(); ++i) {
      Id from = b.tasks[i], to = b.tasks[(i + 1) % b.tasks.size()];
      auto lag = startAfter(from, to);
      if (!lag)
        return report(
            fmt::format("its cycle goes from '{}' to '{}', which no time lag says", p.nameOf(from), p.nameOf(to)), to);
      length += *lag;
    }
    return length > 0 ? Errors() : report("tasks on its cycle need not start after themselves");
  }

  Errors set() {
    if (auto issues = members(); !issues.empty())
      return issues;
    if (b.resource >= p.resources.size())
      return report(fmt::format("its proof names resource {} of {}", b.resource, p.resources.size()));
    if (b.tasks.empty())
      return report("its set is empty");
    __int128 work = 0;
    int64_t head = INT64_MAX, tail = INT64_MAX, capacity = p.resources[b.resource].capacity;
    for (Id t : b.tasks) {
      __int128 here = facts.workOf(t, b.resource);
      if (here == 0)
        return report(
            fmt::format("task '{}' of its set can do without '{}'", p.nameOf(t), p.resources[b.resource].name), t);
      // Rounded, so that no number of them overflows; far beyond `kMost`.
      work = std::min<__int128>(work + here, static_cast<__int128>(INT64_MAX) << 62);
      head = std::min(head, facts.heads[t]), tail = std::min(tail, facts.tails[t]);
    }
    // Work needs a mode that fits, so there is capacity.
    __int128 length = (work + capacity - 1) / capacity;
    return compare(length + head + tail, "the set");
  }

  /// Each task once; those that precede one another are apart.
  Errors subsets() {
    if (auto issues = members(); !issues.empty())
      return issues;
    if (b.weights.size() != b.tasks.size())
      return report(fmt::format("its proof has {} weights for {} tasks", b.weights.size(), b.tasks.size()));
    ConcurrentWork work;
    SubsetWeights weights{std::vector<int64_t>(p.tasks.size()), b.unit, 0};
    for (const auto &resource : p.resources)
      work.capacities.push_back(resource.capacity);
    for (const auto &task : p.tasks)
      work.tasks.push_back({&task.modes, 1});
    for (size_t i = 0; i < b.tasks.size(); ++i)
      weights.weights[b.tasks[i]] = b.weights[i];
    std::map<Id, std::vector<char>> later;
    auto precedes = [&](Id first, Id second) {
      auto [known, isNew] = later.try_emplace(first, p.tasks.size());
      for (std::vector<Id> open{first}; isNew && !open.empty();) {
        Id at = open.back();
        open.pop_back();
        for (const auto &edge : facts.after[at])
          if (!std::exchange(known->second[edge.task], char{1}))
            open.push_back(edge.task);
      }
      return known->second[second] != 0;
    };
    auto proved = provedBySubsets(
        work, weights, [&](Id one, Id two) { return one == two || precedes(one, two) || precedes(two, one); },
        [&](Id task) { return p.nameOf(task); });
    return proved ? compare(*proved, "the sum of weights") : report(proved.error());
  }

  Errors take(SchedulingWindows &windows) {
    for (size_t i = 0; i < b.steps.size() && !windows.closed(); ++i)
      if (std::string error = windows.take(b.steps[i]); !error.empty())
        return report(fmt::format("step {} of its proof does not follow: {}", i + 1, error), b.steps[i].task);
    return {};
  }

  Errors windows() {
    SchedulingWindows windows(facts, b.value - 1);
    if (auto issues = take(windows); !issues.empty())
      return issues;
    windows.chains();
    return windows.closed() ? Errors{} : report("the steps of its proof lead to no contradiction");
  }

  const SchedulingProblem &p;
  const SchedulingBound &b;
  SchedulingFacts facts;
};

} // namespace

Errors verify(const SchedulingProblem &problem, const SchedulingBound &bound, std::vector<std::string> *trusted) {
  if (Errors malformed = check(problem); !malformed.empty())
    return malformed;
  return SchedulingBoundProof(problem, bound).run(trusted);
}

Result<StartWindows> solverWindows(const SchedulingProblem &problem, const SchedulingBound &bound) {
  return SchedulingBoundProof(problem, bound).solver();
}

} // namespace accord
