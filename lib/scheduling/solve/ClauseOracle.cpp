#include "lib/scheduling/solve/ClauseOracle.h"
#include "lib/scheduling/solve/ClauseConstraints.h"
#include "lib/scheduling/solve/ClauseEnergy.h"
#include <algorithm>
#include <map>

namespace accord::solve {
namespace {

/// Places of all variables, and times of a resource.
constexpr int64_t kMaxPlaces = 4'000'000, kMaxTimes = 4'000'000;

} // namespace

bool ClauseOracle::supports(const Instance &in, const Propagator &windows) {
  if (!in.single || !in.problem.buffers.empty() || !in.problem.pairings.empty())
    return false;
  int64_t places = 0, last = 0;
  for (Id t = 0; t < in.size(); ++t) {
    if (!in.mandatory[t] || windows.latest[t] < windows.earliest[t])
      return false;
    places += windows.latest[t] - windows.earliest[t] + 1;
    last = std::max(last, windows.latest[t] + in.minDuration[t]);
    if (places > kMaxPlaces || last > kMaxTimes / int64_t(in.problem.resources.size() + 1))
      return false;
  }
  return true;
}

ClauseOracle::ClauseOracle(const Instance &in, const Propagator &windows, bool energetic,
                           const std::vector<std::pair<Id, Id>> &kept)
    : in(in) {
  size_t n = in.size();
  for (Id t = 0; t < n; ++t) {
    solver.addVariable(windows.earliest[t], windows.latest[t]);
    solver.rank(t, -in.tails[t] - in.minDuration[t]);
  }
  std::vector<DifferenceConstraint::Difference> differences;
  auto order = [&](Id before, Id after, int64_t delay, Literal guard) {
    differences.push_back({before, after, in.minDuration[before] + delay, guard});
  };
  for (const auto &p : in.problem.precedences)
    order(p.before, p.after, p.delay, kAlways);
  for (const auto &lag : in.problem.lags)
    differences.push_back({lag.before, lag.after, lag.lag, kAlways});
  for (const auto *list : {&windows.ordered, &kept})
    for (auto [before, after] : *list)
      order(before, after, 0, kAlways);
  size_t variables = n;
  for (auto [a, b] : windows.disjoint()) {
    uint32_t first = solver.addVariable(0, 1);
    pairs.push_back({a, b});
    ++variables;
    order(a, b, 0, solver.atLeast(first, 1));
    order(b, a, 0, solver.atMost(first, 0));
  }
  solver.addConstraint(std::make_unique<DifferenceConstraint>(std::move(differences), solver, variables));
  std::vector<ClauseResource> shared;
  for (Id r = 0; r < in.problem.resources.size(); ++r) {
    auto &one = shared.emplace_back(in.problem.resources[r].capacity);
    for (Id t = 0; t < n; ++t)
      if (int64_t amount = in.mode(t, 0).uses(r); amount > 0 && in.minDuration[t] > 0)
        one.uses.push_back({t, in.minDuration[t], amount});
  }
  int64_t last = 0;
  for (Id t = 0; t < n; ++t)
    last = std::max(last, windows.latest[t] + in.minDuration[t]);
  if (energetic)
    solver.addConstraint(std::make_unique<EnergyConstraint>(shared, n));
  solver.addConstraint(std::make_unique<TimetableConstraint>(std::move(shared), solver, n, last));
}

std::optional<LearntClauses> ClauseOracle::refutation() const {
  if (!solver.isLogged())
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
  for (Id t = 0; t < in.size(); ++t)
    solver.suggest(t, known.start[t]);
}

ClauseOracle::Answer ClauseOracle::ask(int64_t makespan, uint64_t limit, SchedulingSolution &found,
                                       const std::atomic<bool> *stop) {
  for (Id t = 0; t < in.size(); ++t)
    solver.require(solver.atMost(t, makespan - in.tails[t] - in.minDuration[t]));
  Answer answer = solver.solve(limit, stop);
  if (answer != Answer::Yes)
    return answer;
  found.start.assign(in.size(), 0), found.mode.assign(in.size(), 0), found.makespan = 0;
  for (Id t = 0; t < in.size(); ++t) {
    found.start[t] = solver.solution(t);
    found.makespan = std::max(found.makespan, found.start[t] + in.minDuration[t]);
  }
  suggest(found);
  return answer;
}

} // namespace accord::solve
