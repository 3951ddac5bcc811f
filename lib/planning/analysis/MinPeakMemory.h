// Device memory that a step takes whatever the schedule.
#pragma once
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Bytes: all residents, and for some operation of a micro-batch what is alive when it ends, in any
/// order of the operations: what it or those before it make and those behind it read (a cut of the
/// dependences; for the loss, the stashed activations). No schedule's peak is less. Of more than
/// 20,000 operations in a micro-batch: the residents alone.
double minPeakMemory(const WorkGraph &graph);

} // namespace accord
