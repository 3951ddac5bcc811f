#include "lib/solve/SerialScheduler.h"

namespace accord::solve {

SerialScheduler::SerialScheduler(const Instance &instance)
    : in(instance), start(instance.size()), ready(instance.size()), waiting(instance.size()) {}

const std::vector<int64_t> &SerialScheduler::run(const std::vector<int64_t> &key,
                                                 const std::vector<Id> &modes, bool backward) {
  profile.reset(in.problem);
  longest = 0;
  heap.clear();
  auto later = std::greater<>();
  for (Id t = 0; t < in.size(); ++t) {
    ready[t] = 0;
    waiting[t] = static_cast<uint32_t>((backward ? in.after(t) : in.before(t)).size());
    if (waiting[t] == 0)
      heap.push_back({key[t], t});
  }
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Id t = heap.back().second;
    heap.pop_back();
    const SchedulingProblem::Mode &mode = in.mode(t, modes[t]);
    int64_t end = 0;
    if (mode.absent) {
      start[t] = 0;
    } else {
      start[t] = profile.earliest(mode, ready[t]);
      profile.take(mode, start[t]);
      end = start[t] + mode.duration;
      longest = std::max(longest, end);
    }
    for (const Edge &e : backward ? in.before(t) : in.after(t)) {
      if (!mode.absent)
        ready[e.task] = std::max(ready[e.task], end + e.delay);
      if (--waiting[e.task] == 0) {
        heap.push_back({key[e.task], e.task});
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
  }
  work += static_cast<int64_t>(in.size());
  return start;
}

namespace {

/// A schedule as the search keeps it.
struct Individual {
  std::vector<int64_t> start;
  std::vector<Id> mode;
  int64_t makespan = INT64_MAX;
};

} // namespace

/// A genetic algorithm over schedules, each made better by justification in both directions of
/// time (Valls, Ballestin, Quintanilla, A hybrid genetic algorithm for the resource-constrained
/// project scheduling problem, EJOR 185, 2008). A child takes the order of one parent up to a
/// random time, of the other after it.
bool improve(const Instance &in, SchedulingSolution &best, int64_t bound, int64_t limit,
             std::mt19937_64 &random) {
  constexpr size_t kPopulation = 40;
  SerialScheduler scheduler(in);
  size_t n = in.size();
  std::vector<int64_t> key(n);
  std::uniform_real_distribution<double> share(0, 1);
  bool better = false;
  auto spent = [&] { return best.makespan <= bound || scheduler.placed() >= limit; };
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
  std::vector<Individual> all;
  while (!spent()) {
    // A new population around the longest-tail rule, with the best so far in it.
    all.assign(1, {best.start, best.mode, best.makespan});
    justify(all[0]);
    for (size_t i = 1; i < kPopulation && !spent(); ++i) {
      Individual one{{}, best.mode, INT64_MAX};
      double width = static_cast<double>(in.path()) * 0.5 * static_cast<double>(i) / kPopulation;
      for (Id t = 0; t < n; ++t)
        key[t] = -(in.tails[t] + in.least[t]) + static_cast<int64_t>(width * (2 * share(random) - 1));
      decode(one);
      all.push_back(std::move(one));
    }
    for (unsigned stale = 0; stale < 20 * kPopulation && !spent();) {
      const Individual &a = all[random() % all.size()], &b = all[random() % all.size()],
                       &c = all[random() % all.size()];
      const Individual &father = a.makespan < b.makespan ? a : b, &mother = c;
      Individual child{{}, father.mode, INT64_MAX};
      double cut = share(random) * static_cast<double>(father.makespan);
      bool early = random() & 1;
      for (Id t = 0; t < n; ++t) {
        bool fromFather = (static_cast<double>(father.start[t]) < cut) == early;
        // The other parent's order stays behind (before) what the first gave.
        int64_t base = early ? (fromFather ? 0 : father.makespan) : (fromFather ? mother.makespan : 0);
        key[t] = base + (fromFather ? father : mother).start[t];
      }
      if (random() % 4 == 0)
        for (unsigned i = 0; i < 1 + n / 20; ++i)
          std::swap(key[random() % n], key[random() % n]);
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

} // namespace accord::solve
