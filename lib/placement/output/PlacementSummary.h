// What people read on the terminal of a plan for a cluster.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/output/Summary.h"

namespace accord {

/// Model, cluster, degrees, schedule, step time, throughput, MFU, memory of the fullest device, bubbles, gap, the
/// nearest runner-up; of a plan that does not exist the conflicts and what would help.
std::string placementSummary(const PlacementPlan &plan, const SummaryOptions &options, const TextStyle &style);

/// "3.2 s", "41 min", "27.5 h", "33.4 days".
std::string formatDuration(double seconds);

/// Stage by stage: layers, devices, time, memory, bubbles.
std::string stageTable(const PlacementPlan &plan, const TextStyle &style);

/// Where a layer is and what it takes there: stage, devices, times of a micro-batch, memory, what is computed again.
/// Fails on an unknown name, with the nearest one.
llvm::Expected<std::string> explainLayer(const PlacementPlan &plan, llvm::StringRef layer, const TextStyle &style);

} // namespace accord
