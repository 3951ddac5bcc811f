// The headline numbers of a plan, computed once for every emitter.
#pragma once
#include "lib/machine/model/Plan.h"
#include <optional>

namespace accord {

struct Metrics {
  Seconds step;
  double throughput = 0; ///< samples per second
  Count flops = 0;       ///< of all operations in one step
  Count modelFlops = 0;  ///< of contractions only (multiply-accumulates), as MFU counts them
  FlopsPerSecond peak;   ///< of the core and arithmetic that most contraction FLOPs run on, all instances
  std::string peakType;  ///< "bf16"
  /// Model FLOPs utilization (Chowdhery et al. 2022, PaLM, appendix B): what the contractions would
  /// take at peak over what the step takes; with several arithmetic types each counts at its own
  /// peak.
  double mfu = 0;
  int64_t peakBytes = 0, capacity = 0; ///< of device memory
  Joules energy;                       ///< of one step, idle power included
  double gap = 0;
};
Metrics measure(const Plan &plan);

/// Operations by `time * executions`, most expensive first; repeats are left out, their bodies are
/// in.
struct Expense {
  OperationId operation;
  Seconds total;
  double share;  ///< of the sum over all operations
  bool critical; ///< no slack in its region
};
std::vector<Expense> expenses(const Plan &plan);

/// Whether the operation has no slack inside its region, or is on the plan's critical path.
bool isCritical(const Plan &plan, OperationId id);

} // namespace accord
