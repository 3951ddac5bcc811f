// latency_model.h: step time, memory and FLOPs as C functions of (microbatch, sequence), for use
// without Accord.
#pragma once
#include "lib/emit/Polynomial.h"
#include "lib/model/Plan.h"
#include "llvm/Support/Error.h"

namespace accord {

/// One operation: time = max(flops / peak | cycles / clock, bytes[l] / bandwidth[l] …) + overhead,
/// rounded up to ps.
struct LatencyOperation {
  std::string name;
  Phase phase = Phase::Forward;
  Polynomial flops;
  double peak = 0;   ///< FLOP/s it runs at; 0: it computes nothing, or see cycles
  Polynomial cycles; ///< used when clock > 0, for cost models that are not flops / peak
  double clock = 0;
  std::vector<Polynomial> bytes; ///< per memory level
  std::vector<double> bandwidth; ///< per memory level, bytes/s; 0: not charged
  double overhead = 0;           ///< seconds
  bool view = false;             ///< takes no time
  int64_t factor = 1;            ///< of a repeat: how often `body` runs
  RegionId body = kNone;
  /// Operations of the same region that end before this one starts: dependences and the previous on
  /// the same core.
  std::vector<OperationId> after;
};

struct LatencyRegion {
  std::string name;
  std::vector<OperationId> operations; ///< in the plan's order of start
};

/// Live bytes at one slot boundary of the plan's schedule.
struct LiveSet {
  std::string where; ///< "start of block.fc1.weight_gradient"
  Polynomial bytes;
};

struct LatencyModelInput {
  std::string name; ///< prefix of the C functions: a C identifier (see `cName`)
  std::string model, machine, version;
  std::vector<LatencyOperation> operations; ///< by OperationId
  std::vector<LatencyRegion> regions;       ///< [0] micro-batch, [1] update, then bodies
  std::vector<std::string> levels;          ///< memory names
  int64_t residentBytes = 0;
  std::vector<LiveSet> liveSets; ///< without those that another dominates
  int64_t microbatch = 1, batch = 1,
          sequence = 1; ///< of the plan: where the order is the plan's own
};

/// The same training at another (microbatch, sequence).
struct LatencySample {
  int64_t microbatch, sequence;
  const WorkGraph *graph;
  const Costs *costs;
};

/// Builds the input: structure and order from `plan`, polynomials by exact interpolation through
/// the samples (six distinct points determine degree (1, 2); give at least two more, they are the
/// check). Each operation's time is recomputed at each sample and compared with its cost. Errors
/// name the operation and what is not polynomial.
llvm::Expected<LatencyModelInput> fitLatencyModel(const Plan &plan, int64_t sequence,
                                                  llvm::ArrayRef<LatencySample> samples);

/// What the generated functions return, computed here.
struct LatencyResult {
  double step = 0; ///< seconds of a step of `batch` samples: ceil(batch / microbatch) micro-batches
                   ///< and the update
  double memory = 0, flops = 0;
};
LatencyResult evaluateLatency(const LatencyModelInput &input, int64_t batch, int64_t microbatch,
                              int64_t sequence);

/// The C99 header; needs only <stdint.h>. Functions: <name>_step_time_s(batch, seq),
/// <name>_memory_bytes(batch, seq), <name>_flops(batch, seq) at the plan's microbatch, and the same
/// with `_at(batch, microbatch, seq[, scales])`.
std::string emitLatencyC(const LatencyModelInput &input);
/// The same as func/arith/scf functions.
std::string emitLatencyMlir(const LatencyModelInput &input);

/// "gpt-2 xl" -> "gpt_2_xl".
std::string cName(llvm::StringRef name);

} // namespace accord
