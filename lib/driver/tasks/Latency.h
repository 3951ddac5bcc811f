// Step time, memory and FLOPs of a training as functions of its sizes, without searching for a plan.
#pragma once
#include "lib/driver/Options.h"
#include "lib/latency/model/LatencyModel.h"

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

} // namespace accord
