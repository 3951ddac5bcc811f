// Layers that a profiler measured in several parallel configurations, and how a pipeline of them runs: the problem of
// Piper (Tarnawski, Narayanan, Phanishayee, NeurIPS 2021) and its answer.
#pragma once
#include "lib/partitioning/problem/PipelineObjective.h"
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// A stage is a set of layers on `tensor` x `data` devices: `data` replicas, each on `tensor` devices, with one
/// configuration of that tensor degree for each layer. Stages are in an order in which no edge points back.
///
/// The load of a stage, for one micro-batch (Piper, section 3): compute / data + 2 x bytes over cut edges / (data x
/// bandwidth) + f (data - 1) / data x parameter bytes / micro-batches / bandwidth, f = `reductionFactor`: 4 for a
/// parameter server that PipeDream's planner assumes, 2 for a ring.
///
/// The latency of a stage is that of one micro-batch on one replica: compute + 2 x (bytes of cut edges that come in +
/// sync bytes of all that are cut) / bandwidth, so that an edge's own bytes are counted once, where they are read.
/// Stages follow one another.
///
/// What remains of a step of N micro-batches after a replica's first one: N load - t, where t = compute + 2 x bytes
/// over cut edges / bandwidth is how long a micro-batch occupies it; this is N / data - 1 micro-batches, and the
/// reduction. The makespan is the sum of latencies and the longest remainder: with one replica of each stage, the sum
/// of stages and N - 1 times the longest (Alpa, Zheng et al., OSDI 2022, equation 2).
///
/// The memory of one device: the sum of A y + B over its layers, where y = data degrees of this and the later stages /
/// data, rounded up, is the number of micro-batches in flight (1F1B).
struct LayerGraph {
  using Id = uint32_t;

  struct Configuration {
    std::string name;
    int64_t tensor = 1;                              ///< devices of one replica
    double time = 0;                                 ///< seconds of a micro-batch, forward and backward
    double parameterBytes = 0;                       ///< of one device, which replicas reduce
    double memoryPerMicrobatch = 0, memoryFixed = 0; ///< bytes of one device: A and B
    /// Bytes that the layer exchanges besides an edge's own where the edge is cut; by the order of `edges`, of those
    /// that come in and of those that go out.
    std::vector<double> syncIn, syncOut;
  };
  struct Layer {
    std::string name;
    std::vector<Configuration> configurations;
    SourceLocation location;
  };
  struct Edge {
    Id from = 0, to = 0;
    double bytes = 0; ///< activations of a micro-batch
  };
  /// A whole stage that was profiled on a mesh of devices, as Alpa does it: layers `first` to `last`. Its load and its
  /// latency are its time, N - 1 times which remains; its memory is A y + B, y = this and the later stages.
  struct StageProfile {
    Id first = 0, last = 0;
    std::string name;
    int64_t tensor = 1; ///< devices
    double time = 0;    ///< seconds of a micro-batch, forward and backward
    double memoryPerMicrobatch = 0, memoryFixed = 0;
    int64_t maxLater = kAnyLater; ///< stages that may follow it, for its memory
  };
  static constexpr int64_t kAnyLater = 4096;

  std::string name;
  std::vector<Layer> layers;
  std::vector<Edge> edges;
  /// Where there are any, layers are a chain without configurations and bytes, and stages have one replica.
  std::vector<StageProfile> profiles;
  int64_t devices = 1;
  double memory = 0;    ///< bytes of a device
  double bandwidth = 0; ///< bytes a second of a device
  int64_t microbatches = 1;
  double reductionFactor = 4;
  SourceLocation location;
};

/// Empty where a plan may be computed: 1 to 10,000 layers, 1 to 4,096 devices, finite numbers that are not negative, a
/// bandwidth and a memory above 0, sync bytes for each edge, no cycle; profiles of layers in a chain. Code A0943.
Errors check(const LayerGraph &graph);

struct LayerStage {
  std::vector<LayerGraph::Id> layers;  ///< ascending
  std::vector<uint32_t> configuration; ///< of each of them; of a stage that was profiled, for each its profile
  int64_t tensor = 1, data = 1;
  double load = 0;    ///< seconds of a micro-batch
  double latency = 0; ///< seconds of a micro-batch on its own
  double remains = 0; ///< seconds of a step after its first micro-batch
  double memory = 0;  ///< bytes of one device
};

struct LayerPlan {
  enum class Status : uint8_t { Feasible, Infeasible, Unknown };
  Status status = Status::Unknown;
  PipelineObjective objective = PipelineObjective::Load;
  std::vector<LayerStage> stages; ///< in the order of the pipeline
  double value = 0;               ///< seconds: what `valueOf` says of the stages
  double bound = 0;               ///< no plan has less
  std::string proof;              ///< of the bound
  std::string stopped;            ///< "", or why there is a gap: "work limit", "interrupted"
  double minMemory = 0;           ///< of each device, where no layer alone fits; else 0
  int64_t stagesTried = 0;
  double gap() const { return value > 0 ? (value - bound) / value : 0; }
};

/// How the configuration of a layer of a stage is called.
const std::string &configurationOf(const LayerGraph &graph, const LayerStage &stage, size_t layer);

/// Of stages whose parts are known, in seconds: the longest load, the sum of latencies, or that sum and the longest
/// remainder.
double valueOf(const std::vector<LayerStage> &stages, PipelineObjective objective);

} // namespace accord
