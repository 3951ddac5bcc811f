// From a plan, and what the same training costs at other sizes, to its latency model.
#pragma once
#include "lib/latency/build/OperationFit.h"
#include "lib/latency/model/LatencyModel.h"
#include <functional>

namespace accord {

/// Bytes in device memory over the plan's schedule for another graph of the same structure: pass `liveness(graph,
/// plan.schedule, {…all points…})`, so that the points of all samples lie at the same times.
using MemoryOf = std::function<MemoryUse(const WorkGraph &)>;

struct LatencyFitOptions {
  /// Tokens per sample in the plan; 1 when the model has no sequence.
  int64_t sequence = 1;
  /// Sequences that the model may be asked at; 0: the shortest and longest sampled.
  int64_t minSequence = 0, maxSequence = 0;
  int64_t sequenceMultiple = 1;
  /// Why samples have one micro-batch or one sequence only, for messages.
  std::string fixedReason;
  /// lib/planning/analysis/Liveness when empty.
  MemoryOf memoryOf;
};

/// Structure and order from `plan`, polynomials by exact interpolation through the samples: either one micro-batch or
/// at least three, one sequence or at least four (three determine degree 2, the others check). With one of either, the
/// model may not be asked at another. Each operation's time is recomputed at every sample and compared with its cost;
/// with a single sample (the plan's own), times that no expression gives become constants, and the machine's arguments
/// are held. `samples` are of steps of one micro-batch and `again`, at the same sizes, of several; without `again`,
/// `samples` are of both. A0707:
/// what is no polynomial or priced by no expression, samples of another structure or too few, sizes that leave 64 bits
/// even at the plan's own.
Result<LatencyModel> fitLatencyModel(const Plan &plan, const std::vector<LatencySample> &samples,
                                     const LatencyFitOptions &options,
                                     const std::vector<LatencySample> &accumulated = {});

/// A work graph and its costs at a micro-batch and, unless it is the plan's own, a sequence, of a step of so many
/// micro-batches (1 or 2: with several, gradients are read to be added up); nothing where the training is not defined.
struct SampledWork {
  WorkGraph graph;
  Costs costs;
};
using SampleAt = std::function<std::optional<SampledWork>(int64_t microbatch, int64_t microbatches,
                                                          std::optional<int64_t> sequence)>;

/// Samples as needed: first for any micro-batch and sequence up to the plan's; where that has no model, for any
/// micro-batch; last for the plan's own sizes alone (`LatencyModel::notes` says why). `sequence`: tokens per sample in
/// the plan, if the model has a sequence.
Result<LatencyModel> latencyModelOf(const Plan &plan, std::optional<int64_t> sequence, const SampleAt &sampleAt);

} // namespace accord
