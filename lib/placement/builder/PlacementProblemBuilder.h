// From a training job and a cluster to a placement problem: what the degrees, micro-batches and memory savings that are
// in the search space cost.
#pragma once
#include "lib/machine/collectives/Cluster.h"
#include "lib/machine/collectives/Collective.h"
#include "lib/machine/cost/DataLoader.h"
#include "lib/placement/builder/Layers.h"
#include "lib/placement/problem/DeviceMemory.h"
#include "lib/placement/problem/SparsePlacement.h"
#include "llvm/ADT/ArrayRef.h"
#include <atomic>
#include <functional>

namespace accord {
class CommunicationCache;
class StepUses;
struct PlacementSparsityRequest;

inline constexpr const char *kGathered = "+gathered";

/// What may be chosen. Values that do not fit (a degree that does not divide the batch or needs more devices than there
/// are) are left out.
struct PlacementSpace {
  struct TensorSharding {
    int64_t tensor = 1;
    bool sequence = false;
    int64_t context = 1;
    ContextExchange contextExchange = ContextExchange::Ring;
    friend auto operator<=>(const TensorSharding &, const TensorSharding &) = default;
  };
  std::vector<TensorSharding> tensorShardings{{}}; ///< of one operation
  std::vector<int64_t> data;            ///< replicas with samples of their own; empty: all that divide the batch
  std::vector<int64_t> microbatches{1}; ///< ascending; those that no device has room for are left out
  std::vector<int> zero{0};
  /// "none", "selective", "full", or one of the first two and `kGathered`: what sequence parallelism has gathered for
  /// the forward pass is kept. Those that take the least time first.
  std::vector<std::string> recomputePolicies{"none"};
  bool uniformStages = false;    ///< see `PlacementProblem::uniformClass`
  bool uniformRecompute = false; ///< all layers of a parallel configuration keep alike
  std::vector<PipelineSchedule> schedules{PipelineSchedule::OneFOneB};
  std::vector<int64_t> virtualStages{2};
  std::vector<PlacementProblem::GroupRange> groups; ///< as the problem's

  /// What may be in the host's memory: states of the optimizer, weights (both for all layers alike), activations (for
  /// each layer).
  struct Offload {
    bool states = false, weights = false;
  };
  std::vector<Offload> offloads{{}};
  bool offloadActivations = false;
  std::vector<bool> ringOverlaps{false}; ///< `ParallelConfig::ringOverlap`
  std::vector<RankOrder> orders{RankOrder::TensorDataPipeline};
  /// What the replicas of a stage divide among them besides their samples.
  struct ReplicaSharding {
    int64_t experts = 1; ///< neighbours among which the experts of a layer are
    Tables tables = Tables::Whole;
    bool any() const { return experts > 1 || tables != Tables::Whole; }
  };
  std::vector<int64_t> experts{1}; ///< 1: each replica has all; another: so many divide them
  int64_t numExperts = 1;          ///< of every mixture: what divides all their numbers
  std::vector<Tables> tables{Tables::Whole};
  /// `recomputes`, and without what is kept where nothing is gathered along the sequence.
  std::vector<std::string> policiesOf(const TensorSharding &sharding) const;
  bool mayBeWhole() const; ///< each replica with all experts and tables
  /// No other degrees, micro-batches and stages of ZeRO than these have.
  void restrictTo(llvm::ArrayRef<ParallelConfig> configs);

  /// Ways in which `data` replicas of `tensor` devices may divide: experts among a number of them that divides theirs;
  /// tables among all, and then experts among all or none. An expert degree that does not divide `data` spans the
  /// tensor degree if all experts can be whole then.
  std::vector<ReplicaSharding> replicaShardings(int64_t data, int64_t tensor = 1) const;
  /// Whether the tensor degree and `among` replicas divide whole experts among them. Else each expert's matrices are
  /// divided among the devices of the tensor degree.
  bool hasWholeExperts(int64_t tensor, int64_t among) const { return numExperts % (tensor * among) == 0; }
  bool blockingTransfers = true;
};

PlacementSpace::TensorSharding shardingOf(const ParallelConfig &config);

/// Equal devices of a cluster, `fabric` among them, and what connects them with those of the other groups: nothing
/// where there is one group.
struct PlacementProblemRequest {
  std::string job;
  int64_t batch = 1;
  std::vector<Cluster> groups;
  std::optional<Network> between; ///< an endpoint is a server
  PlacementObjective objective = PlacementObjective::StepTime;
  double costPerJoule = 1; ///< see `PlacementProblem::costPerJoule`
  PlacementProblem::Limits limits;
  int64_t memory = 0; ///< of a device, besides its capacity; 0: no limit
  PlacementSpace space;
  std::string costModel; ///< empty: as the machines say

