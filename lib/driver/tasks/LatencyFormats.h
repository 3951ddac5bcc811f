// The latency model of a session's job, and its files.
#pragma once
#include "lib/latency/model/LatencyModel.h"
#include "lib/machine/model/Plan.h"

namespace accord {

class Session;

/// Samples the job at the sizes that the model needs. Why there is none (A0707) is an error where
/// it is `needed`, else a warning: the plan stands without. What it holds at the plan's value is a
/// warning (A0708).
std::optional<LatencyModel> latencyModel(Session &session, const Plan &plan, bool needed);

/// The same of what was made already.
std::optional<LatencyModel> reportedModel(Session &session, Result<LatencyModel> made, bool needed);

struct LatencyFormat {
  const char *name, *file;
  std::string (*print)(const LatencyModel &);
};
/// "c", "python", "mlir", "csv".
const std::vector<LatencyFormat> &latencyFormats();

/// Writes latency_model.* into `folder`: the forms of these names, all when empty. Removes those of
/// an earlier run when there is no model: they would speak of another plan.
bool writeLatencyFormats(Session &session, const std::optional<LatencyModel> &model, const std::string &folder,
                         const std::vector<std::string> &names);

} // namespace accord
