#include "lib/scheduling/solve/Conflict.h"
#include "lib/scheduling/solve/Oracle.h"
#include <fmt/format.h>

namespace accord::solve {

namespace {

/// Lengths do not matter: every time becomes as short as the order of events allows, one unit for
/// what takes any, so that a schedule of the one is one of the other in the same order.
SchedulingProblem orderOnly(SchedulingProblem problem) {
  for (auto &task : problem.tasks)
    for (auto &mode : task.modes)
      mode.duration = mode.duration > 0;
  for (auto &p : problem.precedences)
    p.delay = 0;
  for (auto &r : problem.resources) // one after the other nothing is short
    r.capacity = INT64_MAX / 4;
  return problem;
}

class Conflict {
public:
  Conflict(const SchedulingProblem &whole, uint64_t limit) : whole(whole), p(orderOnly(whole)), limit(limit) {}

  std::vector<std::string> run() {
    for (auto &pairing : p.pairings)
      drop([&](bool without) {
        if (without) {
          for (Id a = 0; a < p.tasks[pairing.a].modes.size(); ++a)
            for (Id b = 0; b < p.tasks[pairing.b].modes.size(); ++b)
              pairing.allowed.push_back({a, b});
        } else {
          pairing = whole.pairings[&pairing - p.pairings.data()];
        }
      });
    for (size_t b = 0; b < p.budgets.size(); ++b)
      drop([&](bool without) { p.budgets[b].capacity = without ? INT64_MAX / 4 : whole.budgets[b].capacity; });
    for (size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].bytes > 0)
        drop([&](bool without) { p.buffers[b].bytes = without ? 0 : whole.buffers[b].bytes; });
    return sentences();
  }

private:
  /// Leaves something out if there is no schedule even then.
  template <typename Change> void drop(Change change) {
    change(true);
    Instance in(p);
    int64_t horizon = serialLength(p);
    Propagator windows(in, horizon);
    SchedulingSolution found;
    Oracle::Answer answer = Oracle::Answer::No;
    if (windows.run()) {
      Oracle oracle(in, windows, horizon);
      answer = oracle.ask(horizon, limit, found);
    }
    minimal &= answer != Oracle::Answer::Unknown;
    if (answer != Oracle::Answer::No)
      change(false);
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> out;
    for (Id m = 0; m < p.memories.size(); ++m) {
      std::string list;
      int64_t sum = 0;
      for (const auto &b : p.buffers)
        if (b.memory == m && b.bytes > 0) {
          list += fmt::format("{}'{}' ({} B)", list.empty() ? "" : ", ", b.name, b.bytes);
          sum += b.bytes;
        }
      if (!list.empty())
        out.push_back(fmt::format("memory '{}' of {} B has no order in which there is room for {}, "
                                  "{} B together",
                                  p.memories[m].name, p.memories[m].capacity, list, sum));
    }
    for (const auto &b : p.budgets)
      if (b.capacity != INT64_MAX / 4) {
        out.push_back(fmt::format("budget '{}' allows {} in all", b.name, b.capacity));
      }
    for (const auto &pairing : p.pairings)
      if (pairing.allowed.size() < p.tasks[pairing.a].modes.size() * p.tasks[pairing.b].modes.size())
        out.push_back(
            fmt::format("modes of '{}' and '{}' have to go together", p.nameOf(pairing.a), p.nameOf(pairing.b)));
    if (!minimal)
      out.push_back("not all of this may be needed: the work limit ended the search for less");
    return out;
  }

  const SchedulingProblem &whole;
  SchedulingProblem p;
  uint64_t limit;
  bool minimal = true;
};

} // namespace

std::vector<std::string> conflictOf(const SchedulingProblem &problem, uint64_t limit) {
  return Conflict(problem, limit).run();
}

} // namespace accord::solve
