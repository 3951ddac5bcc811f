// trace.json for Perfetto and chrome://tracing.
#pragma once
#include "lib/machine/model/Plan.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Repeats are not unrolled: of a region that runs n > 2 times the first and the last iteration are
/// expanded and the n-2 between are one summarized slice per core; the micro-batches likewise. Past
/// `slices` events, everything still to expand is summarized too, so the file is bounded whatever
/// the plan.
struct TraceLimits {
  size_t slices = 50000;
};

/// Trace event format (Google, "Trace Event Format", 2016): `X` slices, `M` names, `C` memory
/// counters; `ts` and `dur` in microseconds. Process 1 has one thread per core instance, process 2
/// the structure (micro-batches, repeats), process 3 the memory by category. `args` of a slice:
/// flops, bytes, bound, phase, critical, iterations.
llvm::json::Value toTrace(const Plan &plan, const TraceLimits &limits = {});

} // namespace accord
