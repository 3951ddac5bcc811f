#include "lib/scheduling/solve/TimeLags.h"
#include "lib/scheduling/solve/ResourceProfile.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord::solve {
namespace {

constexpr int64_t kNever = INT64_MAX / 4;

/// start(to) >= start(from) + lag; of the edges out of (or into) a task.
struct Lag {
  Id task;
  int64_t lag;
};

class LagScheduler {
public:
  explicit LagScheduler(const Instance &instance)
      : in(instance), n(in.size()), out(n), into(n), start(n, 0), placed(n, 0) {
    for (Id t = 0; t < n; ++t)
      for (llvm::ArrayRef<Edge> edges : {in.after(t), in.lagsAfter(t)})
        for (const Edge &e : edges) {
          out[t].push_back({e.task, in.minDuration[t] + e.delay});
          into[e.task].push_back({t, in.minDuration[t] + e.delay});
        }
  }

  /// Whether a schedule was made: by smallest key first, among those whose predecessors are placed.
  bool run(const std::vector<int64_t> &key) {
    release = in.heads;
    std::fill(placed.begin(), placed.end(), 0);
    sequence.clear();
    size_t repairs = 4 * n + 16;
    rebuild();
    while (sequence.size() < n) {
      Id next = choose(key);
      ++work;
      if (int64_t time = profile.earliest(in.mode(next, 0), earliest[next]); time <= latest[next])
        place(next, time);
      else if (repairs-- == 0 || !repair(next, time))
        return false;
    }
    return true;
  }

  const std::vector<int64_t> &starts() const { return start; }
  int64_t length() const {
    int64_t last = 0;
    for (Id t = 0; t < n; ++t)
      last = std::max(last, start[t] + in.minDuration[t]);
    return last;
  }
  int64_t work = 0;

private:
  /// Of the tasks for whose start nothing unplaced has to pass; of all where that is none.
  Id choose(const std::vector<int64_t> &key) const {
    Id best = SchedulingProblem::kNoTask, any = SchedulingProblem::kNoTask;
    for (Id t = 0; t < n; ++t) {
      if (placed[t])
        continue;
      auto isBetter = [&](Id than) {
        return than == SchedulingProblem::kNoTask || std::pair(key[t], t) < std::pair(key[than], than);
      };
      if (isBetter(any))
        any = t;
      bool ready = llvm::all_of(into[t], [&](const Lag &lag) { return lag.lag <= 0 || placed[lag.task]; });
      if (ready && isBetter(best))
        best = t;
    }
    return best == SchedulingProblem::kNoTask ? any : best;
  }

  void place(Id t, int64_t time) {
    placed[t] = 1, start[t] = time;
    sequence.push_back(t);
    profile.take(in.mode(t, 0), time);
    raise(t, time);
    lower(t, time);
  }

  /// Windows that follow from releases and from what is placed.
  void rebuild() {
    earliest.assign(n, 0), latest.assign(n, kNever);
    profile.reset(in.problem);
    for (Id t = 0; t < n; ++t)
      raise(t, release[t]);
    for (Id t : sequence) {
      profile.take(in.mode(t, 0), start[t]);
      raise(t, start[t]);
      lower(t, start[t]);
    }
  }
  void raise(Id t, int64_t time) {
    if (time <= earliest[t])
      return;
    earliest[t] = time;
    for (queue.assign(1, t); !queue.empty();) {
      Id at = queue.back();
      queue.pop_back();
      for (const Lag &lag : out[at])
        if (earliest[at] + lag.lag > earliest[lag.task])
          earliest[lag.task] = earliest[at] + lag.lag, queue.push_back(lag.task);
    }
  }
  void lower(Id t, int64_t time) {
    if (time >= latest[t])
      return;
    latest[t] = time;
    for (queue.assign(1, t); !queue.empty();) {
      Id at = queue.back();
      queue.pop_back();
      for (const Lag &lag : into[at])
        if (latest[at] - lag.lag < latest[lag.task])
          latest[lag.task] = latest[at] - lag.lag, queue.push_back(lag.task);
    }
  }

