#include "lib/scheduling/solve/ClauseConstraints.h"
#include <algorithm>

namespace accord::solve {

DifferenceConstraint::DifferenceConstraint(std::vector<Difference> list, const ClauseSolver &solver, size_t variables)
    : differences(std::move(list)), of(2 * variables), isQueued(2 * variables, 0) {
  for (uint32_t number = 0; number < differences.size(); ++number) {
    const Difference &one = differences[number];
    of[size_t{2} * one.before].push_back(number);
    of[size_t{2} * one.after + 1].push_back(number);
    if (one.guard >= 0) // it becomes true with the lower bound of its variable, or with the upper one
      of[size_t{2} * solver.variableOf(one.guard) + (one.guard & 1 ? 0 : 1)].push_back(number);
    changed(solver, one.before, false, 0, 0);
  }
}

bool DifferenceConstraint::propagate(ClauseSolver &solver) {
  while (!queue.empty()) {
    uint32_t bound = queue.back();
    queue.pop_back();
    isQueued[bound] = 0;
    solver.charge(of[bound].size());
    for (uint32_t number : of[bound])
      if (!check(solver, number))
        return false;
  }
  return true;
}

bool DifferenceConstraint::check(ClauseSolver &solver, uint32_t number) {
  const Difference &one = differences[number];
  int guard = solver.valueOf(one.guard);
  if (guard < 0)
    return true;
  int64_t low = solver.low(one.before), high = solver.high(one.after);
  int64_t detail = int64_t{number} << 32 | static_cast<uint32_t>(solver.highPlace(one.after));
  if (low + one.lag > high) {
    if (guard == 0) {
      solver.derive(negate(one.guard), *this, detail);
      return true;
    }
    solver.contradiction = {solver.atMost(one.after, high), solver.atLeast(one.before, high + 1 - one.lag), one.guard};
    return false;
  }
  if (guard == 0)
    return true;
  if (solver.low(one.after) < low + one.lag)
    solver.derive(solver.atLeast(one.after, low + one.lag), *this, detail);
  if (solver.high(one.before) > high - one.lag)
    solver.derive(solver.atMost(one.before, high - one.lag), *this, detail);
  return true;
}

void DifferenceConstraint::explain(const ClauseSolver &solver, int32_t, Literal literal, int64_t detail,
                                   std::vector<Literal> &premises) {
  const Difference &one = differences[detail >> 32];
  uint32_t variable = solver.variableOf(literal);
  int64_t value = solver.valueAt(variable, literal >> 1);
  bool isLower = (literal & 1) != 0; // the guard may be a bound of the same variable in the other direction
  if (variable == one.after && isLower) {
    premises.push_back(solver.atLeast(one.before, value + 1 - one.lag));
  } else if (variable == one.before && !isLower) {
    premises.push_back(solver.atMost(one.after, value + one.lag));
  } else {
    int64_t high = solver.valueAt(one.after, static_cast<int32_t>(detail & 0xFFFFFFFF));
    premises.push_back(solver.atMost(one.after, high));
    premises.push_back(solver.atLeast(one.before, high + 1 - one.lag));
    return;
  }
  premises.push_back(one.guard);
}

TimetableConstraint::TimetableConstraint(std::vector<ClauseResource> list, const ClauseSolver &solver, size_t tasks,
                                         int64_t horizon)
    : resources(std::move(list)), shares(tasks), durations(tasks, 0), horizon(horizon),
      used(resources.size(), std::vector<int64_t>(horizon + 1, 0)), dirtyFrom(resources.size(), 0),
      dirtyTo(resources.size(), horizon + 1), isDirty(tasks, 0), movedIn(tasks, 1) {
  for (uint32_t r = 0; r < resources.size(); ++r)
    for (const ClauseResource::Use &use : resources[r].uses) {
      shares[use.task].push_back({r, use.amount});
      durations[use.task] = use.duration;
      for (int64_t time = solver.high(use.task); time < std::min(solver.low(use.task) + use.duration, horizon); ++time)
        used[r][time] += use.amount;
    }
}

void TimetableConstraint::update(const ClauseSolver &solver, uint32_t task, bool upper, int32_t from, int32_t to,
                                 int sign) {
  int64_t old = solver.valueAt(task, from), fresh = solver.valueAt(task, to), duration = durations[task];
  int64_t begin = upper ? fresh : std::max(solver.high(task), old + duration);
  int64_t end = std::min(upper ? std::min(old, solver.low(task) + duration) : fresh + duration, horizon);
  if (begin >= end)
    return;
  for (auto [resource, amount] : shares[task]) {
    int64_t *row = used[resource].data();
    for (int64_t time = begin; time < end; ++time)
      row[time] += sign * amount;
    if (sign > 0) {
      dirtyFrom[resource] = std::min(dirtyFrom[resource], begin);
      dirtyTo[resource] = std::max(dirtyTo[resource], end);
    }
  }
}

void TimetableConstraint::changed(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) {
  if (variable >= shares.size() || shares[variable].empty())
    return;
  if (!isDirty[variable])
    isDirty[variable] = 1, dirty.push_back(variable);
  update(solver, variable, upper, from, to, 1);
}

void TimetableConstraint::undone(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) {
  if (variable < shares.size() && !shares[variable].empty())
    update(solver, variable, upper, from, to, -1);
}

bool TimetableConstraint::propagate(ClauseSolver &solver) {
  // What this pass changes comes again.
  moved.swap(dirty);
  dirty.clear();
  ++pass;
  for (uint32_t task : moved)
    isDirty[task] = 0, movedIn[task] = pass;
  for (uint32_t r = 0; r < resources.size(); ++r) {
    int64_t from = dirtyFrom[r], to = dirtyTo[r];
    dirtyFrom[r] = INT64_MAX, dirtyTo[r] = INT64_MIN;
    const ClauseResource &shared = resources[r];
    for (int64_t time = from; time < to; ++time)
      if (used[r][time] > shared.capacity) {
        solver.contradiction.clear();
        cover(solver, r, time, shared.capacity, ~0u, solver.now(), solver.contradiction);
        return false;
      }
    for (const ClauseResource::Use &use : shared.uses) {
      if (solver.isFixed(use.task) ||
          (movedIn[use.task] != pass && (solver.low(use.task) >= to || solver.high(use.task) + use.duration <= from)))
        continue;
      if (!filter(solver, r, use))
        return false;
    }
  }
  return true;
}

bool TimetableConstraint::filter(ClauseSolver &solver, uint32_t resource, const ClauseResource::Use &use) {
  const int64_t *row = used[resource].data(), room = resources[resource].capacity - use.amount;
  bool again = true;
  while (again) {
    again = false;
    int64_t low = solver.low(use.task), time = std::min(solver.high(use.task), low + use.duration);
    solver.charge(1);
    while (time > low && row[time - 1] <= room)
      --time;
    if (time > low) {
      solver.derive(solver.atLeast(use.task, time), *this, int64_t{resource} << 32 | (time - 1));
      again = true;
    }
  }
  for (again = true; again;) {
    again = false;
    int64_t high = solver.high(use.task), time = std::max(high, solver.low(use.task) + use.duration);
    int64_t end = std::min(high + use.duration, horizon);
    while (time < end && row[time] <= room)
      ++time;
    if (time < end) {
      solver.derive(solver.atMost(use.task, time - use.duration), *this, int64_t{resource} << 32 | time);
      again = true;
    }
  }
  return true;
}

void TimetableConstraint::cover(const ClauseSolver &solver, uint32_t resource, int64_t time, int64_t above,
                                uint32_t but, int32_t place, std::vector<Literal> &premises) {
  covering.clear();
  int64_t sum = 0;
  for (const ClauseResource::Use &use : resources[resource].uses) {
    if (use.task == but)
      continue;
    Literal begun = solver.atMost(use.task, time), running = solver.atLeast(use.task, time + 1 - use.duration);
    if (!solver.heldBefore(begun, place) || !solver.heldBefore(running, place))
      continue;
    covering.push_back({std::max(solver.decidedAt(begun), solver.decidedAt(running)), use.amount, begun, running});
    sum += use.amount;
  }
  std::sort(covering.begin(), covering.end(), [](const Covering &a, const Covering &b) {
    return a.decided != b.decided ? a.decided > b.decided
           : a.amount != b.amount ? a.amount < b.amount
                                  : a.begun < b.begun;
  });
  // The latest are left out first.
  for (const Covering &one : covering) {
    if (sum - one.amount > above) {
      sum -= one.amount;
      continue;
    }
    premises.push_back(one.begun);
    premises.push_back(one.running);
  }
}

void TimetableConstraint::explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
                                  std::vector<Literal> &premises) {
  uint32_t resource = static_cast<uint32_t>(detail >> 32), task = solver.variableOf(literal);
  int64_t time = detail & 0xFFFFFFFF, duration = durations[task], amount = 0;
  for (const Share &share : shares[task])
    if (share.resource == resource)
      amount = share.amount;
  premises.push_back(literal & 1 ? solver.atLeast(task, time + 1 - duration) : solver.atMost(task, time));
  cover(solver, resource, time, resources[resource].capacity - amount, task, place, premises);
}

