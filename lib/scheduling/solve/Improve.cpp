#include "lib/scheduling/solve/Improve.h"
#include "lib/scheduling/solve/MemoryScheduler.h"
#include "lib/scheduling/solve/SerialScheduler.h"

namespace accord::solve {
namespace {

/// Tasks placed by one population: several such find more than a long one, which settles.
constexpr int64_t kPopulationWork = int64_t(1) << 24;

/// Where schedules have more times than this, a stretch is not chosen by their load.
constexpr size_t kMaxTimes = 4096;

/// A schedule as the search keeps it.
struct Individual {
  std::vector<int64_t> start;
  std::vector<Id> mode;
  int64_t makespan = INT64_MAX;
};

} // namespace

bool improve(const Instance &in, const Modes &modes, SchedulingSolution &best, const ImproveLimits &limits,
             std::mt19937_64 &random) {
  SerialScheduler scheduler(in);
  size_t n = in.size();
  // A short search needs few, a long one would settle too early with them: one for each 200
  // children of four schedules or so.
  const size_t population = std::clamp<int64_t>(
      std::min(limits.work, kPopulationWork) / (800 * static_cast<int64_t>(std::max<size_t>(n, 1))), 40, 200);
  std::vector<int64_t> key(n);
  std::uniform_real_distribution<double> share(0, 1);
  bool better = false;
  auto spent = [&] {
    return best.makespan <= limits.bound || scheduler.placed() >= limits.work || (limits.stop && *limits.stop);
  };
  auto keep = [&](const Individual &one) {
    if (one.makespan >= best.makespan)
      return;
    best.start = one.start, best.mode = one.mode, best.makespan = one.makespan;
    better = true;
  };
  /// Backward in time what ends last goes first, then forward, while it helps.
  auto justify = [&](Individual &one) {
    for (;;) {
      for (Id t = 0; t < n; ++t)
        key[t] = -(one.start[t] + in.mode(t, one.mode[t]).duration);
      const auto &reversed = scheduler.run(key, one.mode, true);
      int64_t middle = scheduler.length();
      for (Id t = 0; t < n; ++t)
        key[t] = middle - reversed[t] - in.mode(t, one.mode[t]).duration;
      const auto &forward = scheduler.run(key, one.mode, false);
      bool helps = scheduler.length() < one.makespan;
      if (scheduler.length() <= one.makespan) {
        one.start = forward;
        one.makespan = scheduler.length();
      }
      if (!helps || spent())
        return keep(one);
    }
  };
  auto decode = [&](Individual &one) {
    one.start = scheduler.run(key, one.mode, false);
    one.makespan = scheduler.length();
    justify(one);
  };
  /// A quarter to three quarters of a schedule: where its resources are used most, or anywhere.
  /// There its order is inherited (Debels and Vanhoucke, A decomposition-based genetic algorithm
  /// for the RCPSP, Operations Research 55(3), 2007).
  std::vector<double> use;
  auto stretch = [&](const Individual &one, double width, double anywhere) {
    auto length = static_cast<size_t>(one.makespan);
    auto wide = static_cast<size_t>((0.25 + 0.5 * width) * length);
    size_t from = 0;
    if (anywhere >= 0 || length > kMaxTimes) {
      from = static_cast<size_t>(std::abs(anywhere) * (length - wide));
    } else {
      use.assign(length + 1, 0); // changes of the load, then the load of all times before
      for (Id t = 0; t < n; ++t) {
        double load = 0;
        const SchedulingProblem::Mode &mode = in.mode(t, one.mode[t]);
        for (const SchedulingProblem::Usage &usage : mode.usage)
          load += static_cast<double>(usage.amount) / in.problem.resources[usage.of].capacity;
        use[one.start[t]] += load;
        use[one.start[t] + mode.duration] -= load;
      }
      double now = 0, sum = 0;
      for (double &change : use) {
        now += change;
        change = sum;
        sum += now;
      }
      for (size_t x = 0; x + wide <= length; ++x)
        if (use[x + wide] - use[x] > use[from + wide] - use[from])
          from = x;
    }
    return std::pair(static_cast<int64_t>(from), static_cast<int64_t>(from + wide));
  };
  auto inside = [](const Individual &one, Id t, int64_t from, int64_t to) {
    return one.start[t] >= from && one.start[t] < to;
  };
  std::vector<Individual> all;
  while (!spent()) {
    int64_t until = scheduler.placed() + kPopulationWork;
    auto ended = [&] { return spent() || scheduler.placed() >= until; };
    const int64_t far = 2 * best.makespan; // before, or behind, whatever the stretch holds
    // A new population around the longest-tail rule. A short search starts from the best so far.
    all.clear();
    if (limits.work < kPopulationWork) {
      all.push_back({best.start, best.mode, best.makespan});
      justify(all[0]);
    }
    for (size_t i = all.size(); i < population && !spent(); ++i) {
      Individual one{{}, best.mode, INT64_MAX};
      double width = in.path() * 0.5 * i / population;
      for (Id t = 0; t < n; ++t)
        key[t] = -(in.tails[t] + in.minDuration[t]) + static_cast<int64_t>(width * (2 * share(random) - 1));
      if (i > population / 2)
        for (size_t k = 0; k < i; ++k)
          modes.mutate(one.mode, random);
      decode(one);
      all.push_back(std::move(one));
    }
    for (unsigned stale = 0; stale < std::max<size_t>(800, 10 * population) && !ended();) {
      const Individual &a = all[random() % all.size()], &b = all[random() % all.size()],
                       &c = all[random() % all.size()];
      const Individual &father = a.makespan < b.makespan ? a : b, &mother = c;
      Individual child{{}, father.mode, INT64_MAX};
      auto [from, to] = stretch(father, share(random), random() & 1 ? share(random) : -1);
      for (Id t = 0; t < n; ++t)
        key[t] = inside(father, t, from, to) ? father.start[t]
                 : mother.start[t] < from    ? mother.start[t] - far
                 : mother.start[t] >= to     ? mother.start[t] + far
                                             : mother.start[t];
      if (random() % 4 == 0)
        for (unsigned i = 0; i < 1 + n / 20; ++i)
          std::swap(key[random() % n], key[random() % n]);
      if (!modes.free()) {
        for (Id t = 0; t < n; ++t)
          if (!inside(father, t, from, to))
            child.mode[t] = mother.mode[t];
        if (!modes.allowed(child.mode))
          child.mode = father.mode;
        while (random() % 2)
          modes.mutate(child.mode, random);
      }
      decode(child);
      size_t worst = 0;
      bool twin = false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].makespan > all[worst].makespan)
          worst = i;
        twin |= all[i].makespan == child.makespan && all[i].start == child.start;
      }
      ++stale;
      if (!twin && child.makespan <= all[worst].makespan) {
        if (child.makespan < all[worst].makespan)
          stale = 0;
        all[worst] = std::move(child);
      }
    }
  }
  return better;
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
    if (auto found = scheduler.minMemoryFirst(tried, chosen))
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
  while (best.makespan > limits.bound && scheduler.placed() < limits.work && !(limits.stop && *limits.stop)) {
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

} // namespace accord::solve
