#include "lib/scheduling/solve/ListScheduler.h"
#include <algorithm>
#include <map>
#include <queue>

namespace accord::solve {
namespace {

/// Candidates of one group that are tried when the resources are taken in part.
constexpr unsigned kTries = 16;

} // namespace

ListScheduler::ListScheduler(const Instance &instance, const std::vector<Id> &modes)
    : in(instance), modes(modes), group(instance.size()) {
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (Id t = 0; t < group.size(); ++t) {
    std::vector<uint32_t> resources;
    for (const auto &use : mode(t).usage)
      resources.push_back(use.of);
    std::sort(resources.begin(), resources.end());
    group[t] = known.emplace(std::move(resources), known.size()).first->second;
  }
  groups = known.size();
}

int64_t ListScheduler::lengthOf(const std::vector<int64_t> &start) const {
  int64_t length = 0;
  for (size_t t = 0; t < start.size(); ++t)
    length = std::max(length, start[t] + mode(t).duration);
  return length;
}

std::vector<int64_t> ListScheduler::run(const std::vector<int64_t> &key, bool backward) {
  size_t n = in.size();
  using Entry = std::pair<int64_t, uint32_t>; // key or time, task
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  std::vector<int64_t> start(n, 0), release(n, 0), free;
  for (const auto &r : in.problem.resources)
    free.push_back(r.capacity);
  std::vector<size_t> waiting(n);
  std::vector<std::set<Entry>> ready(groups);
  Queue running, later;
  for (Id t = 0; t < n; ++t)
    if ((waiting[t] = (backward ? in.after(t) : in.before(t)).size()) == 0)
      ready[group[t]].insert({key[t], t});

  int64_t now = 0;
  struct Cursor {
    std::set<Entry>::iterator at;
    unsigned tries = 0;
    bool open = true;
  };
  std::vector<Cursor> cursors(groups);
  for (;;) {
    for (uint32_t g = 0; g < groups; ++g)
      cursors[g] = {ready[g].begin(), 0, !ready[g].empty()};
    for (;;) {
      uint32_t best = groups;
      for (uint32_t g = 0; g < groups; ++g)
        if (cursors[g].open && (best == groups || *cursors[g].at < *cursors[best].at))
          best = g;
      if (best == groups)
        break;
      Cursor &cursor = cursors[best];
      uint32_t task = cursor.at->second;
      bool fits = true;
      for (const auto &use : mode(task).usage) {
        fits &= use.amount <= free[use.of];
        cursor.open &= free[use.of] > 0; // everyone in the group needs some of it
      }
      if (fits) {
        for (const auto &use : mode(task).usage)
          free[use.of] -= use.amount;
        start[task] = now;
        running.push({now + mode(task).duration, task});
        cursor.at = ready[best].erase(cursor.at);
      } else {
        ++cursor.at;
        cursor.open &= ++cursor.tries < kTries;
      }
      cursor.open &= cursor.at != ready[best].end();
    }
    if (running.empty() && later.empty())
      return start;
    now = INT64_MAX;
    if (!running.empty())
      now = running.top().first;
    if (!later.empty())
      now = std::min(now, later.top().first);
    while (!running.empty() && running.top().first == now) {
      uint32_t task = running.top().second;
      running.pop();
      for (const auto &use : mode(task).usage)
        free[use.of] += use.amount;
      bool happens = !mode(task).absent;
      for (const Edge &e : backward ? in.before(task) : in.after(task)) {
        if (happens)
          release[e.task] = std::max(release[e.task], now + e.delay);
        if (--waiting[e.task] == 0)
          later.push({std::max(now, release[e.task]), e.task});
      }
    }
    while (!later.empty() && later.top().first <= now) {
      uint32_t task = later.top().second;
      later.pop();
      ready[group[task]].insert({key[task], task});
    }
  }
}

SerialScheduler::SerialScheduler(const Instance &instance)
    : in(instance), start(instance.size()), ready(instance.size()), waiting(instance.size()) {}

const std::vector<int64_t> &SerialScheduler::run(const std::vector<int64_t> &key, const std::vector<Id> &modes,
                                                 bool backward) {
  profile.reset(in.problem);
  longest = 0;
  heap.clear();
  auto later = std::greater<>();
  for (Id t = 0; t < in.size(); ++t) {
    ready[t] = 0;
    waiting[t] = (backward ? in.after(t) : in.before(t)).size();
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
  work += in.size();
  return start;
}

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

std::optional<SchedulingSolution> MemoryScheduler::run(const std::vector<int64_t> &key, const std::vector<Id> &modes,
                                                       bool minMemoryFirst) {
  work += in.size();
  const SchedulingProblem &p = in.problem;
  open.assign(p.buffers.size(), 0), end.assign(p.buffers.size(), 0), used.assign(p.memories.size(), 0);
  releases.clear();
  profile.reset(p);
  now = 0;
  result = {std::vector<int64_t>(in.size()), modes, 0};
  openBuffers();
  if (!hasRoom())
    return std::nullopt;
  std::vector<size_t> waiting(in.size());
  std::vector<int64_t> ready(in.size());
  std::set<std::pair<int64_t, Id>> queue;
  for (Id t = 0; t < in.size(); ++t)
    if ((waiting[t] = in.before(t).size()) == 0)
      queue.insert({key[t], t});
  while (!queue.empty()) {
    auto next = minMemoryFirst ? std::ranges::min_element(queue, {}, [&](auto &one) { return growth(one.second); })
                               : queue.begin();
    Id t = next->second;
    queue.erase(next);
    if (!modeOf(t).absent && !place(t, ready[t]))
      return std::nullopt;
    for (const Edge &e : in.after(t)) {
      if (!modeOf(t).absent)
        ready[e.task] = std::max(ready[e.task], result.start[t] + modeOf(t).duration + e.delay);
      if (--waiting[e.task] == 0)
        queue.insert({key[e.task], e.task});
    }
  }
  return std::move(result);
}

/// Buffers that are there from the start are in memory.
void MemoryScheduler::openBuffers() {
  for (size_t b = 0; b < in.problem.buffers.size(); ++b) {
    const SchedulingProblem::Buffer &buffer = in.problem.buffers[b];
    if (!isMade(buffer))
      continue;
    bool hasProducer = buffer.producer != SchedulingProblem::kNoTask;
    open[b] = hasProducer + buffer.persistent; // what is kept never closes
    for (const auto &reader : buffer.readers)
      open[b] += readsIt(reader);
    if (!hasProducer && open[b] > 0)
      used[buffer.memory] += buffer.bytes;
  }
}

/// What the task adds to the memories when it starts, less what may go when it ends.
int64_t MemoryScheduler::growth(Id t) const {
  int64_t grows = 0;
  if (modeOf(t).absent)
    return grows;
  for (uint32_t b : makes[t])
    if (open[b] > 1)
      grows += in.problem.buffers[b].bytes;
  for (uint32_t b : reads[t])
    if (open[b] == 1)
      grows -= in.problem.buffers[b].bytes;
  return grows;
}

/// Starts a task as early as it can. False: the memories never have room.
bool MemoryScheduler::place(Id t, int64_t ready) {
  const SchedulingProblem::Mode &mode = modeOf(t);
  auto add = [&](int64_t sign) {
    for (uint32_t b : makes[t])
      used[in.problem.buffers[b].memory] += sign * in.problem.buffers[b].bytes;
  };
  for (int64_t start = std::max(now, ready);; start = std::max(start, releases.begin()->time)) {
    now = start = profile.earliest(mode, start);
    while (!releases.empty() && releases.begin()->time <= start) {
      used[releases.begin()->memory] -= releases.begin()->bytes;
      releases.erase(releases.begin());
    }
    add(1);
    if (hasRoom())
      break;
    add(-1);
    if (releases.empty())
      return false;
  }
  result.start[t] = now;
  profile.take(mode, now);
  int64_t over = now + mode.duration;
  result.makespan = std::max(result.makespan, over);
  for (uint32_t b : makes[t])
    close(b, over);
  for (uint32_t b : reads[t])
    for (const auto &reader : in.problem.buffers[b].readers)
      if (reader.task == t && readsIt(reader) && isMade(in.problem.buffers[b]))
        close(b, over);
  return true;
}

/// A task that makes or reads the buffer ends at `over`.
void MemoryScheduler::close(uint32_t b, int64_t over) {
  end[b] = std::max(end[b], over);
  if (--open[b] == 0)
    releases.insert({end[b], in.problem.buffers[b].memory, in.problem.buffers[b].bytes});
}

} // namespace accord::solve
