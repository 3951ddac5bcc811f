// What a given placement is worth: times of its stages, memory of its devices, length of a step.
#pragma once
#include "lib/placement/problem/Placement.h"

namespace accord {

/// Layers of one stage in one form, without what depends on the other stages.
struct StageWork {
  int64_t forward = 0, backward = 0, weight = 0, update = 0;
  int64_t staticMemory = 0, gradients = 0, expertGradients = 0, weights = 0;
  int64_t hostStaticMemory = 0, hostActivations = 0; ///< in the host's memory
  int64_t activations = 0;                           ///< of one micro-batch
  int64_t workspace = 0;                             ///< the most of a layer
  double joules = 0;
};
/// Sums over layers; nothing where one of them cannot run in the parallel configuration. `recomputeChoices` as in
/// PlacedStage.
std::optional<StageWork> workOf(const PlacementProblem &problem, const PlacedStage &stage);

/// What exchanging gradients takes: of what all replicas have in common, then of experts.
int64_t gradientSyncTime(const PlacementProblem &problem, PlacementProblem::Id parallelConfig, const StageWork &work,
                         int64_t replicasPerNode);
/// Exposed exchange of gradients and update:
///   sync - min(hides * sync, hidden * (backward + weight)) + update.
/// `replicasPerNode`: replicas of a stage in one server.
int64_t exposedStepTail(const PlacementProblem &problem, PlacementProblem::Id parallelConfig, const StageWork &work,
                        int64_t replicasPerNode);

/// Replicas of a stage in one server: max(1, min(data, devicesPerNode / tensor)) where its devices are in a row; where
/// those of a replica are, through all `groups`, devicesPerNode / (tensor * groups).
int64_t countReplicasPerNode(const PlacementProblem &problem, PlacementProblem::Id parallelConfig, int64_t groups);

/// Whether all replicas have device groups `a` and `b` (from 0) of `groups` in one server each, if all groups have the
/// parallel configuration and its ranks run replica after replica.
bool replicasShareNode(const PlacementProblem &problem, PlacementProblem::Id parallelConfig, int64_t a, int64_t b,
                       int64_t groups);

/// Whether the plan is one of the problem: each layer in one stage, no edge back, parallel configurations that belong
/// together (same samples per micro-batch, samples = batch), devices enough, virtual stages and schedule allowed. Empty
/// if so. Memory is not looked at.
std::vector<std::string> findViolations(const PlacementProblem &problem, const Placement &plan);

/// Of a plan without violations.
/// - forward of a stage = its layers' + hostOverheadPerMicrobatch + gather(weights) + blocking: receiving what
///   comes from each earlier stage
/// - backward = layers' backward and `recomputeTime` + gather(weights) + blocking: receiving gradients from
///   each later stage
/// - transfer time between stages a and b = link(bytes of a sample between them * samples of a
/// micro-batch /
///   min(devices of a, devices of b)), `inside` if the devices of both are of one device type and in one
///   server
/// - memory of a group = sum of static memory + sum over its stages of inFlight * activations + the largest
///   `workspace`, where inFlight is what its stages hold when that sum is largest (`peakOf`); of its
///   host the same of `hostStaticMemory` and `hostActivations`, when that sum is largest
/// - finish of both groups of a tie + link(the larger `tied`)
/// - step = max(simulated + hostOverheadPerStep, minStep)
PlanMetrics evaluate(const PlacementProblem &problem, const Placement &plan);

/// Step time * thermal design power of the devices used, in W s.
double tdpTimeOf(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics);
/// Bytes of the fullest device.
int64_t maxDeviceMemory(const PlanMetrics &metrics);

/// What goes from a stage to a later one for each micro-batch, and its gradient back.
struct StageTransfer {
  uint32_t from = 0, to = 0;
  double bytes = 0;       ///< of one device; 0 between virtual stages of one group
  bool intraNode = false; ///< of a server
  int64_t time = 0;
};
/// Of a plan without violations; one for each pair of stages with an edge, by `to`, then `from`.
std::vector<StageTransfer> transfersOf(const PlacementProblem &problem, const Placement &plan);
/// Gradients of a parameter that two device groups have in common: bytes of each device of the smaller one, both ways.
struct TieTransfer {
  uint32_t a = 0, b = 0; ///< groups
  double bytes = 0;
  bool intraNode = false;
};
/// Of a plan without violations, by `PlacementProblem::ties`; those within one group are left out.
std::vector<TieTransfer> tieTransfersOf(const PlacementProblem &problem, const Placement &plan);
/// `evaluate` without the simulation: times, memory and room of micro-batches alone; and `edges`, which stages each one
/// waits for.
PlanMetrics evaluateStages(const PlacementProblem &problem, const Placement &plan,
                           std::vector<std::vector<uint32_t>> &edges);

} // namespace accord
