// Resources that follow from others: what makes two tasks exclude each other across resources.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"

namespace accord {

/// Adds one resource for each of the first `count` (in their order) that some tasks need besides
/// others that never run beside these: an operation that takes all of a memory's bandwidth stands
/// in the way of each one on a core, though it does not use that core, and so does one that each of
/// them precedes or follows. The new one is used like the old one, and wholly by those other tasks:
/// the longest first (the first among equals) that no task which uses it, and none that was taken
/// before, can run beside, by precedences or whatever their modes. No schedule is lost; bounds by
/// work on one resource see both. O(tasks^2 * modes^2 * usage + tasks * precedences).
void addJointResources(SchedulingProblem &problem, size_t count);

} // namespace accord
