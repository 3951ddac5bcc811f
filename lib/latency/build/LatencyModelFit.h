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
  /// Where no expression gives a time, it comes from a table over the samples, and the model is asked at their
  /// micro-batches and sequences alone, which are a full grid.
  bool tabulated = false;
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

/// The sizes of a table, where times follow from mappings or programs and no expression gives them.
struct LatencyTable {
  std::vector<int64_t>
      microbatches; ///< besides the plan's; empty: `tableMicrobatches`, brief, or those that were tried
  /// In the table whatever they take: micro-batches, and sequences up to the plan's.
  std::vector<int64_t> askedMicrobatches = {}, askedSequences = {};
  /// Instructions of programs that may be evaluated for it; beyond, the table has fewer micro-batches: powers of two
  /// come first.
  int64_t evaluated = 6'000'000;
  /// Nothing else is tried first; so it is where programs or tiles are found for each size (`isFoundForEachSize`).
  bool first = false;
};
/// All up to 16, then four to a doubling, to 64 or four times `own`; `brief`: powers of two, to 4 or twice `own`.
std::vector<int64_t> tableMicrobatches(int64_t own, bool brief);

/// Samples as needed: first for any micro-batch and sequence up to the plan's; where that has no model, for any
/// micro-batch; then for the micro-batches of a table (and quarters of the plan's sequence); last for the plan's own
/// sizes alone (`LatencyModel::notes` says why). `sequence`: tokens per sample in the plan, if the model has a
/// sequence.
Result<LatencyModel> latencyModelOf(const Plan &plan, std::optional<int64_t> sequence, const SampleAt &sampleAt,
                                    const LatencyTable &table = {});

} // namespace accord
