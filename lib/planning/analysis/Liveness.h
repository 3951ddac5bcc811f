// How much device memory a scheduled step holds at each time.
#pragma once
#include "lib/machine/model/Plan.h"

namespace accord {

struct LivenessOptions {
  unsigned points = 2000; ///< most points of the timeline
};

/// Memory over a schedule: residents, plus every other value from the start of its producer to the
/// end of its last consumer.
///   - Values of categories Weights, Gradients and OptimizerStates are parts of the residents and
///   not counted again, so
///     gradients of activations have to be Activations or Temporaries.
///   - A value without producer (an input) lives from the start of its region's iteration.
///   - Views and arguments share storage. A carried value hands its storage to the next iteration.
///   - A stash keeps the storage of its slice until the consuming repeat has used it: the newest
///   slice first if it runs the other way than the repeat that made it, else the oldest. The
///   slices of a tensor that is taken apart are that tensor.
///   - Several micro-batches: each uses the memory of the first; what the update reads lives to its
///   last use there.
/// The first and last two iterations of a repeat are followed (more if carried values are handed
/// from argument to argument); between them memory is linear in the iteration, so the peak is
/// exact. What the surrounding region holds only during a part of a repeat counts for all of it (an
/// upper bound). The schedule is complete: each operation of a region has its slot.
MemoryUse liveness(const WorkGraph &graph, const Schedule &schedule, const LivenessOptions &options = {});

} // namespace accord
