#include "lib/emit/Metrics.h"
#include "lib/analysis/Totals.h"
#include "lib/emit/PlanJson.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {
/// Calls `visit(id, cost, executions)` for every operation that does work itself.
template <typename Visit> void forEachWork(const Plan &plan, Visit visit) {
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id)
    if (plan.graph.operations[id].body == kNone && id < plan.costs.operations.size())
      visit(id, plan.costs.operations[id], plan.graph.executions(id));
}
} // namespace

FlopsPerSecond peakOf(const Machine &machine, const Core &core, const std::string &type) {
  double count = static_cast<double>(core.count);
  if (auto stated = core.peak.find(type); stated != core.peak.end() && stated->second.value > 0)
    return stated->second * count;
  double perCycle = core.rows > 0 && core.cols > 0
                        ? 2.0 * static_cast<double>(core.rows) * static_cast<double>(core.cols)
                        : static_cast<double>(core.lanes);
  return FlopsPerSecond(perCycle * machine.clock.value * count);
}

Metrics measure(const Plan &plan) {
  Metrics m;
  StepTotals totals = stepTotals(plan.graph, plan.costs);
  m.step = plan.schedule.step.seconds();
  if (m.step.value > 0) {
    m.throughput = static_cast<double>(plan.batch) / m.step.value;
    m.mfu = modelFlopsUtilization(totals, plan.machine, m.step);
  }
  m.flops = totals.all.flops;
  m.modelFlops = totals.all.contractionFlops;
  m.energy = stepEnergy(totals, plan.machine, m.step);
  Count most = 0;
  for (const auto &[where, work] : totals.byCore)
    if (where.first >= 0 && work.contractionFlops > most) {
      most = work.contractionFlops;
      m.peakType = where.second;
      m.peak = peakOf(plan.machine, plan.machine.cores[where.first], where.second);
    }
  m.peakBytes = plan.memory.peak;
  if (!plan.machine.memories.empty())
    m.capacity = static_cast<int64_t>(std::min(plan.machine.memories[0].capacity.value, 9e18));
  m.gap = gapOf(plan);
  return m;
}

std::vector<KindTime> timeByKind(const Plan &plan) {
  std::map<std::pair<std::string, Phase>, KindTime> sums;
  forEachWork(plan, [&](OperationId id, const OperationCost &cost, Count times) {
    const Operation &op = plan.graph.operations[id];
    if (cost.time.value <= 0)
      return;
    KindTime &sum =
        sums.try_emplace({op.kind, op.phase}, KindTime{op.kind, op.phase, {}, 0}).first->second;
    sum.time += cost.time * static_cast<double>(times);
    sum.flops += times * op.flops;
  });
  std::vector<KindTime> result;
  for (auto &[key, sum] : sums)
    result.push_back(sum);
  return result;
}

std::vector<Expense> expenses(const Plan &plan) {
  std::vector<Expense> all;
  double total = 0;
  forEachWork(plan, [&](OperationId id, const OperationCost &cost, Count times) {
    Seconds time = cost.time * static_cast<double>(times);
    if (time.value <= 0)
      return;
    total += time.value;
    all.push_back({id, time, 0, isCritical(plan, id)});
  });
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
