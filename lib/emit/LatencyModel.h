// latency_model.h: step time, memory and FLOPs as C functions of (microbatch, sequence), for use
// without Accord.
#pragma once
#include "lib/emit/Polynomial.h"
#include "lib/model/Plan.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace accord {

/// One operation, priced as lib/cost does (Williams, Waterman, Patterson 2009: Roofline):
/// time = max(flops / (rate * utilization), for each level: latency + bytes / bandwidth), rounded
/// up to picoseconds; utilization = product of extent / (ceil(extent / tile) * tile) over the
/// tilings, 1 without any.
struct LatencyOperation {
  struct Tiling {
    Polynomial extent;
    int64_t tile = 1;
  };
  /// Arithmetic at a rate.
  struct Part {
    Polynomial flops;
    double rate = 0; ///< FLOP/s of all instances; 0: no arithmetic that takes time
    std::vector<Tiling> tilings;
  };
  struct Level {
    int memory = 0; ///< index into LatencyModelInput::levels
    Polynomial bytes;
    double bandwidth = 0, latency = 0; ///< bytes/s, s
  };
  std::string name, kind;
  Phase phase = Phase::Forward;
  Polynomial flops;
  double rate = 0; ///< FLOP/s of all instances; 0: no arithmetic that takes time
  std::vector<Tiling> tilings;
  /// Of a fused operation, by core: those of one core add up, the largest sum is the arithmetic.
  /// `rate` is 0 then.
  std::vector<std::vector<Part>> cores;
  std::vector<Level> traffic;
  RegionId body = kNone; ///< of a repeat: its time is `count` times the body's
  int64_t count = 1;
  int64_t executions = 1; ///< per micro-batch, or per step in the update
  bool update = false;    ///< once per step instead of once per micro-batch
  /// Operations of the same region that end before this one starts, transitively reduced: those
  /// whose results it needs, and those before it on a core or a memory that both cannot use at
  /// once.
  std::vector<OperationId> after;
};

struct LatencyRegion {
  std::string name;
  std::vector<OperationId>
      operations; ///< in the plan's order of start; each after all of its `after`
};

/// Bytes in device memory at one moment of the plan's schedule.
struct LiveSet {
  std::string where; ///< "3.2 ms into the step: block.repeat"
  Polynomial bytes;
};

struct LatencyModelInput {
  std::string name; ///< prefix of the C functions: a C identifier (see `cName`)
  std::string model, machine, version;
  std::vector<LatencyOperation> operations; ///< by OperationId
  std::vector<LatencyRegion> regions;       ///< [0] micro-batch, [1] update, then bodies
  std::vector<std::string> levels;          ///< memory names
  std::vector<LiveSet> liveSets;            ///< without those that another dominates
  int64_t microbatch = 1, batch = 1,
          sequence = 1; ///< of the plan: where the order is the plan's own
  Picoseconds planStep; ///< what the plan says there
  bool exact = false;   ///< the recurrence gives planStep there; else it is shorter (the plan waits
                        ///< without need)
};

/// The same training at another (microbatch, sequence).
struct LatencySample {
  int64_t microbatch, sequence;
  const WorkGraph *graph;
  const Costs *costs;
};

/// Bytes in device memory over the plan's schedule for another graph of the same structure: pass
/// `liveness(graph, plan.schedule, {…all points…})`, so that the points of all samples lie at the
/// same times.
using MemoryOf = llvm::function_ref<MemoryUse(const WorkGraph &)>;

/// Builds the input: structure and order from `plan`, polynomials by exact interpolation through
/// the samples. Samples must hold at least two values of microbatch and four of sequence (three
/// determine degree 2, the fourth checks); twelve in a grid are good. If the model has no sequence,
/// pass the same sequence everywhere: degree 0 in it then. Each operation's time is recomputed at
/// every sample and compared with its cost. Errors name the operation and what is not polynomial or
/// not priced as above.
llvm::Expected<LatencyModelInput> fitLatencyModel(const Plan &plan, int64_t sequence,
                                                  llvm::ArrayRef<LatencySample> samples,
                                                  MemoryOf memoryOf);

/// With the memory of `lib/analysis/Liveness`.
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

/// The C99 header; needs only <stdint.h>. `<name>_step_time_s(batch, sequence)`,
/// `<name>_memory_bytes(batch, sequence)`,
/// `<name>_flops(batch, sequence)` at the plan's micro-batch; the same with `_at(batch, microbatch,
/// sequence)`; and
/// `<name>_step_time_scaled_s(batch, microbatch, sequence, compute, bandwidth)`, where the cores
/// compute `compute` times as fast and the memories deliver `bandwidth` times as much.
std::string emitLatencyC(const LatencyModelInput &input);
/// The same as func and arith functions: <name>_step_time_s, <name>_memory_bytes, <name>_flops of
/// (batch, microbatch, sequence : i64) -> f64.
std::string emitLatencyMlir(const LatencyModelInput &input);

/// "gpt-2 xl" -> "gpt_2_xl".
std::string cName(llvm::StringRef name);

} // namespace accord
