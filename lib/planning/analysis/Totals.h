// What one step adds up to: FLOPs, busy time and energy by phase and kind; utilization.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Schedule.h"
#include <map>

namespace accord {

struct WorkSum {
  Count flops = 0;
  Count contractionFlops = 0; ///< multiply-accumulates only: model FLOPs
  Seconds time;               ///< busy, one after the other
  Joules energy;              ///< without idle power
};
struct StepTotals {
  WorkSum all;
  std::map<std::pair<std::string, Phase>, WorkSum> byKind; ///< "linear", "softmax", …
  std::map<std::pair<int, std::string>, WorkSum> byCore;   ///< core index and the arithmetic used
};
/// Over all operations that are no repeats, times their executions. `costs` by OperationId.
StepTotals stepTotals(const WorkGraph &graph, const Costs &costs);

/// Model FLOPs utilization: contraction FLOPs over what the step could do at peak (Chowdhery et
/// al., PaLM, 2022, appendix B). With several arithmetic types the peak is their mean weighted by
/// FLOPs, harmonic: sum of flops/peak over the step. 0 if there is none.
double modelFlopsUtilization(const StepTotals &totals, const Machine &machine, Seconds step);

/// Joules of a step: what the operations use and the idle power over the whole step.
Joules stepEnergy(const StepTotals &totals, const Machine &machine, Seconds step);
/// Of the board where the law of boards counts (lib/machine/energy/StepPower.h), else of the parts.
Joules stepEnergy(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step);

} // namespace accord
