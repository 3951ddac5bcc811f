// The latency model of a step that the devices of a cluster share, with parallel degrees among its arguments.
#pragma once
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/machine/collectives/Network.h"

namespace accord {

/// What one of tensor * data devices does: `data` replicas, each shared by `tensor` devices.
struct DegreePlan {
  int64_t tensor = 1, data = 1;
  Plan plan;
};

struct ClusterJob {
  const Fabric *fabric = nullptr;
  std::string cluster;          ///< its name
  int64_t batch = 1;            ///< samples of a step, of all replicas together
  int64_t tensor = 1, data = 1; ///< the initial degrees; their plan is among `plans`
  /// At one micro-batch, each for `batch` / data samples rounded up to whole micro-batches, priced with axes "tensor"
  /// and "data", innermost first. The degrees that are allowed are those here; pairs that have no plan are refused.
  std::vector<DegreePlan> plans;
  std::vector<std::string> notes; ///< what was left out, and why
};

/// As SampleAt, of the graph at these degrees.
using DegreeSampleAt = std::function<std::optional<SampledWork>(int64_t tensor, int64_t data, int64_t microbatch,
                                                                int64_t microbatches, std::optional<int64_t> sequence)>;

/// The graph alone, at the plans' sequence.
using DegreeGraphAt =
    std::function<std::optional<WorkGraph>(int64_t tensor, int64_t data, int64_t microbatch, int64_t microbatches)>;

/// Arguments: batch (of all replicas), micro-batch, sequence, tensor_parallel, data_parallel, the machine's, then
/// bandwidth and latency of each network. Each replica takes batch / data_parallel samples in ceil(batch /
/// (data_parallel * microbatch)) micro-batches. Memory and FLOPs are of one device. At each pair of degrees the order
/// is that of its own plan, and the step, memory and FLOPs of that plan come out, or A0707. A0707 also where
/// `latencyModelOf` says so.
Result<LatencyModel> clusterLatencyModelOf(const ClusterJob &job, std::optional<int64_t> sequence,
                                           const DegreeSampleAt &sampleAt, const DegreeGraphAt &graphAt);

} // namespace accord
