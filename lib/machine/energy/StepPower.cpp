#include "lib/machine/energy/StepPower.h"
#include "lib/machine/energy/Energy.h"
#include <algorithm>

namespace accord {
namespace {

struct BusySeconds {
  double any = 0, vector = 0, tensor = 0, memory = 0, link = 0;
};

void addCompute(const Machine &machine, int core, Seconds compute, double times, BusySeconds &sum) {
  if (core < 0)
    return;
  const Core &on = machine.cores[core];
  (on.kind == CoreKind::Tensor ? sum.tensor : sum.vector) += compute.value * on.efficiency * times;
}

} // namespace

bool hasBoardPower(const Machine &machine) {
  if (!(machine.tdp > machine.idle))
    return false;
  for (const auto &[key, origin] : machine.origins)
    if ((key == "mac" || key.starts_with("mac.")) && !isFilledIn(origin))
      return false;
  return std::none_of(machine.memories.begin(), machine.memories.end(), [](const Memory &memory) {
    auto energy = memory.origins.find("energy");
    return energy != memory.origins.end() && !isFilledIn(energy->second);
  });
}

static void addOperation(const Operation &op, const OperationCost &cost, const Machine &machine, double times,
                         BusySeconds &sum) {
  sum.any += cost.time.value * times;
  if (op.communication)
    sum.link += cost.time.value * times;
  if (cost.parts.empty())
    addCompute(machine, cost.core, cost.compute, times, sum);
  for (const PartCost &part : cost.parts)
    addCompute(machine, part.core, part.compute, times, sum);
  if (!cost.bytes.empty() && machine.memories[0].bandwidth.value > 0)
    sum.memory += cost.bytes[0].value / machine.memories[0].bandwidth.value * times;
}

static UnitShares sharesOf(const BusySeconds &sum, Seconds step) {
  auto share = [&](double seconds) { return step.value > 0 ? std::min(1.0, seconds / step.value) : 0; };
  return {share(sum.any), share(sum.vector), share(sum.tensor), share(sum.memory), share(sum.link)};
}

UnitShares unitShares(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step) {
  BusySeconds sum;
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone)
      continue;
    addOperation(op, costs.operations[id], machine, static_cast<double>(graph.executions(id)), sum);
  }
  return sharesOf(sum, step);
}

void chargeBoard(const WorkGraph &graph, const Machine &machine, Costs &costs) {
  if (!hasBoardPower(machine))
    return;
  auto charge = [&](OperationId id, OperationCost &cost) {
    BusySeconds sum;
    addOperation(graph.operations[id], cost, machine, 1, sum);
    BoardPower power = boardPower({machine.idle, machine.tdp, {}}, sharesOf(sum, cost.time), BoardPowerLaw());
    cost.energy = (power.average - machine.idle) * cost.time;
  };
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id)
    charge(id, costs.operations[id]);
  for (auto &[id, alternatives] : costs.alternatives)
    for (OperationCost &cost : alternatives)
      charge(id, cost);
}

std::optional<BoardPower> stepPower(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step) {
  if (!hasBoardPower(machine) || !(step.value > 0))
    return std::nullopt;
  return boardPower({machine.idle, machine.tdp, {}}, unitShares(graph, costs, machine, step), BoardPowerLaw());
}

} // namespace accord
