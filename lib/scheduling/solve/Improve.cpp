#include "lib/scheduling/solve/Improve.h"
#include "lib/scheduling/solve/ListScheduler.h"
#include "lib/scheduling/solve/Oracle.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <numeric>

namespace accord::solve {
namespace {

/// Tasks placed by one population: several such find more than a long one, which settles.
constexpr int64_t kPopulationWork = int64_t(1) << 24;

/// Where schedules have more times than this, a stretch is not chosen by their load.
constexpr size_t kMaxTimes = 4096;

class GeneticSearch {
public:
  GeneticSearch(const Instance &in, const Modes &modes, SchedulingSolution &best, const ImproveLimits &limits,
                std::mt19937_64 &random)
      : in(in), modes(modes), best(best), limits(limits), random(random), scheduler(in), key(in.size()),
        // A short search needs few, a long one would settle too early with them: one for each 200 children of four
        // schedules or so.
        population(std::clamp<int64_t>(std::min(limits.work, kPopulationWork) / (800 * std::max<int64_t>(in.size(), 1)),
                                       40, 200)) {}

  bool run() {
    while (!spent()) {
      int64_t until = scheduler.placed() + kPopulationWork;
      const int64_t far = 2 * best.makespan;
      begin();
      for (size_t stale = 0; stale < std::max<size_t>(800, 10 * population) && !spent() && scheduler.placed() < until;)
        stale = replaceWorst(child(far)) ? 0 : stale + 1;
    }
    return better;
  }

private:
  struct Stretch {
    int64_t from, to;
    bool holds(int64_t start) const { return start >= from && start < to; }
  };

  bool spent() const { return limits.reached(best.makespan, scheduler.placed()); }
  double share() { return std::uniform_real_distribution<double>(0, 1)(random); }

  /// A new population around the longest-tail rule. A short search starts from the best so far.
  void begin() {
    all.clear();
    if (limits.work < kPopulationWork) {
      all.push_back(best);
      justify(all[0]);
    }
    for (size_t i = all.size(); i < population && !spent(); ++i) {
      SchedulingSolution one{{}, best.mode, INT64_MAX};
      double width = in.path() * 0.5 * i / population;
      for (Id t = 0; t < in.size(); ++t)
        key[t] = -(in.tails[t] + in.minDuration[t]) + static_cast<int64_t>(width * (2 * share() - 1));
      if (i > population / 2)
        for (size_t k = 0; k < i; ++k)
          modes.mutate(one.mode, random);
      decode(one);
      all.push_back(std::move(one));
    }
  }

  /// Backward in time what ends last goes first, then forward, while it helps.
  void justify(SchedulingSolution &one) {
    for (bool helps = true; helps;) {
      for (Id t = 0; t < in.size(); ++t)
        key[t] = -(one.start[t] + in.mode(t, one.mode[t]).duration);
      const auto &reversed = scheduler.run(key, one.mode, true);
      int64_t middle = scheduler.length();
      for (Id t = 0; t < in.size(); ++t)
        key[t] = middle - reversed[t] - in.mode(t, one.mode[t]).duration;
      const auto &forward = scheduler.run(key, one.mode, false);
      helps = scheduler.length() < one.makespan && !spent();
      if (scheduler.length() <= one.makespan) {
        one.start = forward;
        one.makespan = scheduler.length();
      }
    }
    if (one.makespan < best.makespan) {
      best = one;
      better = true;
    }
  }

  void decode(SchedulingSolution &one) {
    one.start = scheduler.run(key, one.mode, false);
    one.makespan = scheduler.length();
    justify(one);
  }

  /// A quarter to three quarters of a schedule: where its resources are used most, or anywhere. There its order is
  /// inherited (Debels and Vanhoucke, A decomposition-based genetic algorithm for the RCPSP, Operations Research 55(3),
  /// 2007).
  Stretch stretch(const SchedulingSolution &one, double width, double anywhere) {
    size_t length = one.makespan, wide = (0.25 + 0.5 * width) * length;
    int64_t from =
        anywhere >= 0 || length > kMaxTimes ? std::abs(anywhere) * (length - wide) : busiest(one, length, wide);
    return {from, from + int64_t(wide)};
  }

  /// Where `wide` times begin in which resources are used most.
  size_t busiest(const SchedulingSolution &one, size_t length, size_t wide) {
    use.assign(length + 1, 0); // changes of the load, then the load of all times before
    for (Id t = 0; t < in.size(); ++t) {
      double load = 0;
      const SchedulingProblem::Mode &mode = in.mode(t, one.mode[t]);
      for (const SchedulingProblem::Usage &usage : mode.usage)
        load += double(usage.amount) / in.problem.resources[usage.of].capacity;
      use[one.start[t]] += load;
      use[one.start[t] + mode.duration] -= load;
    }
    double now = 0, sum = 0;
    for (double &change : use) {
      now += change;
      change = sum;
      sum += now;
    }
    size_t from = 0;
    for (size_t x = 0; x + wide <= length; ++x)
      if (use[x + wide] - use[x] > use[from + wide] - use[from])
        from = x;
    return from;
  }

