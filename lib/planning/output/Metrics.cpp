#include "lib/planning/output/Metrics.h"
#include "lib/planning/analysis/Totals.h"
#include "lib/planning/output/PlanJson.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {
Metrics measure(const Plan &plan) {
  Metrics m;
  StepTotals totals = stepTotals(plan.graph, plan.costs);
  m.step = plan.schedule.step.seconds();
  if (m.step.value > 0) {
    m.throughput = plan.batch / m.step.value;
    m.mfu = modelFlopsUtilization(totals, plan.machine, m.step);
  }
  m.flops = totals.all.flops;
  m.modelFlops = totals.all.contractionFlops;
  m.energy = stepEnergy(plan.graph, plan.costs, plan.machine, m.step);
  Count max = 0;
  for (const auto &[where, work] : totals.byCore)
    if (where.first >= 0 && work.contractionFlops > max) {
      max = work.contractionFlops;
      m.peakType = where.second;
      const Core &core = plan.machine.cores[where.first];
      m.peak = peakOfOne(plan.machine, core, where.second) * core.count;
    }
  m.peakBytes = plan.memory.peak;
  if (!plan.machine.memories.empty())
    m.capacity = std::min(plan.machine.memories[0].capacity.value, 9e18);
  m.gap = gapOf(plan);
  return m;
}

std::vector<Expense> expenses(const Plan &plan) {
  std::vector<Expense> all;
  double total = 0;
  for (OperationId id = 0; id < plan.costs.operations.size(); ++id) {
    Seconds time = plan.costs.operations[id].time * plan.graph.executions(id);
    if (plan.graph.operations[id].body != kNone || time.value <= 0)
      continue;
    total += time.value;
    all.push_back({id, time, 0, isCritical(plan, id)});
  }
  for (Expense &e : all)
    e.share = e.total.value / total;
  llvm::sort(all, [](const Expense &a, const Expense &b) {
    return a.total != b.total ? a.total > b.total : a.operation < b.operation;
  });
  return all;
}

bool isCritical(const Plan &plan, OperationId id) {
  if (llvm::is_contained(plan.criticalPath, id))
    return true;
  bool top = plan.graph.operations[id].region <= kUpdateRegion;
  if (top && !plan.criticalPath.empty())
    return false;
  return id < plan.timing.size() && plan.timing[id].slack().value == 0;
}

} // namespace accord
