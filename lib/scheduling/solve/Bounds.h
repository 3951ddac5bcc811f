// Lower bounds by arithmetic.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include "lib/scheduling/solve/Instance.h"

namespace accord::solve {

/// The best of: the longest chain; for each resource the work of sets of tasks between the least
/// chain before and the least chain after them (Carlier 1982 for one machine, with amount *
/// duration / capacity as work where a resource is shared). Tasks count with the mode that needs
/// the least of the resource.
SchedulingBound simpleBound(const Instance &instance);

/// What `amount` * duration of a resource a task needs at least, whatever its mode.
__int128 minWork(const Instance &instance, Id task, Id resource);

} // namespace accord::solve
