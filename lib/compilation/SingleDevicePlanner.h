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

} // namespace accord
