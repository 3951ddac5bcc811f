// A training step cut into pipeline stages for groups of devices: the problem, a plan, what a plan is worth. Input and
// answer of placement/solve; placement/verify evaluates the same data again.
#pragma once
#include "lib/placement/problem/Objective.h"
#include "lib/placement/problem/PipelineSchedule.h"
#include "lib/placement/problem/PlacementPaths.h"
#include "lib/support/Result.h"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// Picoseconds = latency + bytes * perByte, rounded up.
struct AlphaBetaModel {
  double latency = 0, perByte = 0;
};
/// The least of several ways; 0 for no bytes or no ways.
int64_t minTime(const std::vector<AlphaBetaModel> &alternatives, double bytes);

/// Times are picoseconds, sizes bytes of one device, all not negative.
///
/// A *stage* is a set of layers run by `tensor * data` devices of one device type: `data` replicas of `tensor` devices
/// that share each operation. `context` replicas next to each other have equal parts of the sequence of each sample, so
/// that data / context of them have samples of their own. The stages of a plan are in an order in which no edge points
/// back; with `virtualStages` v > 1 device group s has stages s, p + s, ….
struct PlacementProblem {
  using Id = uint32_t;

  /// Equal devices. Ranks of a type are numbered from 0, server after server.
  struct DeviceType {
    std::string name;
    int64_t devices = 1;
    int64_t devicesPerNode = 1;
    int64_t memory = 0;   ///< what a plan may use of each device
    double idleWatts = 0; ///< of the board, while no operation runs
    double tdpWatts = 0;
    double pricePerHour = 0;     ///< of one device
    SourceLocation location;     ///< of its memory's capacity
    int64_t hostMemory = 0;      ///< of each device's share of its host; 0: nothing may be put there
    SourceLocation counted = {}; ///< of their number
    double hostWatts = 0;        ///< of its share of its server's host and fans, always