BudgetConstraint::BudgetConstraint(std::vector<std::vector<Choice>> list, int64_t capacity)
    : tasks(std::move(list)), room(capacity) {
  for (uint32_t number = 0; number < tasks.size(); ++number) {
    minima.push_back(INT64_MAX);
    for (const Choice &choice : tasks[number])
      minima.back() = std::min(minima.back(), choice.amount);
  }
}

int64_t BudgetConstraint::minAmountOf(const ClauseSolver &solver, uint32_t number, int32_t place) const {
  int64_t minAmount = INT64_MAX;
  for (const Choice &choice : tasks[number])
    if (!solver.heldBefore(negate(choice.guard), place))
      minAmount = std::min(minAmount, choice.amount);
  return minAmount == INT64_MAX ? minima[number] : minAmount; // where nothing is left a clause says so
}

bool BudgetConstraint::propagate(ClauseSolver &solver) {
  if (!isDirty)
    return true;
  isDirty = false;
  solver.charge(tasks.size());
  int64_t sum = 0;
  now.clear();
  for (uint32_t number = 0; number < tasks.size(); ++number)
    sum += now.emplace_back(minAmountOf(solver, number, solver.now()));
  if (sum > room) {
    solver.contradiction.clear();
    cover(solver, room, ~0u, solver.now(), solver.contradiction);
    return false;
  }
  for (uint32_t number = 0; number < tasks.size(); ++number)
    for (const Choice &choice : tasks[number])
      if (choice.amount - now[number] > room - sum && solver.valueOf(choice.guard) == 0)
        solver.derive(negate(choice.guard), *this, int64_t{number} << 32 | (&choice - tasks[number].data()));
  return true;
}

