// The latency model of a session's job, and its files.
#pragma once
#include "lib/latency/LatencyModel.h"
#include "lib/model/Plan.h"

namespace accord {

class Session;

/// Samples the job at the sizes that the model needs. Without one a warning says why (A0707); what
/// it holds at the plan's value is a warning, too (A0708). Never an error of the plan.
std::optional<LatencyModel> latencyModel(Session &session, const Plan &plan);

struct LatencyForm {
  const char *name, *file;
  std::string (*print)(const LatencyModel &);
};
/// "c", "python", "mlir", "csv".
const std::vector<LatencyForm> &latencyForms();

/// Writes latency_model.* into `folder`: the forms of these names, all when empty. Removes those of
/// an earlier run when there is no model: they would speak of another plan.
bool writeLatencyForms(Session &session, const std::optional<LatencyModel> &model,
                       const std::string &folder, const std::vector<std::string> &names);

} // namespace accord