    double restWatts() const { return idleWatts + hostWatts; } ///< while no operation runs
  };
  /// Gradients of one stage, all-reduced (ZeRO 1 and more: reduce-scattered and gathered) over its replicas after the
  /// last micro-batch, when `replicasPerNode` replicas at a time are in one server.
  struct GradientSync {
    int64_t replicasPerNode = 1;
    std::vector<AlphaBetaModel> alternatives; ///< of the stage's gradient bytes on one device
  };
  /// Which ranks replicas and stages have. Devices that share operations are always neighbours.
  /// - `TensorDataPipeline`: the devices of a stage in a row, replica after replica; a stage after the other.
  /// - `TensorPipelineData`: the devices of a replica in a row, stage after stage; a replica after the other. Of plans
  ///   on one device type whose stages have one parallel configuration.
  enum class RankOrder : uint8_t { TensorDataPipeline, TensorPipelineData };
  /// Beyond so many replicas that begin at different places of their servers, none is said to be in one server.
  static constexpr int64_t kMaxReplicas = 1 << 16;
  /// Whether each replica has all of an embedding table, or some of its rows or columns.
  enum class Tables : uint8_t { Whole, Rows, Columns };
  /// How replicas that share a sample along its sequence come to the keys and values of all of it.
  enum class ContextExchange : uint8_t {
    Ring,      ///< those of one peer after the other, beside the attention to the ones before (Liu et al., 2023)
    AllGather, ///< all before the attention (Grattafiori et al., Llama 3, 2024, section 3.3.2)
    AllToAll   ///< each attends with some heads to all of the sequence (Jacobs et al., DeepSpeed Ulysses, 2023)
  };
  /// One way in which a stage may use devices.
  struct ParallelConfig {
    Id deviceType = 0;
    int64_t tensor = 1;
    bool sequence = false; ///< sequence parallel (Korthikanti et al., 2022)
    int64_t data = 1;      ///< replicas of the weights
    int64_t context = 1;   ///< of them, neighbours that share each sample along its sequence; divides `data`
    ContextExchange contextExchange = ContextExchange::Ring;
    int zero = 0;                            ///< stage of ZeRO (Rajbhandari et al., SC 2020)
    int64_t microbatch = 1;                  ///< samples of one replica at a time
    std::vector<GradientSync> gradientSyncs; ///< by `replicasPerNode`, ascending; empty if data is 1
    std::vector<AlphaBetaModel>
        gather; ///< ZeRO 3: weights of the stage, once before forward and once before backward of each micro-batch
    /// Replicas, neighbours but for those of their context, that divide the experts of a layer among them; divides
    /// data / context.
    int64_t expert = 1;
    /// Devices of `tensor` that divide the matrices of each of these experts: all of them, or 1 where they divide whole
    /// experts, too (Megatron-LM's expert tensor parallel size); 1 unless `expert` is above.
    int64_t expertTensor = 1;
    /// Of gradients of experts over the data / expert replicas that have the same ones, when `replicasPerNode` of these
    /// are in one server, which is as many as `replicasPerNode` of all replicas / expert; empty if that is one replica.
    std::vector<GradientSync> expertGradientSyncs;
    Tables tables = Tables::Whole;
    bool ringOverlap = false; ///< products in pieces, beside the exchange of other pieces
    bool hostStates = false;  ///< states of the optimizer are in the host's memory
    bool hostWeights = false; ///< weights are: each layer's come before its passes
    RankOrder order = RankOrder::TensorDataPipeline;
    /// Of plans of one group alone, in which a parameter of several layers (see `Tie`) is there once: costs of the
    /// later layers leave it out.
    bool oneGroup = false;
    int64_t devices() const { return tensor * data; }
    /// Devices that have other experts of a layer, or other parts of them, over those that have parts of the same one
    /// (Megatron-LM's expert model parallel size); 1 unless replicas divide experts.
    int64_t expertDegree() const { return expert > 1 ? expert * (tensor / expertTensor) : 1; }
    int64_t samples() const { return data / context * microbatch; } ///< of a micro-batch of all replicas
  };
  /// What a layer keeps for its backward pass.
  struct RecomputeChoice {
    std::string policy;          ///< "none", "selective", "full": what is computed again
    int64_t recomputeTime = 0;   ///< time of computing again, in the backward pass of each micro-batch
    int64_t activations = 0;     ///< bytes from a micro-batch's forward to its backward pass
    int64_t workspace = 0;       ///< bytes besides, while the layer runs
    int64_t hostActivations = 0; ///< as `activations`, in the host's memory
  };
  /// Of one layer in one parallel configuration; times of one micro-batch.
  struct Cost {
    int64_t forward = 0;
    int64_t backward = 0;                         ///< gradients of activations
    int64_t weight = 0;                           ///< gradients of weights
    int64_t update = 0;                           ///< once per step
    int64_t staticMemory = 0;                     ///< weights, gradients and states of the optimizer
    int64_t weightMemory = 0, gradientMemory = 0; ///< of these; the rest are states
    int64_t gradients = 0;                        ///< bytes that `ParallelConfig::gradientSyncs` exchanges
    int64_t expertGradients = 0; ///< bytes that `ParallelConfig::expertGradientSyncs` exchanges, after them
    int64_t weights = 0;         ///< bytes that `ParallelConfig::gather` brings
    std::vector<RecomputeChoice> recomputeChoices; ///< at least one
    double joules = 0;            ///< of one step's work on all devices of the stage, idle power not counted
    double recomputeJoules = 0;   ///< besides, for each picosecond of `recomputeTime` of one step
    int64_t hostStaticMemory = 0; ///< besides, in the host's memory
    int64_t tied = 0;             ///< bytes of the gradient of what the layer has in common with another one: see `Tie`
    /// The least that any recomputation choice has of a field; INT64_MAX where there are none.
    int64_t minOf(int64_t RecomputeChoice::*field) const {
      int64_t min = INT64_MAX;
      for (const RecomputeChoice &choice : recomputeChoices)
        min = std::min(min, choice.*field);
      return min;
    }
  };
  /// Layers that are equal in all but their place.
  struct LayerClass {
    std::string name;
    std::vector<std::optional<Cost>> costs; ///< by parallel configuration; nothing: it cannot run so
  };
  struct Layer {
    std::string name;
    Id of = 0;                            ///< its class
    std::vector<Id> placementConstraints; ///< that it is under, ascending
    SourceLocation location;
  };
  /// Where the layers may be that it names.
  struct PlacementConstraint {
    std::string text;             ///< as the user wrote it
    std::vector<Id> deviceTypes;  ///< only on these, ascending; empty: on any
    std::optional<int64_t> stage; ///< only in this one
    bool sameStage = false;       ///< all in one stage
    SourceLocation location;
    /// Allows everything from now on.
    void lift() { deviceTypes.clear(), stage.reset(), sameStage = false; }
  };
  /// A tensor that goes forward, and its gradient that comes back. Bytes of one sample, whole.
  struct Edge {
    Id from = 0, to = 0;
    int64_t bytes = 0;
  };
  /// One device to one device of another stage, by device types of both ends: inside a server, and across.
  struct Link {
    AlphaBetaModel intraNode, interNode;
  };

