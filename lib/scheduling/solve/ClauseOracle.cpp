#include "lib/scheduling/solve/ClauseOracle.h"
#include "lib/scheduling/solve/ClauseConstraints.h"
#include "lib/scheduling/solve/ClauseEnergy.h"
#include <algorithm>
#include <map>

namespace accord::solve {
namespace {

/// Places of all variables, and times of a resource.
constexpr int64_t kMaxPlaces = 4'000'000, kMaxTimes = 4'000'000;
/// Ranks of the starts of a task in its modes, after its own one.
constexpr int64_t kRankOfModes = 16;

/// Whether a mode fits into the window of its task.
bool isUsable(const Instance &in, const Propagator &windows, Id t, const SchedulingProblem::Mode &mode) {
  return in.problem.fits(mode) && windows.earliest[t] + mode.duration <= windows.latest[t] + in.minDuration[t];
}

} // namespace

bool ClauseOracle::supports(const Instance &in, const Propagator &windows) {
  if ((!in.single && !in.problem.lags.empty()) || !in.problem.buffers.empty() || !in.problem.pairings.empty())
    return false;
  int64_t places = 0, last = 0, runs = 0;
  for (Id t = 0; t < in.size(); ++t) {
    if (!in.mandatory[t] || windows.latest[t] < windows.earliest[t])
      return false;
    places += windows.latest[t] - windows.earliest[t] + 1;
    last = std::max(last, windows.latest[t] + in.minDuration[t]);
    if (!in.single)
      runs += std::ranges::count_if(in.problem.tasks[t].modes,
                                    [&](const auto &mode) { return isUsable(in, windows, t, mode); });
    if (places > kMaxPlaces || last > kMaxTimes / int64_t(in.problem.resources.size() + 1))
      return false;
  }
  return places + runs * (last + 1) <= kMaxPlaces;
}

ClauseOracle::ClauseOracle(const Instance &in, const Propagator &windows, bool energetic,
                           const std::vector<std::pair<Id, Id>> &kept)
    : in(in), runs(in.size()) {
  size_t n = variables = in.size();
  longer.resize(n);
  int64_t last = 0;
  for (Id t = 0; t < n; ++t) {
    solver.addVariable(windows.earliest[t], windows.latest[t]);
    solver.rank(t, kRankOfModes * (-in.tails[t] - in.minDuration[t]));
    last = std::max(last, windows.latest[t] + in.minDuration[t]);
  }
  std::vector<DifferenceConstraint::Difference> differences;
  if (!in.single)
    addRuns(windows, last, differences);
  auto order = [&](Id before, Id after, int64_t delay, Literal guard) {
    differences.push_back({before, after, in.minDuration[before] + delay, guard});
    if (guard == kAlways)
      for (auto [duration, holds] : longer[before])
        differences.push_back({before, after, duration + delay, holds});
  };
  for (const auto &p : in.problem.precedences)
    order(p.before, p.after, p.delay, kAlways);
  for (const auto &lag : in.problem.lags)
    differences.push_back({lag.before, lag.after, lag.lag, kAlways});
  for (const auto *list : {&windows.ordered, &kept})
    for (auto [before, after] : *list)
      order(before, after, 0, kAlways);
  firstPair = variables;
  for (auto [a, b] : windows.disjoint()) {
    uint32_t first = solver.addVariable(0, 1);
    pairs.push_back({a, b});
    ++variables;
    order(a, b, 0, solver.atLeast(first, 1));
    order(b, a, 0, solver.atMost(first, 0));
  }
  solver.addConstraint(std::make_unique<DifferenceConstraint>(std::move(differences), solver, variables));
  for (Id budget = 0; !in.single && budget < in.problem.budgets.size(); ++budget)
    addBudget(budget);
  std::vector<ClauseResource> shared = resources(/*anyMode=*/true);
  if (energetic)
    solver.addConstraint(std::make_unique<EnergyConstraint>(shared, n));
  solver.addConstraint(std::make_unique<TimetableConstraint>(std::move(shared), solver, n, last));
  if (!in.single)
    solver.addConstraint(std::make_unique<TimetableConstraint>(resources(/*anyMode=*/false), solver, firstPair, last));
}

/// A start in each usable mode of a task: its own one in the mode that is chosen, `never` in others, which is behind
/// all times. So "it runs in that mode" is a bound of that start, too.
void ClauseOracle::addRuns(const Propagator &windows, int64_t last,
                           std::vector<DifferenceConstraint::Difference> &differences) {
  never = last + 1;
  for (Id t = 0; t < in.size(); ++t) {
    const auto &modes = in.problem.tasks[t].modes;
    for (Id m = 0; m < modes.size(); ++m)
      if (isUsable(in, windows, t, modes[m]))
        runs[t].push_back(
            {m, modes[m].duration, windows.latest[t] + in.minDuration[t] - modes[m].duration, 0, kAlways});
    std::ranges::sort(runs[t], {}, [](const Run &run) { return std::pair(run.duration, run.mode); });
    int64_t rank = kRankOfModes * (-in.tails[t] - in.minDuration[t]), number = 0;
    for (Run &run : runs[t]) {
      run.variable = solver.addVariable(windows.earliest[t], never);
      run.chosen = solver.atMost(run.variable, run.latest);
      solver.rank(run.variable, rank + std::min(++number, kRankOfModes - 1));
      ++variables;
    }
  }
  for (Id t = 0; t < in.size(); ++t) {
    // By their order in durations: the mode at `place` is the chosen one.
    int64_t count = static_cast<int64_t>(runs[t].size());
    uint32_t place = solver.addVariable(0, std::max<int64_t>(0, count - 1));
    ++variables;
    if (count == 0)
      solver.addClause({});
    for (int64_t k = 0; k < count; ++k) {
      const Run &run = runs[t][k];
      differences.push_back({t, run.variable, 0, kAlways});
      differences.push_back({run.variable, t, 0, run.chosen});
      solver.addClause({run.chosen, solver.atLeast(run.variable, never)});
      solver.addClause({negate(run.chosen), solver.atLeast(place, k)});
      solver.addClause({negate(run.chosen), solver.atMost(place, k)});
      solver.addClause({run.chosen, solver.atMost(place, k - 1), solver.atLeast(place, k + 1)});
      if (run.duration > in.minDuration[t])
        longer[t].push_back({run.duration, solver.atLeast(place, k)});
    }
  }
}

void ClauseOracle::addBudget(Id budget) {
  std::vector<std::vector<BudgetConstraint::Choice>> choices;
  for (Id t = 0; t < in.size(); ++t) {
    std::vector<BudgetConstraint::Choice> one;
    bool spends = false;
    for (const Run &run : runs[t]) {
      one.push_back({in.mode(t, run.mode).consumes(budget), run.chosen});
      spends |= one.back().amount > 0;
    }
    if (spends)
      choices.push_back(std::move(one));
  }
  solver.addConstraint(std::make_unique<BudgetConstraint>(std::move(choices), in.problem.budgets[budget].capacity));
}

/// What starts use: what all modes use at least (`anyMode`), or each mode at its own start.
std::vector<ClauseResource> ClauseOracle::resources(bool anyMode) const {
  std::vector<ClauseResource> shared;
  for (Id r = 0; r < in.problem.resources.size(); ++r) {
    auto &one = shared.emplace_back(in.problem.resources[r].capacity);
    for (Id t = 0; t < in.size(); ++t) {
      int64_t amount = in.single ? in.mode(t, 0).uses(r) : INT64_MAX;
      for (const Run &run : runs[t]) {
        int64_t uses = in.mode(t, run.mode).uses(r);
        amount = std::min(amount, uses);
        if (!anyMode && uses > 0 && run.duration > 0)
          one.uses.push_back({run.variable, run.duration, uses});
      }
      if (anyMode && amount > 0 && amount != INT64_MAX && in.minDuration[t] > 0)
        one.uses.push_back({t, in.minDuration[t], amount});
    }
  }
  return shared;
}

std::optional<LearntClauses> ClauseOracle::refutation() const {
  if (!solver.isLogged() || !in.single) // the formula has no starts by mode
    return std::nullopt;
  std::optional<LearntClauses> learnt(std::in_place);
  ClauseSolver::Lemmas lemmas = solver.refutation();
  std::map<int32_t, int32_t> numbers; // by place
  size_t begin = 0;
  for (uint32_t end : lemmas.ends) {
    for (; begin < end; ++begin) {
      Literal literal = lemmas.literals[begin];
      uint32_t variable = solver.variableOf(literal);
      bool isOrder = variable >= in.size();
      auto [at, isNew] = numbers.try_emplace(literal >> 1, static_cast<int32_t>(numbers.size() + 1));
      if (isNew && isOrder)
        learnt->facts.push_back({pairs[variable - in.size()].first, pairs[variable - in.size()].second, 0});
      else if (isNew)
        learnt->facts.push_back({variable, SchedulingProblem::kNoTask, solver.valueAt(variable, literal >> 1)});
      bool holds = ((literal & 1) == 0) != isOrder; // an order is the value 1
      learnt->literals.push_back(holds ? at->second : -at->second);
    }
    learnt->literals.push_back(0);
  }
  for (int64_t reason : lemmas.reasons)
    learnt->overloads.push_back(EnergyConstraint::overloadOf(reason));
  learnt->lastUse = std::move(lemmas.lastUse);
  return learnt;
}

void ClauseOracle::suggest(const SchedulingSolution &known) {
  for (Id t = 0; t < in.size(); ++t) {
    solver.suggest(t, known.start[t]);
    for (const Run &run : runs[t])
      solver.suggest(run.variable, run.mode == known.mode[t] ? known.start[t] : never);
  }
}

ClauseOracle::Answer ClauseOracle::ask(int64_t makespan, uint64_t limit, SchedulingSolution &found,
                                       const std::atomic<bool> *stop) {
  for (Id t = 0; t < in.size(); ++t) {
    solver.require(solver.atMost(t, makespan - in.tails[t] - in.minDuration[t]));
    for (const Run &run : runs[t])
      if (int64_t latest = makespan - in.tails[t] - run.duration; latest < run.latest)
        solver.addClause({solver.atMost(run.variable, latest), solver.atLeast(run.variable, never)});
  }
  Answer answer = solver.solve(limit, stop);
  if (answer != Answer::Yes)
    return answer;
  found.start.assign(in.size(), 0), found.mode.assign(in.size(), 0), found.makespan = 0;
  for (Id t = 0; t < in.size(); ++t) {
    found.start[t] = solver.solution(t);
    for (const Run &run : runs[t])
      if (solver.solution(run.variable) < never)
        found.mode[t] = run.mode;
    found.makespan = std::max(found.makespan, found.start[t] + in.mode(t, found.mode[t]).duration);
  }
  suggest(found);
  return answer;
}

} // namespace accord::solve
