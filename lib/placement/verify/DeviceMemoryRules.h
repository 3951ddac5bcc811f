// What a plan says of the memory of its devices beyond tensors, again.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"

namespace accord {

/// Whether the bytes that the problem leaves to tensors on each device type are the most with which, by the plan's
/// framework, what is on the device and the margin are within its capacity and the limit; and whether each group of the
/// plan is within them. A0913 names a type with another number, A0904 a group that is above.
Errors deviceMemoryViolations(const PlacementPlan &plan);

} // namespace accord
