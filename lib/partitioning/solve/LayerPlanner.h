// Stages, tensor and data degrees, and a configuration for each profiled layer: the pipeline of minimum load.
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/search/SearchLimits.h"

namespace accord {

/// At most 2^(14 + effort) stages are looked at.
struct LayerPlanOptions : SearchLimits {
  bool allowReplicas = true; ///< whether data degrees above 1 are in the search space
  PipelineObjective objective = PipelineObjective::Load;
};

/// Needs a graph that `check` passes. Deterministic unless stopped.
///
/// A dynamic program over what the last stages have done (Tarnawski et al. 2021, section 4), from the sink to the
/// source: of each such set of layers, what is the minimum with so many devices and data degrees (of the makespan: all
/// pairs of latency and remainder that none is better than). It runs on a topological order first, which gives a plan;
/// then on all sets, without stages that are as long as the best plan, and without sets whose rest the devices left
/// over cannot do in less. The configurations of a stage are a knapsack of several choices, solved by branch and bound
/// on its linear relaxation (Sinha and Zoltners 1979); of the makespan all that none is better than.
///
/// Optimal where nothing was left out by the limits; else the bound is what arithmetic says: the work of all layers on
/// all devices, the shortest that the longest layer can take, the shortest times one after another.
LayerPlan planLayers(const LayerGraph &graph, const LayerPlanOptions &options = {});

} // namespace accord
