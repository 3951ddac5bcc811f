#include "lib/planning/analysis/Totals.h"
#include "lib/machine/energy/StepPower.h"

namespace accord {
namespace {

void add(WorkSum &to, const Operation &op, const OperationCost &cost, Count times) {
  to.flops += times * op.flops;
  if (op.phase != Phase::Recompute)
    to.contractionFlops += times * contractionFlops(op);
  to.time += cost.time * times;
  to.energy += cost.energy * times;
}

} // namespace

StepTotals stepTotals(const WorkGraph &graph, const Costs &costs) {
  StepTotals totals;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone)
      continue;
    const OperationCost &cost = costs.operations[id];
    Count times = graph.executions(id);
    add(totals.all, op, cost, times);
    add(totals.byKind[{op.kind, op.phase}], op, cost, times);
    if (cost.core >= 0)
      add(totals.byCore[{cost.core, cost.type}], op, cost, times);
  }
  return totals;
}

double modelFlopsUtilization(const StepTotals &totals, const Machine &machine, Seconds step) {
  double atPeak = 0;
  for (const auto &[where, work] : totals.byCore) {
    const Core &core = machine.cores[where.first];
    FlopsPerSecond peak = peakOfOne(machine, core, where.second) * core.count;
    if (peak.value > 0)
      atPeak += work.contractionFlops / peak.value;
  }
  return step.value > 0 ? atPeak / step.value : 0;
}

Joules stepEnergy(const StepTotals &totals, const Machine &machine, Seconds step) {
  return totals.all.energy + machine.idle * step;
}

Joules stepEnergy(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step) {
  if (auto board = stepPower(graph, costs, machine, step))
    return board->average * step;
  return stepEnergy(stepTotals(graph, costs), machine, step);
}

} // namespace accord