  /// Share of the last micro-batch's backward pass behind which gradients are exchanged. Buckets of them are sent while
  /// earlier layers compute theirs (Li et al., PyTorch Distributed, VLDB 2020, section 3.2.3); the first and last have
  /// nothing to hide behind. A calibrated machine says it itself.
  double overlapFraction = 0.9;
  double unlinked = 0; ///< share of the other devices of a server that no link reaches, as above
  SourceLocation location;
  /// The step of one device with as many micro-batches of this size as make the batch. Called once for each.
  std::function<Result<WorkGraph>(const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                  const std::string &recompute)>
      instantiate;
  /// The same on one of `data` replicas that divide experts or tables among them, with as many micro-batches as make
  /// its part of the batch. Called once for each number of replicas where a division is in the search space, else
  /// never.
  std::function<Result<WorkGraph>(const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                  const std::string &recompute, int64_t data,
                                  const PlacementSpace::ReplicaSharding &replicaSharding)>
      instantiateDivided;
  /// Loading: bytes of input a second of all loaders together, and batches loaded ahead. No rate: input is always
  /// there.
  std::optional<DataLoader> dataLoader;
  /// Set from anywhere: there are errors then instead of a problem, before the next step is instantiated.
  const std::atomic<bool> *stop = nullptr;
  /// Of one device type: what is known of its steps, and gets what was not. Null: all is found again.
  StepUses *steps = nullptr;
  std::optional<Framework> framework; ///< nothing: one copy of each tensor, in the type of the graph
  /// A plan of one group of devices has a parameter of several layers once. Else each layer has a copy wherever it is,
  /// but in problems with a framework whose plans all have one group.
  bool sharesParameters = false;
  /// Zeros that layers may have; null: none are looked at. Steps are then not taken from `steps`.
  const PlacementSparsityRequest *zeros = nullptr;
  /// Of the fabric of its one group: traffic that other problems asked for, too. Null: it is found again.
  CommunicationCache *networks = nullptr;
};

struct BuiltPlacementProblem {
  PlacementProblem problem;
  int64_t parameters = 0;
  double modelFlops = 0; ///< of a step
  std::string precision, optimizer;
  Layering layering;                        ///< of the problem's layers
  std::vector<std::string> assumptions;     ///< and what was left out, and why
  std::optional<DeviceMemory> deviceMemory; ///< of the request's framework
  std::vector<SparsityUnit> zeros;          ///< of the request's zeros; with its budgets, the problem is the dense one
};

/// Parallel configurations are tensor degree, sequence parallel, data degree, micro-batch and stage of ZeRO, each
/// with its layers' costs by the schedule of one micro-batch on one device (`layerUses`).
///   ZeRO over d replicas (Rajbhandari et al., SC 2020): from stage 1 states and update divided by
///   d, from 2 gradients, from 3 weights. After the last micro-batch gradients are all-reduced; in
///   stage 1 reduce-scattered, and weights gathered. From stage 2 on, gradients are scattered in
///   each micro-batch, for there is no room to add them up (half in the forward and half in the
///   backward pass of `ParallelConfig::gather`, which knows no other place); in stage 3 weights are gathered
///   before forward and backward pass of each.
///   Between stages each device sends its part to one device; across servers all devices of one
///   share its bandwidth.
/// Where the machines carry calibrations (Machine::fitted), all times are those of their parameters
/// (CalibratedPrices.h), and schedules are made for the memory alone.
/// Issues: of `instantiate` where no degree is left, A0946 where nothing of the space fits the
/// cluster and the batch, and those of `estimate` and `scheduleStep`.
Result<BuiltPlacementProblem, Errors> buildPlacementProblem(const PlacementProblemRequest &request);

/// Times of a collective among given groups as the least of several lines over its payload: exact for all ways but
/// trees, whose pieces are powers of 4.
Result<std::vector<AlphaBetaModel>> linesOf(const Fabric &fabric, Collective collective, const Groups &groups);
/// Those that are the least at some payload; latencies ascend.
std::vector<AlphaBetaModel> lowerEnvelope(std::vector<AlphaBetaModel> lines);
/// The sum of what is the least of each, as the least of lines; both are such envelopes, one of no lines is 0.
std::vector<AlphaBetaModel> sumOfEnvelopes(const std::vector<AlphaBetaModel> &a, const std::vector<AlphaBetaModel> &b);

} // namespace accord
