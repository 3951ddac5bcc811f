#include "lib/scheduling/solve/LargeNeighbourhoodSearch.h"
#include <algorithm>

namespace accord::solve {
namespace {

/// Literals of one question: it should be answered in a fraction of a second.
constexpr int64_t kLiterals = 3'000;

class Window {
public:
  Window(const Instance &whole, const SchedulingSolution &now, std::vector<Id> tasks)
      : whole(whole), now(now), inside(std::move(tasks)) {
    from = INT64_MAX, to = 0;
    for (Id t : inside) {
      from = std::min(from, now.start[t]);
      to = std::max(to, endOf(t));
    }
    build();
  }

  /// The starts of a schedule in which all that follows may start `earlier`; empty if none was
  /// found. Modes of the tasks inside go to `modes`.
  std::vector<int64_t> ask(int64_t earlier, uint64_t limit, std::vector<Id> &modes, uint64_t &spent) {
    Instance in(problem);
    Propagator windows(in, to - from - earlier);
    // What began before the window is where it is.
    for (Id i = static_cast<Id>(inside.size()); i < windows.latest.size(); ++i)
      windows.latest[i] = 0;
    for (Id i = 0; i < inside.size(); ++i) {
      windows.earliest[i] = std::max(windows.earliest[i], head[i]);
      windows.latest[i] = std::min(windows.latest[i], due[i] - earlier - in.minDuration[i]);
    }
    if (!windows.run())
      return {};
    int64_t unit = 1;
    while (estimateLiterals(in, windows, unit) > kLiterals)
      unit *= 2;
    Oracle oracle(in, windows, to - from - earlier, unit);
    SchedulingSolution found;
    Oracle::Answer said = oracle.ask(to - from - earlier, limit, found);
    spent += std::max<uint64_t>(oracle.work(), 1000);
    if (said != Oracle::Answer::Yes)
      return {};
    std::vector<int64_t> key(whole.size());
    for (Id t = 0; t < whole.size(); ++t)
      key[t] = now.start[t] - (now.start[t] >= from ? earlier : 0);
    for (size_t i = 0; i < inside.size(); ++i) {
      key[inside[i]] = from + found.start[i];
      modes[inside[i]] = found.mode[i];
    }
    return key;
  }
  int64_t length() const { return to - from; }

private:
  int64_t endOf(Id t) const { return now.start[t] + whole.mode(t, now.mode[t]).duration; }

  void build() {
    problem.resources = whole.problem.resources;
    problem.budgets = whole.problem.budgets;
    std::vector<Id> place(whole.size(), SchedulingProblem::kNoTask);
    for (Id t : inside) {
      place[t] = static_cast<Id>(problem.tasks.size());
      problem.tasks.push_back(whole.problem.tasks[t]);
    }
    head.assign(inside.size(), 0), due.assign(inside.size(), to - from);
    for (size_t i = 0; i < inside.size(); ++i) {
      for (const Edge &e : whole.before(inside[i]))
        if (place[e.task] != SchedulingProblem::kNoTask)
          problem.addPrecedence(place[e.task], static_cast<Id>(i), e.delay);
        else
          head[i] = std::max(head[i], endOf(e.task) + e.delay - from);
      for (const Edge &e : whole.after(inside[i]))
        if (place[e.task] == SchedulingProblem::kNoTask)
          due[i] = std::min(due[i], now.start[e.task] - e.delay - from);
    }
    for (Id t = 0; t < whole.size(); ++t) // still running when the window opens
      if (now.start[t] < from && endOf(t) > from) {
        SchedulingProblem::Mode rest = whole.mode(t, now.mode[t]);
        rest.duration = endOf(t) - from;
        problem.tasks.push_back({whole.problem.tasks[t].name, {rest}, {}});
      }
  }

  const Instance &whole;
  const SchedulingSolution &now;
  std::vector<Id> inside;
  int64_t from, to;
  SchedulingProblem problem;
  std::vector<int64_t> head, due; ///< relative to `from`
};

} // namespace

uint64_t improveByWindows(const Instance &in, SchedulingSolution &best, const WindowLimits &limits) {
  uint64_t spent = 0;
  auto over = [&] { return spent >= limits.work || best.makespan <= limits.bound || (limits.stop && *limits.stop); };
  for (bool helped = true; helped && !over();) {
    helped = false;
    for (size_t first = 0; first < in.size() && !over();) {
      std::vector<Id> order(in.size());
      for (Id t = 0; t < in.size(); ++t)
        order[t] = t;
      std::sort(order.begin(), order.end(),
                [&](Id a, Id b) { return std::pair(best.start[a], a) < std::pair(best.start[b], b); });
      std::vector<Id> tasks(order.begin() + static_cast<ptrdiff_t>(first),
                            order.begin() + static_cast<ptrdiff_t>(std::min(first + limits.tasks, in.size())));
      Window window(in, best, tasks);
      bool better = false;
      // By a large step if possible, else by a small one.
      for (int64_t share : {50, 400}) {
        std::vector<Id> modes = best.mode;
        int64_t earlier = std::max<int64_t>(1, window.length() / share);
        std::vector<int64_t> key =
            window.ask(earlier, std::min<uint64_t>(limits.work / 50 + 100'000, 3'000'000), modes, spent);
        if (key.empty())
          continue;
        auto next = scheduleInOrder(in, {key, modes, 0});
        if (next && next->makespan < best.makespan) {
          best = std::move(*next);
          better = helped = true;
          break;
        }
      }
      if (!better)
        first += limits.tasks / 2;
    }
  }
  return spent;
}

} // namespace accord::solve
