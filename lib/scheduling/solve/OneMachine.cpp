#include "lib/scheduling/solve/OneMachine.h"
#include <algorithm>
#include <queue>

namespace accord {

CriticalSet criticalSet(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.head < b.head; });
  struct Segment {
    int64_t from, to, tail;
  };
  std::vector<Segment> segments;
  std::priority_queue<std::pair<int64_t, size_t>> available; // tail, job
  int64_t now = 0;
  size_t last = 0; // segment in which the critical job ends
  CriticalSet best;
  for (size_t i = 0; i < jobs.size() || !available.empty();) {
    if (available.empty())
      now = std::max(now, jobs[i].head);
    for (; i < jobs.size() && jobs[i].head <= now; ++i)
      available.push({jobs[i].tail, i});
    Job &job = jobs[available.top().second];
    int64_t until = now + job.work;
    if (i < jobs.size())
      until = std::min(until, jobs[i].head);
    segments.push_back({now, until, job.tail});
    job.work -= until - now;
    now = until;
    if (job.work == 0) {
      available.pop();
      if (now + job.tail > best.value)
        best = {now + job.tail, 0, job.tail}, last = segments.size() - 1;
    }
  }
  // Back to where the machine last did something less urgent, or nothing.
  for (size_t i = best.value > 0 ? last + 1 : 0; i-- > 0;) {
    if (segments[i].tail < best.tail || (i < last && segments[i].to < segments[i + 1].from))
      break;
    best.head = segments[i].from;
  }
  return best;
}

int64_t preemptiveOneMachine(std::vector<Job> jobs) { return criticalSet(std::move(jobs)).value; }

} // namespace accord
