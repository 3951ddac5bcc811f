// The latency model of a plan for a cluster, from the problem that the plan solves.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include "lib/placement/problem/PlacementPlan.h"
#include <atomic>

namespace accord {

/// At these degrees and this micro-batch, and batches from `minBatch` to `maxBatch` samples that the model has: no plan
/// is shorter than the model's step by a larger share of it than `gap`.
struct PlacementInterval {
  int64_t tensor = 1, pipeline = 1, data = 1, microbatch = 1;
  int64_t minBatch = 1, maxBatch = 1;
  double gap = 0;
};

struct PlacementLatencyOptions {
  size_t maxPlans = 16;        ///< degrees and micro-batches that are in the model, the nearest to the plan's first
  size_t maxTried = 48;        ///< of which a plan is looked for: where there is none they are not in it
  unsigned effort = 4;         ///< of each search: a 64th of what `compile` takes by default
  size_t maxPasses = 1u << 20; ///< micro-batches * stages that are simulated for one of them
  const std::atomic<bool> *stop = nullptr;             ///< set: there is no model
  std::vector<PlacementInterval> *intervals = nullptr; ///< gets those that the notes state, by choice
};

/// Step time, memory of the fullest device and FLOPs as functions of the global batch, micro-batch, parallel degrees
/// and devices, with the plan's values as defaults. At each choice of tensor, pipeline and data parallel degree and
/// micro-batch all else of the search space (stages, schedule, recomputation, sharding of states, offloading, …) is
/// what `place` finds for the shortest step of the plan's batch, which the notes say how near it is to the best; at the
/// plan's own degrees it is the plan's. Over the batch it stays (notes say how near it is to the best there, too), and
/// the step is what `evaluate` gives for so many micro-batches: simulated where pipelines fill, and in equal steps
/// beyond, which is where the model ends its table. Plans of several parallel configurations hold their degrees. A0707:
/// no plan, or a step that does not grow in equal steps.
Result<LatencyModel> placementLatencyModel(const PlacementPlan &plan, const PlacementLatencyOptions &options = {});

} // namespace accord
