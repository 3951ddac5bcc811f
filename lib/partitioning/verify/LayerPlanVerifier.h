// Judges a plan of profiled layers again, without the code that made it.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"

namespace accord {

/// Of a feasible plan: each layer in one stage with a configuration of the stage's tensor degree (A0909), no edge back
/// (A0944), devices, data degrees and memory (A0904), each stage's times and memory, the value of the objective and a
/// bound that is not above it (A0905), each to a part in 10^9. At most 20 issues.
Errors verify(const LayerGraph &graph, const LayerPlan &plan);

} // namespace accord
