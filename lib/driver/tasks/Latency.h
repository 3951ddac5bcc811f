// Step time, memory and FLOPs of a training as functions of its sizes, without searching for a plan.
#pragma once
#include "lib/driver/Options.h"
#include "lib/language/requests/TrainingJob.h"
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/model/Plan.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/Support/JSON.h"

namespace accord {

class Session;

struct LatencyOptions : Options {
  std::vector<std::string>
      formats; ///< "c", "python", "javascript", "mlir", "csv"; empty: all where there is a folder, else none
  std::vector<std::string> at; ///< configurations to evaluate: "microbatch=1,2,4"
};

/// The latency model of a prepared session's job on its machine, or on its cluster over the parallel degrees. Nothing
/// after errors. `at`: configurations that it will be asked at, whose sizes are in its tables (LatencyOptions::at).
std::optional<LatencyModel> jobLatencyModel(Session &session, const std::vector<std::string> &at = {});

/// Makes the latency model, writes it into the folder `options.output` (empty: prints the formats) and prints its
/// values at the configurations. Returns the exit status of `accord latency`.
int latency(LatencyOptions options);

/// Samples the job at the sizes that the model needs. Why there is none (A0707) is an error where
/// it is `needed`, else a warning: the plan stands without. What it holds at the plan's value is a
/// warning (A0708). `table`: the micro-batches of tables, where no expression gives a time.
std::optional<LatencyModel> latencyModel(Session &session, const Plan &plan, bool needed,
                                         const LatencyTable &table = {});

/// The same of what was made already.
std::optional<LatencyModel> reportedModel(Session &session, Result<LatencyModel> made, bool needed);

/// The job's step at other sizes and degrees, priced with `options`; nothing where it is not defined there, which is no
/// error.
std::optional<SampledWork> sampledAt(Session &session, EstimateOptions options, int64_t microbatch,
                                     int64_t microbatches, std::optional<int64_t> sequence,
                                     const std::optional<Degrees> &degrees = {});

/// The latency model of the job on its cluster: plans the job at every degree that divides it and that the cluster has
/// devices for: powers of two, those of the file, and divisors of the parameter `heads` where that is odd or twice odd.
/// Nothing after errors. What is left out, and why, is in the notes.
std::optional<LatencyModel> clusterLatencyModel(Session &session);

struct LatencyFormat {
  const char *name, *file;
  const char *comment; ///< what a line that says nothing begins with; empty: there is no such line
  std::string (*print)(const LatencyModel &);
};
/// "c", "python", "javascript", "mlir", "csv".
const std::vector<LatencyFormat> &latencyFormats();

/// latency_model.*, the forms of these names, all when empty; and first the model itself, which proves them, and whose
/// SHA-256 they state.
AnswerFiles filesOf(const LatencyModel &model, const std::vector<std::string> &names = {});

} // namespace accord
