// What a layer costs in a parallel configuration: from its use on one device to a placement problem's `Cost`.
#pragma once
#include "lib/placement/builder/CalibratedPrices.h"
#include "lib/placement/builder/Layers.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/placement/problem/Placement.h"
#include <string>
#include <vector>

namespace accord {

/// What is said of all layers of a parallel configuration.
struct ParallelConfigCosts {
  const ParallelConfig *parallelConfig = nullptr;
  int64_t batch = 1;
  std::vector<std::string> recomputePolicies; ///< policies, by position in the uses
  /// By position in the uses, and whether activations are in the host's memory. Where there is one, a layer for which
  /// the first policy takes no more of anything keeps so.
  struct RecomputeChoice {
    size_t policy = 0;
    bool offload = false;
  };
  std::vector<RecomputeChoice> recomputeChoices;
  /// Of the framework, in mixed precision: bytes of a gradient that is kept, and of one that is exchanged, over those
  /// of the graph; and whether weights in the type of products are there only while their layer runs.
  double gradientRatio = 1, reductionRatio = 1;
  bool masterWeightsAlone = false;
  double lossRatio = 0;   ///< and what the loss holds at a time, over the bytes of the graph's logits; 0: as the graph
  double hostPerByte = 0; ///< picoseconds, in one direction; both are used at once
};

/// What the layers of a parallel configuration may keep, of so many policies: one choice for each layer, or one for all
/// of them.
std::vector<std::vector<ParallelConfigCosts::RecomputeChoice>> recomputeChoicesOf(const PlacementSpace &space,
                                                                                  size_t policies);

/// Of one class of layers: its uses by policy, on one of `config.data` replicas. `whole`: the first
/// of them where replicas divide nothing, else null if that is `uses` itself.
///   Memory. ZeRO divides what all replicas have; of what they divide already each has its own, and
///   its gradients are not exchanged. Sparse gradients are gathered: of tables that each replica
///   has whole, half their bytes count as gradients. Copies of weights for products of 8 bits lie beside the weights
///   where each replica updates all of them. From stage 1 on they lie instead of them: two copies of 8 bits take what
///   the weight of 16 bits took, and its master is among the states that replicas divide (Megatron-LM's
///   --fp8-param-gather). What is gathered is counted in 16 bits all the same. Host (Ren et al.,
///   ZeRO-Offload, USENIX ATC 2021; Rajbhandari et al., ZeRO-Infinity, SC 2021). Over the link to the host, of H
///   picoseconds a byte in each direction, go: states of the optimizer, there and back in the update, max(update,
///   states H); weights W, in before either pass, while the layer before it runs: max(pass, W H); activations A, out in
///   the forward and in in the backward pass: max(forward, max(W, A) H) and max(backward, (W + A) H). What is under way
///   is in two buffers: 2 W and 2 A more of `workspace`.
PlacementProblem::Cost costOf(const ParallelConfigCosts &of, const std::vector<LayerUse> &uses, const LayerUse *whole);

/// Whether parallel configuration `other` of the problem, which has the same degrees, takes no more of anything for any
/// layer than `parallelConfig` with its costs by class.
bool isDominated(const PlacementProblem &problem, const ParallelConfig &parallelConfig,
                 const std::vector<PlacementProblem::Cost> &costs, size_t other);

/// Device types, links between them, and what is said of the problem as a whole. `prices`: by group, of calibrated
/// machines.
void addDevices(const PlacementProblemRequest &request, const std::vector<std::optional<CalibratedPrices>> &prices,
                PlacementProblem &problem);
/// What of each device is left to tensors with the framework's allocator, contexts and margin, and the host's time
/// where the machines state none.
DeviceMemory applyDeviceMemory(const Framework &framework, const PlacementProblemRequest &request,
                               PlacementProblem &problem);
/// What the problem takes for granted, in words, but for what was left out on the way; `numDominated`: parallel
/// configurations that another one makes needless.
std::vector<std::string> assumptionsOf(const PlacementProblemRequest &request,
                                       const std::vector<std::optional<CalibratedPrices>> &prices, size_t numDominated,
                                       const PlacementProblem &problem);
/// Where stages are to be equal: they share the iterations of the repeat with the most. A0946: there is none, or no
/// number of groups divides it.
std::optional<Error> requireUniformStages(const PlacementProblemRequest &request, const Layering &layering,
                                          PlacementProblem &problem);
/// A0946: no degrees of the space divide the batch among the devices.
Error noDegreesDivide(const PlacementProblemRequest &request, const PlacementProblem &problem);
/// A0946: a step that nobody can simulate pass by pass, whatever is chosen.
std::optional<Error> tooManyPasses(const PlacementProblemRequest &request, const PlacementProblem &problem);
/// What the host adds to each micro-batch and each step of this work: of several machines, the most.
void addHostOverheads(const PlacementProblemRequest &request,
                      const std::vector<std::optional<CalibratedPrices>> &prices, const WorkGraph &work,
                      PlacementProblem &problem);
/// Input of a step that comes no faster than its loaders deliver it: `minStep`, or more of `hostOverheadPerStep` where
/// nothing is loaded ahead; by as many workers as there may be. What is assumed; nothing without a loader. Errors as
/// `chooseLoader`.
Result<std::string> addDataLoading(const PlacementProblemRequest &request, const WorkGraph &work,
                                   PlacementProblem &problem);

} // namespace accord
