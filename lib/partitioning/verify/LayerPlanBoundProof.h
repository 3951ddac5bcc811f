// A lower bound of an objective of pipelines of profiled layers, by a search of its own.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/partitioning/verify/PartitioningBoundProof.h"

namespace accord {

/// Whether no plan has less than `bound` seconds of the objective, by a part in 10^9 (infinity: that there is no plan
/// at all). Needs a graph that `check` passes.
/// 1. Work: the longest stage has 1 / devices of the device time of all layers or more (of a step, times the
///    micro-batches), and what its longest layer needs in its best configuration on all devices; one micro-batch takes
///    the shortest time of each layer.
/// 2. Sets: from the last stage to the first, each set of layers that stages below the bound can have done, with the
///    devices and data degrees they took, and with their latency and the longest remainder where the objective counts
///    them. Of a stage, all times and memory of its configurations that no other one is better than in all (Pareto
///    fronts, layer by layer).
/// `allowReplicas`: whether data degrees above 1 count. At most `effort` steps are taken.
BoundVerdict proveLayerPlanBound(const LayerGraph &graph, double bound, bool allowReplicas,
                                 PipelineObjective objective = PipelineObjective::Load, uint64_t effort = 20'000'000);

} // namespace accord