  /// Two layers that have a parameter in common (an embedding and the logits). Costs count it in each of both, but in
  /// configurations of one group (`ParallelConfig::oneGroup`). In different device groups each has a copy, and after
  /// the last micro-batch both groups add up its gradient: `Cost::tied` bytes of each device there and back at once, on
  /// the link between the groups, in its slower direction, which nothing hides.
  struct Tie {
    Id a = 0, b = 0; ///< a < b
  };

  /// What a plan may not pass; 0: no limit.
  struct Limits {
    int64_t step = 0;    ///< picoseconds
    double watts = 0;    ///< joules of a step / its time
    int64_t devices = 0; ///< of all types together
    double joules = 0;   ///< of a step
    double price = 0;    ///< of a step
  };

  std::string name;
  PlacementObjective objective = PlacementObjective::StepTime;
  double costPerJoule = 1; ///< where the objective counts joules: what it counts each as
  Limits limits;
  int64_t batch = 1;      ///< samples of a step: data / context * microbatch * micro-batches
  int64_t numExperts = 1; ///< of a layer: what divides the numbers of all that are divided; 1: not known, or none are
  std::vector<DeviceType> deviceTypes;
  std::vector<ParallelConfig> parallelConfigs;
  std::vector<LayerClass> classes;
  std::vector<Layer> layers; ///< in an order in which no edge points back
  std::vector<PlacementConstraint> placementConstraints;
  std::vector<Edge> edges;
  std::vector<Link> links; ///< [from type * types + to type]
  std::vector<PipelineSchedule> schedules{PipelineSchedule::OneFOneB};
  std::vector<int64_t> virtualStages{2}; ///< v, where `schedules` has Interleaved
  /// Numbers of device groups in a row that a plan may have, as ranges, ascending and apart; empty: any.
  struct GroupRange {
    int64_t min = 1, max = 1;
  };
  std::vector<GroupRange> groups;
  /// A class of which each stage has equally many layers, as launchers cut the blocks of transformers; nothing: stages
  /// are free.
  std::optional<Id> uniformClass;
  /// All stages on a device type have one parallel configuration (what launchers of today can run).
  bool uniformConfigPerDeviceType = true;
  /// Transfers between stages stop the computation of the stage that receives them (else they run beside it, one after
  /// the other on each boundary and direction).
  bool blockingTransfers = true;
  /// A stage hides its exchange of gradients behind this share of its last micro-batch's backward time, but no more
  /// than the share `maxOverlap` of it: exchange - min(maxOverlap * exchange, overlapFraction * (backward + weight)) is
  /// exposed.
  double overlapFraction = 0, maxOverlap = 1;
  int64_t hostOverheadPerMicrobatch = 0, hostOverheadPerStep = 0; ///< what the host takes, on every stage, and once
  int64_t minStep = 0; ///< a step takes this at least: its input comes no faster
  std::vector<Tie> ties;
  SourceLocation location;

