// What no pipeline with stages on any designs of a space is below, from the least that layers take.
#pragma once
#include "lib/exploration/clusters/StageLayers.h"

namespace accord {

/// Numbers of stages that may be of these degrees.
std::vector<int64_t> stageCounts(const PlacementProblem &problem, const PlacementProblem::ParallelConfig &degrees);
/// Picoseconds of a step, by way the least `times` of all designs; `below` or more will do.
double stageStepBound(const StageLayers &layers, const std::vector<double> &times, double below);
/// Of a metric with a cost, by class also the least cost * time, and the least `cost` of a device.
double stageCostBound(const StageLayers &layers, const std::vector<double> &times,
                      const std::vector<double> &minCostTimes, double cost, MiningMetric metric, double below);

} // namespace accord