/// Choices that are out before `place`, so that the others of all tasks besides `but` need more than `above`.
void BudgetConstraint::cover(const ClauseSolver &solver, int64_t above, uint32_t but, int32_t place,
                             std::vector<Literal> &premises) {
  int64_t sum = 0;
  std::vector<std::pair<int64_t, uint32_t>> gains; // above the least of all, task
  for (uint32_t number = 0; number < tasks.size(); ++number) {
    if (number == but)
      continue;
    int64_t minAmount = minAmountOf(solver, number, place);
    sum += minAmount;
    if (minAmount > minima[number])
      gains.push_back({minAmount - minima[number], number});
  }
  std::sort(gains.begin(), gains.end());
  for (auto [gain, number] : gains) {
    if (sum - gain > above) {
      sum -= gain;
      continue;
    }
    for (const Choice &choice : tasks[number])
      if (choice.amount < minima[number] + gain)
        premises.push_back(negate(choice.guard));
  }
}

void BudgetConstraint::explain(const ClauseSolver &solver, int32_t place, Literal, int64_t detail,
                               std::vector<Literal> &premises) {
  uint32_t number = static_cast<uint32_t>(detail >> 32);
  cover(solver, room - tasks[number][detail & 0xFFFFFFFF].amount, number, place, premises);
}

} // namespace accord::solve