  bool mayHaveGroups(int64_t number) const {
    for (const GroupRange &range : groups)
      if (range.min <= number && number <= range.max)
        return true;
    return groups.empty();
  }
  bool mayHaveStages(int64_t number) const {
    if (!uniformClass)
      return true;
    int64_t all = 0;
    for (const Layer &layer : layers)
      all += layer.of == *uniformClass;
    return all % number == 0;
  }
  const DeviceType &deviceTypeOf(Id parallelConfig) const {
    return deviceTypes[parallelConfigs[parallelConfig].deviceType];
  }
  const Link &link(Id fromDeviceType, Id toDeviceType) const {
    return links[fromDeviceType * deviceTypes.size() + toDeviceType];
  }
  const LayerClass &classOf(Id layer) const { return classes[layers[layer].of]; }
  const std::optional<Cost> &cost(Id layer, Id parallelConfig) const { return classOf(layer).costs[parallelConfig]; }
  /// What a plan has chosen for the layer at a position of a stage.
  const RecomputeChoice &choiceOf(const struct PlacedStage &stage, size_t position) const;
};
using ParallelConfig = PlacementProblem::ParallelConfig;
using RecomputeChoice = PlacementProblem::RecomputeChoice;
using GradientSync = PlacementProblem::GradientSync;
using DeviceType = PlacementProblem::DeviceType;
using LayerClass = PlacementProblem::LayerClass;
using RankOrder = PlacementProblem::RankOrder;
using Tables = PlacementProblem::Tables;
using ContextExchange = PlacementProblem::ContextExchange;

const char *name(RankOrder);       ///< "tensor_data_pipeline", "tensor_pipeline_data"
const char *name(Tables);          ///< "whole", "rows", "columns"
const char *name(ContextExchange); ///< "ring", "all_gather", "all_to_all"

/// One stage of a plan.
struct PlacedStage {
  std::vector<PlacementProblem::Id> layers; ///< ascending
  PlacementProblem::Id parallelConfig = 0;
  std::vector<uint32_t> recomputeChoices; ///< by position in `layers`: index into Cost::recomputeChoices
};

/// A plan: p * `virtualStages` stages in order; stages s, p + s, … are on the same devices and have one parallel
/// configuration. Devices of a device type are given to device groups in order, from rank 0.
struct Placement {
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  int64_t virtualStages = 1;
  int64_t microbatches = 1;
  std::vector<PlacedStage> stages;

  size_t groups() const { return stages.size() / virtualStages; }
  PipelineShape shape() const { return {schedule, int64_t(groups()), virtualStages, microbatches}; }
  size_t groupOf(size_t stage) const;
  std::vector<size_t> stagesOf(size_t group) const; ///< of a device group, from the model's first layer on
};

/// Numbers of virtual stages that a plan of the problem may have with this schedule, ascending.
std::vector<int64_t> virtualStagesOf(const PlacementProblem &problem, const ScheduleModel &model);

/// What one stage takes; times of one micro-batch, recomputation in `backward`, blocking transfers and gathers in
/// `forward` and `backward`.
struct StageTimes {
  int64_t forward = 0, backward = 0, weight = 0;
  int64_t send = 0;     ///< to the next stage, where transfers run beside; and of its gradient back
  int64_t stepTail = 0; ///< after its last backward pass: exposed exchange of gradients, update
};

/// What a plan is worth.
struct PlanMetrics {
  int64_t step = 0;              ///< picoseconds
  std::vector<StageTimes> times; ///< by stage
  std::vector<int64_t> memory;   ///< peak bytes by device group
  std::vector<int64_t> host;     ///< peak bytes of the host's memory for one device, by device group
  std::vector<int64_t> inFlight; ///< by stage: micro-batches whose activations it holds when its group's memory peaks
  double joules = 0;             ///< of a step, all devices
  bool fits = true;              ///< memory of every group, and of its host, is within that of its type
  int64_t devices = 0;           ///< used, of all types
  double value = 0;              ///< of the objective
  double price = 0;              ///< of a step
};

/// The answer: a plan and a bound that no plan of the space passes.
struct PlacementResult {
  std::optional<Placement> plan; ///< nothing: no plan fits
  PlanMetrics metrics;
  double value = 0, bound = 0;       ///< of the objective: step time in picoseconds, joules, price, W s, bytes
  std::string proof;                 ///< what proves it
  uint64_t examined = 0, pruned = 0; ///< configurations evaluated; and known to be no better without
  std::vector<PathBound> paths;      ///< of the bound: where nothing simpler proves it
  double gap() const { return plan && value > 0 ? (value - bound) / value : 0; }
};

/// What makes a problem malformed: ids out of range, edges that point back, a class without costs by parallel
/// configuration, negative or too large numbers (a step beyond 2^61 ps or a memory beyond 2^61 bytes), no layers,
/// device types or parallel configurations. Code A0940; at most 20. Empty: every solver may compute on it.
Errors check(const PlacementProblem &problem);

} // namespace accord
