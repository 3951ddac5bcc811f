// The latency model of a plan for a cluster, from the problem that the plan solves.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include "lib/placement/problem/PlacementPlan.h"
#include <atomic>

namespace accord {

struct PlacementLatencyOptions {
  size_t maxPlans = 16;        ///< degrees and micro-batches that are planned, the nearest to the plan's first
  size_t maxPasses = 1u << 20; ///< micro-batches * stages that are simulated for one of them
  const std::atomic<bool> *stop = nullptr; ///< set: there is no model
};

/// Step time, memory of the fullest device and FLOPs as functions of the global batch, micro-batch, parallel degrees
/// and devices, with the plan's values as defaults. At each choice of tensor, pipeline and data parallel degree and
/// micro-batch the stages, virtual stages and recomputation are the best that `place` finds there with what else the
/// plan's parallel configuration has (sharding of states, offloading, …) and its schedule; at the plan's own they are
/// the plan's. Over the batch these stay, and the step is what `evaluate` gives for so many micro-batches: simulated
/// where pipelines fill, and in equal steps beyond, which is where the model ends its table. Plans of several parallel
/// configurations hold their degrees. A0707: no plan, or a step that does not grow in equal steps.
Result<LatencyModel> placementLatencyModel(const PlacementPlan &plan, const PlacementLatencyOptions &options = {});

} // namespace accord
