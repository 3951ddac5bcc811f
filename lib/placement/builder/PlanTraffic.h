// From a plan to what its devices send over each link in a step.
#pragma once
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/placement/problem/LinkTraffic.h"

namespace accord {

/// Of a plan of the problem that was built of the request, with its layering.
/// - Inside of layers: the exchanges of the training graph that each layer's costs are made of, by the algorithm that
///   their time is of (`CollectiveModel`), as often as they run: in the forward and the backward pass of each
///   micro-batch, again where the layer is computed again.
/// - Gradients, by the stage of ZeRO (Rajbhandari et al., SC 2020): 0 an all-reduce of them after the last micro-batch;
///   1 a reduce-scatter, and a gather of weights; 2 a reduce-scatter in each micro-batch, and the gather at the end;
///   3 the reduce-scatter and two gathers in each micro-batch. Those of divided experts by themselves.
/// - Between stages: activations of each micro-batch, and as many bytes of gradients back.
/// - The host: states of the optimizer once, weights twice and activations once for each micro-batch.
/// Errors: of `instantiate` and of exchanges that the fabric does not route.
Result<LinkTraffic> trafficOf(const PlacementProblemRequest &request, const Layering &layering,
                              const PlacementProblem &problem, const Placement &plan);

} // namespace accord
