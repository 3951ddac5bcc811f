// A plan in the words of a comparison.
#pragma once
#include "lib/comparison/problem/Comparison.h"
#include "lib/machine/model/Plan.h"

namespace accord::comparison {

/// Operations of a plan that take time, with their work, and every execution of forward and backward pass in the order
/// of the graph: repeats unrolled, micro-batch after micro-batch. The update has no executions. Error A0901: costs that
/// belong to another graph, or more than 2^22 executions.
Result<PlannedStep> plannedStepOf(const Plan &plan);

} // namespace accord::comparison
