// Proves a bound by feasible subsets again.
#pragma once
#include "lib/scheduling/problem/ConcurrentWork.h"
#include <functional>

namespace accord {

/// Whether no execution of one task ever runs beside one of the other; of a task with itself: none beside another.
using ApartInTime = std::function<bool(uint32_t, uint32_t)>;
/// A task by name, for messages.
using TaskName = std::function<std::string(uint32_t)>;

/// What `weights` prove: the sum of times * weight / unit, rounded up, if the sum of weight / (unit * duration) is at
/// most 1 over all executions that fit the capacities together and are not apart; else why not. `apart` is asked of
/// pairs that fit together, perhaps several times; neither `work.apart` nor `weights.value` is looked at. By branch and
/// bound over at most 20 million subsets.
Result<int64_t, std::string> provedBySubsets(const ConcurrentWork &work, const SubsetWeights &weights,
                                             const ApartInTime &apart, const TaskName &name);

} // namespace accord
