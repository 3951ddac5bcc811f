#include "lib/scheduling/solve/MemoryScheduler.h"
#include <set>

namespace accord::solve {

MemoryScheduler::MemoryScheduler(const Instance &instance)
    : in(instance), makes(instance.size()), reads(instance.size()) {
  for (uint32_t b = 0; b < in.problem.buffers.size(); ++b) {
    const auto &buffer = in.problem.buffers[b];
    if (buffer.producer != SchedulingProblem::kNoTask)
      makes[buffer.producer].push_back(b);
    for (const auto &reader : buffer.readers)
      if (reads[reader.task].empty() || reads[reader.task].back() != b)
        reads[reader.task].push_back(b);
  }
}

std::optional<SchedulingSolution> MemoryScheduler::run(const std::vector<int64_t> &key, const std::vector<Id> &modes) {
  return go(key, modes, false);
}
std::optional<SchedulingSolution> MemoryScheduler::minMemoryFirst(const std::vector<int64_t> &key,
                                                                  const std::vector<Id> &modes) {
  return go(key, modes, true);
}

std::optional<SchedulingSolution> MemoryScheduler::go(const std::vector<int64_t> &key, const std::vector<Id> &modes,
                                                      bool minMemoryFirst) {
  const auto &p = in.problem;
  size_t n = in.size();
  work += static_cast<int64_t>(n);
  auto happens = [&](Id t) { return !in.mode(t, modes[t]).absent; };
  auto readsIt = [&](const SchedulingProblem::Reader &reader) {
    return happens(reader.task) && (reader.unless == SchedulingProblem::kNoTask || !happens(reader.unless));
  };
  SchedulingSolution out;
  out.start.assign(n, 0), out.mode = modes;
  // Of a buffer: who has still to start before its end is known, and the end of those that have.
  std::vector<uint32_t> open(p.buffers.size(), 0);
  std::vector<int64_t> end(p.buffers.size(), 0);
  std::vector<int64_t> used(p.memories.size(), 0);
  struct Release {
    int64_t time;
    Id memory;
    int64_t bytes;
    bool operator<(const Release &o) const { return time < o.time; }
  };
  std::multiset<Release> releases;
  for (uint32_t b = 0; b < p.buffers.size(); ++b) {
    const auto &buffer = p.buffers[b];
    bool made = buffer.producer != SchedulingProblem::kNoTask;
    if (made && !happens(buffer.producer))
      continue;
    for (const auto &reader : buffer.readers)
      open[b] += readsIt(reader);
    open[b] += made + buffer.persistent; // what is kept never closes
    if (!made) {
      if (open[b] > 0)
        used[buffer.memory] += buffer.bytes;
    }
  }
  for (Id m = 0; m < p.memories.size(); ++m)
    if (used[m] > p.memories[m].capacity)
      return blockedAt = 0, std::nullopt;

  std::vector<uint32_t> waiting(n);
  std::vector<int64_t> ready(n, 0);
  std::set<std::pair<int64_t, Id>> heap;
  for (Id t = 0; t < n; ++t)
    if ((waiting[t] = static_cast<uint32_t>(in.before(t).size())) == 0)
      heap.insert({key[t], t});
  ResourceProfile profile(p);
  int64_t now = 0;

  /// What the task adds to each memory when it starts, and what may go when it ends.
  auto growth = [&](Id t) {
    int64_t grows = 0;
    if (!happens(t))
      return grows;
    for (uint32_t b : makes[t])
      if (open[b] > 1)
        grows += p.buffers[b].bytes;
    for (uint32_t b : reads[t])
      if (open[b] == 1)
        grows -= p.buffers[b].bytes;
    return grows;
  };
  while (!heap.empty()) {
    auto next = heap.begin();
    if (minMemoryFirst)
      for (auto it = heap.begin(); it != heap.end(); ++it)
        if (growth(it->second) < growth(next->second))
          next = it;
    Id t = next->second;
    heap.erase(next);
    const auto &mode = in.mode(t, modes[t]);
    if (!mode.absent) {
      int64_t start = std::max(now, ready[t]);
      for (;;) {
        start = profile.earliest(mode, start);
        while (!releases.empty() && releases.begin()->time <= start) {
          used[releases.begin()->memory] -= releases.begin()->bytes;
          releases.erase(releases.begin());
        }
        bool room = true;
        for (uint32_t b : makes[t])
          used[p.buffers[b].memory] += p.buffers[b].bytes;
        for (Id m = 0; m < p.memories.size(); ++m)
          room &= used[m] <= p.memories[m].capacity;
        if (room)
          break;
        for (uint32_t b : makes[t])
          used[p.buffers[b].memory] -= p.buffers[b].bytes;
        if (releases.empty())
          return blockedAt = t, std::nullopt;
        start = std::max(start, releases.begin()->time);
      }
      out.start[t] = now = start;
      int64_t over = start + mode.duration;
      profile.take(mode, start);
      out.makespan = std::max(out.makespan, over);
      auto close = [&](uint32_t b) {
        end[b] = std::max(end[b], over);
        if (--open[b] == 0)
          releases.insert({end[b], p.buffers[b].memory, p.buffers[b].bytes});
      };
      for (uint32_t b : makes[t])
        close(b);
      for (uint32_t b : reads[t])
        for (const auto &reader : p.buffers[b].readers)
          if (reader.task == t && readsIt(reader) &&
              (p.buffers[b].producer == SchedulingProblem::kNoTask || happens(p.buffers[b].producer)))
            close(b);
    }
    for (const Edge &e : in.after(t)) {
      if (!mode.absent)
        ready[e.task] = std::max(ready[e.task], out.start[t] + mode.duration + e.delay);
      if (--waiting[e.task] == 0)
        heap.insert({key[e.task], e.task});
    }
  }
  return out;
}

} // namespace accord::solve
