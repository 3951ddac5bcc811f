#include "lib/machine/cost/CalibratedCosts.h"
#include "lib/machine/calibration/OperationTimes.h"
#include <fmt/format.h>

namespace accord {

std::optional<Error> calibrateCosts(const WorkGraph &graph, const Machine &machine,
                                    const calibrate::Parameters &parameters, Costs &costs) {
  auto times = calibrate::operationTimes(graph, machine, parameters, calibrate::Layout());
  if (!times)
    return times.takeError();
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    OperationCost &cost = costs.operations[id];
    if (cost.core < 0 || graph.operations[id].givenSeconds)
      continue;
    Seconds ideal = cost.time;
    cost.time = Seconds((*times)[id]);
    cost.cycles = machine.clock * cost.time;
    cost.floor = Seconds(parameters[calibrate::Parameter::KernelLaunchOverhead]);
    cost.model = kCalibratedModel;
    cost.formula = fmt::format("calibrated by '{}': {:.6g} s; at the data sheet's rates {:.6g} s: {}",
                               machine.fitted.source, cost.time.value, ideal.value, cost.formula);
  }
  costs.alternatives.clear();
  bool launches = parameters[calibrate::Parameter::Launch] > 0;
  costs.assumptions.push_back(fmt::format(
      "times are those of the calibration '{}': kernels run one after the other, and {}", machine.fitted.source,
      launches ? "wait for the host where launching them takes longer" : "no host launches them"));
  return std::nullopt;
}

} // namespace accord
