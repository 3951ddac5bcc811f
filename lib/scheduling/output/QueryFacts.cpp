#include "lib/scheduling/output/QueryFacts.h"
#include <algorithm>

namespace accord::smtquery {

using Problem = SchedulingProblem;

QueryFacts::QueryFacts(const Problem &problem, int64_t horizon, int64_t unit, const StartWindows *windows)
    : problem(problem), horizon(horizon), unit(unit) {
  infeasible = horizon < 0;
  for (Id t = 0; t < problem.tasks.size(); ++t) {
    auto &fitting = modes.emplace_back();
    int64_t low = -1;
    bool absent = false;
    for (Id m = 0; m < problem.tasks[t].modes.size(); ++m) {
      const auto &mode = problem.tasks[t].modes[m];
      if (!problem.fits(mode))
        continue;
      fitting.push_back(m);
      absent |= mode.absent;
      if (mode.absent)
        continue;
      low = low < 0 ? mode.duration : std::min(low, mode.duration);
    }
    infeasible |= fitting.empty();
    minDuration.push_back(std::max<int64_t>(low, 0));
    mandatory.push_back(!absent);
  }
  earliest.assign(minDuration.size(), 0), tail.assign(minDuration.size(), 0);
  for (Id t = 0; windows && t < minDuration.size(); ++t)
    if (mandatory[t]) {
      earliest[t] = std::max<int64_t>(windows->earliest[t], 0);
      tail[t] = std::max<int64_t>(horizon - windows->latest[t] - minDuration[t], 0);
    }
  if (windows)
    ordered = windows->ordered;
  close();
  if (infeasible || !chains()) {
    infeasible = true;
    return;
  }
  auto plain = std::tuple{earliest, latest, tail};
  orders();
  // What closes a window is left to the solver: the arithmetic here stays small.
  if (!chains())
    std::tie(earliest, latest, tail) = plain;
}

bool QueryFacts::collide(Id a, Id b) const {
  for (Id m : modes[a])
    for (Id k : modes[b]) {
      const auto &one = mode(a, m), &other = mode(b, k);
      if (one.duration == 0 || other.duration == 0)
        return false; // what takes no time may be anywhere
      if (!problem.clash(one, other))
        return false;
    }
  return true;
}

/// Which tasks end before which start, by chains whose inner tasks must happen.
void QueryFacts::close() {
  size_t n = problem.tasks.size();
  std::vector<std::vector<Id>> after(n);
  for (const auto &p : problem.precedences)
    after[p.before].push_back(p.after);
  precedes.assign(n, std::vector<char>(n));
  std::vector<Id> order = problem.topologicalOrder();
  for (Id t : llvm::reverse(order))
    for (Id next : after[t]) {
      precedes[t][next] = 1;
      if (mandatory[next])
        for (Id later = 0; later < n; ++later)
          precedes[t][later] |= precedes[next][later];
    }
}

bool QueryFacts::chains() {
  size_t n = problem.tasks.size();
  latest.assign(n, 0);
  auto all = problem.precedences;
  for (auto [a, b] : ordered)
    all.push_back({a, b, 0});
  // Orders that were found may form a cycle; then no schedule exists, and rounds run out.
  for (size_t round = 0;; ++round) {
    bool changed = false;
    for (const auto &p : all) {
      if (int64_t head = earliest[p.before] + minDuration[p.before] + p.delay;
          mandatory[p.before] && head > earliest[p.after])
        earliest[p.after] = head, changed = true;
      if (int64_t rest = p.delay + minDuration[p.after] + tail[p.after]; mandatory[p.after] && rest > tail[p.before])
        tail[p.before] = rest, changed = true;
    }
    if (!changed)
      break;
    if (round > n)
      return false;
  }
  for (Id t = 0; t < n; ++t) {
    latest[t] = horizon - tail[t] - minDuration[t];
    if (mandatory[t] && latest[t] < earliest[t])
      return false;
  }
  return true;
}

void QueryFacts::orders() {
  size_t n = problem.tasks.size();
  ranked.assign(n, std::vector<char>(n));
  for (auto [a, b] : ordered)
    ranked[a][b] = ranked[b][a] = 1;
  for (Id a = 0; a < n; ++a)
    for (Id b = a + 1; b < n; ++b)
      if (mandatory[a] && mandatory[b] && !precedes[a][b] && !precedes[b][a] && !ranked[a][b] && collide(a, b))
        unordered.push_back({a, b}), ranked[a][b] = ranked[b][a] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::pair<Id, Id>> rest;
    for (auto [a, b] : unordered) {
      bool first = earliest[a] + minDuration[a] <= latest[b];
      bool second = earliest[b] + minDuration[b] <= latest[a];
      if (first == second) { // neither: the solver will find out
        rest.push_back({a, b});
        continue;
      }
      ordered.push_back(first ? std::pair{a, b} : std::pair{b, a});
      changed = true;
    }
    unordered = std::move(rest);
    if (changed && !chains())
      return;
  }
}

bool QueryFacts::isDisjunctive(Id a, Id b) const {
  if (precedes[a][b] || precedes[b][a] || ranked[a][b])
    return true;
  auto over = [&](Id x, Id y) { return end(x) <= earliest[y]; };
  return over(a, b) || over(b, a);
}

} // namespace accord::smtquery
