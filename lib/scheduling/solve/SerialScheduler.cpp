#include "lib/scheduling/solve/SerialScheduler.h"

namespace accord::solve {

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

} // namespace accord::solve
