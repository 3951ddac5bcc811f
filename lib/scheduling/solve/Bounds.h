// Lower bounds by arithmetic.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/scheduling/solve/Instance.h"
#include <vector>

namespace accord {

struct Job {
  int64_t head; ///< does not start before
  int64_t work; ///< time on the resource alone
  int64_t tail; ///< follows at least
};

/// A set of jobs: those with at least this head and this tail.
struct CriticalSet {
  int64_t value = 0, head = 0, tail = 0;
};
/// The least time in which one machine with preemption finishes all jobs and their tails, and the set that attains it:
/// at each time the available job with the largest tail (Carlier, The one-machine sequencing problem, EJOR 11, 1982).
/// It equals the largest of least head + work + least tail over all sets of jobs, hence also bounds a resource that
/// jobs share in parts, with `work` as their share of it. O(n log n).
CriticalSet criticalSet(std::vector<Job> jobs);

namespace solve {

/// The best of: the longest chain; for each resource the work of sets of tasks between the least
/// chain before and the least chain after them (Carlier 1982 for one machine, with amount *
/// duration / capacity as work where a resource is shared). Tasks count with the mode that needs
/// the least of the resource.
SchedulingBound simpleBound(const Instance &instance);

/// What `amount` * duration of a resource a task needs at least, whatever its mode.
__int128 minWork(const Instance &instance, Id task, Id resource);

} // namespace solve
} // namespace accord
