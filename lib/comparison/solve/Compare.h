// Which operation of a plan is which of a measured step.
//
//   auto plan = plannedStepOf(readPlan);        // PlannedStep.h
//   auto step = extractStep(events, {});        // lib/comparison/trace
//   Comparison both = compare(std::move(*plan), std::move(*step));
//
// Operations are recognized, the surest way first:
//   1. name: an annotation around the call has the name of the operation, without numbers of layers, or one ends in the
//      other at a point.
//   2. sequence: a call of the backward pass has the number that automatic differentiation gave the forward call, and
//      does the work of one of its gradients. A call that computes all gradients of a convolution is all of them.
//   3. shapes: forward calls, and backward calls that are left, are aligned with the operations in the order of the
//      graph, micro-batch by micro-batch (Alignment.h); what is left over and does the same work within the next 64
//      operations is the same, too, since frameworks run gradients in an order of their own.
//   4. order: what stands between two recognized operations. Several operations are one call where it is a product with
//      the FLOPs of all of them, an attention where there are products and a softmax, or a kernel that a compiler
//      fused. A call behind one of the same class belongs to it.
// What is recognized by class alone, since the trace has no shapes, counts as order.
#pragma once
#include "lib/comparison/problem/Comparison.h"

namespace accord::comparison {

/// Every call of the step is in one row, one group, or in `extra`. The same answer for the same input.
Comparison compare(PlannedStep plan, MeasuredStep measured);

} // namespace accord::comparison
