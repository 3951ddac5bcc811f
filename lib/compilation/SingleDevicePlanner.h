// The best plan of one training on one machine.
#pragma once
#include "lib/compilation/Planning.h"
#include "lib/compilation/TrainingRequest.h"
#include "lib/planning/solve/SingleDevice.h"

namespace accord {

/// What `planSingleDevice` is asked for a request, without the work that it plans (`instantiate`).
SingleDeviceRequest deviceRequest(const TrainingRequest &request, const Planning &planning);

/// The best plan of the request on the machine, with all assumptions in words; `graphs` has the training graph of every
/// recomputation policy that the request offers. Errors as `planSingleDevice` has them, and A0486 of loading data.
Result<Plan, Errors> planOnDevice(const TrainingRequest &request, const Machine &machine,
                                  const std::map<std::string, dnn::TrainingGraphOp> &graphs, const Planning &planning);

/// The interval of the plan's step on a calibrated machine, and its ideal: the same step at the rates of the data
/// sheet, scheduled briefly. Nothing where the machine is not calibrated, or another cost model prices it.
std::optional<StepEstimate> stepEstimateOf(const Plan &plan, const Machine &machine, SingleDeviceRequest request);

} // namespace accord
