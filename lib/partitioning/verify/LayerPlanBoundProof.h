// A lower bound of the load of pipelines of profiled layers, by a search of its own.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/partitioning/verify/PartitioningBoundProof.h"

namespace accord {

/// Whether no plan has a load below `bound` seconds, by a part in 10^9 (infinity: that there is no plan at all). Needs
/// a graph that `check` passes.
/// 1. Work: the longest stage has 1 / devices of the device time of all layers or more, and what its longest layer
/// needs
///    in its best configuration on all devices.
/// 2. Sets: from the last stage to the first, each set of layers that stages below the bound can have done, with the
///    devices and data degrees they took. Of a stage, all pairs of load and memory of its configurations that no other
///    pair is better than in both (Pareto fronts, layer by layer).
/// `allowReplicas`: whether data degrees above 1 count. At most `effort` pairs are looked at.
BoundVerdict proveLayerPlanBound(const LayerGraph &graph, double bound, bool allowReplicas,
                                 uint64_t effort = 20'000'000);

} // namespace accord
