// Step time, memory and FLOPs of a training as functions of its sizes, without searching for a plan.
#pragma once
#include "lib/driver/Options.h"
#include "lib/latency/model/LatencyModel.h"
#include "lib/machine/model/Plan.h"

namespace accord {

class Session;

struct LatencyOptions : Options {
  std::vector<std::string> formats; ///< "c", "python", "mlir", "csv"; empty: all where there is a folder, else none
  std::vector<std::string> at;      ///< configurations to evaluate: "microbatch=1,2,4"
};

/// The latency model of a prepared session's job on its machine, or on its cluster over the parallel degrees. Nothing
/// after errors.
std::optional<LatencyModel> jobLatencyModel(Session &session);

/// Makes the latency model, writes it into the folder `options.output` (empty: prints the formats) and prints its
/// values at the configurations. Returns the exit status of `accord latency`.
int latency(LatencyOptions options);

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