  /// Those without which `task` could start at `time` start later by what is missing; all placed after the first of
  /// them are placed again.
  bool repair(Id task, int64_t time) {
    if (time >= kNever || latest[task] >= kNever)
      return false;
    int64_t missing = time - latest[task];
    // Longest paths from the task: who is placed, and how far after it at least.
    std::vector<int64_t> path(n, -kNever);
    path[task] = 0;
    for (queue.assign(1, task); !queue.empty();) {
      Id at = queue.back();
      queue.pop_back();
      for (const Lag &lag : out[at])
        if (path[at] + lag.lag > path[lag.task])
          path[lag.task] = path[at] + lag.lag, queue.push_back(lag.task);
    }
    size_t first = sequence.size();
    for (size_t i = 0; i < sequence.size(); ++i) {
      Id t = sequence[i];
      if (path[t] == -kNever || start[t] - path[t] >= time)
        continue;
      release[t] = std::max(release[t], start[t] + std::min(missing, time - (start[t] - path[t])));
      first = std::min(first, i);
    }
    if (first == sequence.size())
      return false;
    for (size_t i = first; i < sequence.size(); ++i)
      placed[sequence[i]] = 0;
    sequence.resize(first);
    rebuild();
    work += static_cast<int64_t>(n) / 8;
    // What stays placed must not be pushed by the releases.
    return llvm::all_of(sequence, [&](Id t) { return earliest[t] <= start[t]; });
  }

  const Instance &in;
  size_t n;
  std::vector<std::vector<Lag>> out, into;
  std::vector<int64_t> release, earliest, latest, start;
  std::vector<char> placed;
  std::vector<Id> sequence, queue;
  ResourceProfile profile;
};

} // namespace

bool hasPlainTimeLags(const SchedulingProblem &problem) {
  return !problem.lags.empty() && problem.singleMode() && problem.buffers.empty();
}

std::optional<SchedulingSolution> scheduleWithTimeLags(const Instance &in, std::optional<SchedulingSolution> best,
                                                       int64_t goal, int64_t work, const std::atomic<bool> *stop,
                                                       std::mt19937_64 &random) {
  LagScheduler scheduler(in);
  std::vector<int64_t> key(in.size());
  const int64_t path = std::max<int64_t>(in.path(), 1);
  for (int64_t round = 0; scheduler.work < work && !(stop && *stop); ++round) {
    if (best && best->makespan <= goal)
      break;
    // Latest starts first, then near the best schedule, then anywhere, in turn.
    for (Id t = 0; t < in.size(); ++t) {
      int64_t spread = round == 0 ? 0 : path / (2 << (round % 5));
      key[t] = best && round % 2 == 1 ? best->start[t] : -(in.tails[t] + in.minDuration[t]);
      key[t] += spread > 0 ? static_cast<int64_t>(random() % static_cast<uint64_t>(2 * spread + 1)) - spread : 0;
    }
    ++scheduler.work;
    if (scheduler.run(key) && (!best || scheduler.length() < best->makespan))
      best = SchedulingSolution{scheduler.starts(), std::vector<Id>(in.size(), 0), scheduler.length()};
  }
  return best;
}

void justifyWithTimeLags(const Instance &in, SchedulingSolution &solution) {
  std::vector<Id> order(in.size());
  std::iota(order.begin(), order.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    llvm::sort(order, [&](Id a, Id b) { return std::pair(solution.start[a], a) < std::pair(solution.start[b], b); });
    for (Id t : order) {
      int64_t from = 0;
      for (const auto &p : in.problem.precedences)
        if (p.after == t)
          from = std::max(from, solution.start[p.before] + in.minDuration[p.before] + p.delay);
      for (const auto &lag : in.problem.lags)
        if (lag.after == t)
          from = std::max(from, solution.start[lag.before] + lag.lag);
      if (from >= solution.start[t])
        continue;
      ResourceProfile others;
      others.reset(in.problem);
      for (Id other = 0; other < in.size(); ++other)
        if (other != t)
          others.take(in.mode(other, 0), solution.start[other]);
      if (int64_t time = others.earliest(in.mode(t, 0), from); time < solution.start[t])
        solution.start[t] = time, changed = true;
    }
  }
  solution.makespan = 0;
  for (Id t = 0; t < in.size(); ++t)
    solution.makespan = std::max(solution.makespan, solution.start[t] + in.minDuration[t]);
}

std::string describeCycle(const Instance &in) {
  std::string names;
  for (size_t i = 0; i < in.cycle().size(); ++i)
    if (i < 5 || i + 1 == in.cycle().size())
      names += fmt::format("{}'{}'", i == 0 ? "" : i == 5 ? ", … " : ", ", in.problem.nameOf(in.cycle()[i]));
  return fmt::format("time lags and precedences in a cycle let each of the tasks {} start after itself", names);
}

} // namespace accord::solve