  /// Of the better of two and of a third one. `far` is before, or behind, whatever the stretch holds.
  SchedulingSolution child(int64_t far) {
    const SchedulingSolution &a = all[random() % all.size()], &b = all[random() % all.size()],
                             &mother = all[random() % all.size()];
    const SchedulingSolution &father = a.makespan < b.makespan ? a : b;
    SchedulingSolution child{{}, father.mode, INT64_MAX};
    double width = share();
    Stretch inherited = stretch(father, width, random() & 1 ? share() : -1);
    for (Id t = 0; t < in.size(); ++t)
      key[t] = inherited.holds(father.start[t])   ? father.start[t]
               : mother.start[t] < inherited.from ? mother.start[t] - far
               : mother.start[t] >= inherited.to  ? mother.start[t] + far
                                                  : mother.start[t];
    if (random() % 4 == 0)
      for (size_t i = 0; i < 1 + in.size() / 20; ++i)
        std::swap(key[random() % in.size()], key[random() % in.size()]);
    if (!modes.free())
      mixModes(child.mode, father, mother, inherited);
    decode(child);
    return child;
  }

  void mixModes(std::vector<Id> &mode, const SchedulingSolution &father, const SchedulingSolution &mother,
                const Stretch &inherited) {
    for (Id t = 0; t < in.size(); ++t)
      if (!inherited.holds(father.start[t]))
        mode[t] = mother.mode[t];
    if (!modes.allowed(mode))
      mode = father.mode;
    while (random() % 2)
      modes.mutate(mode, random);
  }

  /// The first of the longest schedules goes unless `child` is longer or there already. Returns whether that helped.
  bool replaceWorst(SchedulingSolution child) {
    auto worst = std::ranges::max_element(all, {}, &SchedulingSolution::makespan);
    if (child.makespan > worst->makespan || std::ranges::any_of(all, [&](const SchedulingSolution &one) {
          return one.makespan == child.makespan && one.start == child.start;
        }))
      return false;
    bool helps = child.makespan < worst->makespan;
    *worst = std::move(child);
    return helps;
  }

  const Instance &in;
  const Modes &modes;
  SchedulingSolution &best;
  const ImproveLimits &limits;
  std::mt19937_64 &random;
  SerialScheduler scheduler;
  std::vector<int64_t> key;
  const size_t population;
  std::vector<SchedulingSolution> all;
  std::vector<double> use;
  bool better = false;
};

} // namespace

bool improve(const Instance &in, const Modes &modes, SchedulingSolution &best, const ImproveLimits &limits,
             std::mt19937_64 &random) {
  return GeneticSearch(in, modes, best, limits, random).run();
}

std::optional<SchedulingSolution> scheduleInOrder(const Instance &in, const SchedulingSolution &relaxed) {
  if (!in.problem.buffers.empty())
    return MemoryScheduler(in).run(relaxed.start, relaxed.mode);
  SerialScheduler scheduler(in);
  SchedulingSolution out{scheduler.run(relaxed.start, relaxed.mode, false), relaxed.mode, 0};
  out.makespan = scheduler.length();
  return out;
}

std::optional<SchedulingSolution> findScheduleWithMemories(const Instance &in, const Modes &modes,
                                                           std::vector<Id> chosen, std::vector<int64_t> key,
                                                           std::mt19937_64 &random) {
  MemoryScheduler scheduler(in);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<int64_t> tried = key;
  double width = in.path();
  for (unsigned round = 0; round < 200; ++round) {
    if (auto found = scheduler.run(tried, chosen))
      return found;
    if (auto found = scheduler.run(tried, chosen, true))
      return found;
    for (Id t = 0; t < in.size(); ++t)
      tried[t] = key[t] + static_cast<int64_t>(width * share(random) * share(random));
    modes.mutate(chosen, random);
  }
  return std::nullopt;
}

bool improveWithMemories(const Instance &in, const Modes &modes, SchedulingSolution &best, const ImproveLimits &limits,
                         std::mt19937_64 &random) {
  MemoryScheduler scheduler(in);
  std::uniform_real_distribution<double> share(0, 1);
  SchedulingSolution current = best;
  std::vector<int64_t> key(in.size());
  bool better = false;
  while (!limits.reached(best.makespan, scheduler.placed())) {
    double width = current.makespan * 0.5 * share(random) * share(random);
    std::vector<Id> chosen = current.mode;
    for (Id t = 0; t < in.size(); ++t)
      key[t] = current.start[t] + (random() % 4 == 0 ? static_cast<int64_t>(width * (2 * share(random) - 1)) : 0);
    if (!modes.free() && random() % 2)
      modes.mutate(chosen, random);
    auto next = scheduler.run(key, chosen);
    if (!next || next->makespan > current.makespan)
      continue;
    current = std::move(*next);
    if (current.makespan < best.makespan)
      best = current, better = true;
  }
  return better;
}

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
    for (Id i = inside.size(); i < windows.latest.size(); ++i)
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
      place[t] = problem.tasks.size();
      problem.tasks.push_back(whole.problem.tasks[t]);
    }
    head.assign(inside.size(), 0), due.assign(inside.size(), to - from);
    for (Id i = 0; i < inside.size(); ++i) {
      for (const Edge &e : whole.before(inside[i]))
        if (place[e.task] != SchedulingProblem::kNoTask)
          problem.addPrecedence(place[e.task], i, e.delay);
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
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(),
                [&](Id a, Id b) { return std::pair(best.start[a], a) < std::pair(best.start[b], b); });
      llvm::ArrayRef<Id> tasks = llvm::ArrayRef(order).drop_front(first).take_front(limits.tasks);
      Window window(in, best, tasks.vec());
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
