#include "lib/solve/OneMachine.h"
#include <algorithm>
#include <queue>

namespace accord {

int64_t preemptiveOneMachine(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.head < b.head; });
  std::priority_queue<std::pair<int64_t, size_t>> available; // tail, job
  int64_t now = 0, best = 0;
  for (size_t i = 0; i < jobs.size() || !available.empty();) {
    if (available.empty())
      now = std::max(now, jobs[i].head);
    for (; i < jobs.size() && jobs[i].head <= now; ++i)
      available.push({jobs[i].tail, i});
    Job &job = jobs[available.top().second];
    int64_t until = now + job.work;
    if (i < jobs.size())
      until = std::min(until, jobs[i].head);
    job.work -= until - now;
    now = until;
    if (job.work == 0) {
      available.pop();
      best = std::max(best, now + job.tail);
    }
  }
  return best;
}

} // namespace accord
