#include "lib/analysis/Totals.h"
#include <algorithm>

namespace accord {
namespace {

void add(Work &to, const Operation &op, const OperationCost &cost, Count times) {
  to.executions += times;
  to.flops += times * op.flops;
  if (op.contraction)
    to.contractionFlops += times * op.flops;
  to.bytes += times * op.bytesRead + times * op.bytesWritten;
  to.time += cost.time * static_cast<double>(times);
  to.energy += cost.energy * static_cast<double>(times);
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
    add(totals.byPhase[static_cast<unsigned>(op.phase)], op, cost, times);
    add(totals.byCoreKind[static_cast<unsigned>(op.core)], op, cost, times);
    add(totals.byKind[op.kind], op, cost, times);
    if (cost.core >= 0)
      add(totals.byCore[{cost.core, cost.type}], op, cost, times);
  }
  return totals;
}

double modelFlopsUtilization(const StepTotals &totals, const Machine &machine, Seconds step) {
  double atPeak = 0;
  for (const auto &[where, work] : totals.byCore) {
    const Core &core = machine.cores[where.first];
    auto peak = core.peak.find(where.second);
    double one =
        peak != core.peak.end()
            ? peak->second.value
            : (core.rows > 0 ? 2.0 * static_cast<double>(core.rows) * static_cast<double>(core.cols)
                             : static_cast<double>(core.lanes)) *
                  machine.clock.value;
    if (one > 0)
      atPeak +=
          static_cast<double>(work.contractionFlops) / (one * static_cast<double>(core.count));
  }
  return step.value > 0 ? atPeak / step.value : 0;
}

Joules stepEnergy(const StepTotals &totals, const Machine &machine, Seconds step) {
  return totals.all.energy + machine.idle * step;
}

std::vector<Share> topOperations(const WorkGraph &graph, const Costs &costs,
                                 const std::vector<OperationId> &chain, unsigned most) {
  std::vector<Share> shares;
  double sum = 0;
  for (OperationId id : chain) {
    if (graph.operations[id].body != kNone)
      continue;
    Seconds total = costs.operations[id].time * static_cast<double>(graph.executions(id));
    sum += total.value;
    shares.push_back({id, total, 0});
  }
  std::sort(shares.begin(), shares.end(), [](const Share &a, const Share &b) {
    return a.total != b.total ? a.total > b.total : a.operation < b.operation;
  });
  if (shares.size() > most)
    shares.resize(most);
  for (Share &share : shares)
    share.share = sum > 0 ? share.total.value / sum : 0;
  return shares;
}

} // namespace accord
