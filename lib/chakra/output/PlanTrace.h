// The execution trace of a plan of one device.
#pragma once
#include "lib/chakra/problem/ExecutionTrace.h"
#include "lib/machine/model/Plan.h"

namespace accord::chakra {

/// A step of the plan, unrolled: a node for each execution of an operation that takes time, behind a node that loads
/// the inputs of its micro-batch. A node depends on the nodes whose results reach it, through views, repeats and what
/// is kept for the backward pass; the first nodes of a micro-batch wait for the last node of the one before. Starts are
/// those of one execution after the other. Collectives are nodes of their own kind. Error A0812: more than 2^22 nodes.
Result<ExecutionTrace> traceOf(const Plan &plan);

} // namespace accord::chakra
