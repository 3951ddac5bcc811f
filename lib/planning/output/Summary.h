// What people read on the terminal: the summary of `compile`, tables of `estimate` and
// `explain`.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/planning/output/EstimateJson.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace accord {

struct SummaryOptions {
  std::optional<int64_t> sequence; ///< tokens per sample: adds tokens/s
  std::string report;              ///< path of the report, shown at the end; empty: none
  bool proof = false;              ///< of a placement: how its bound was found
};
/// " (17.6 s .. 20.4 s), ideal 13.7 s" behind a step time; empty where times are not calibrated.
std::string stepTimeNote(const std::optional<StepEstimate> &estimate);
/// "90 %: 17.6 s to 20.4 s; ideal 13.7 s" below one, in a report.
std::string stepTimeRange(const std::optional<StepEstimate> &estimate);

/// Model, machine, batch, step time, throughput, MFU, memory, three most expensive operations,
/// bound and gap; of an infeasible plan the conflicts.
std::string compileSummary(const Plan &plan, const SummaryOptions &options, const TextStyle &style);

std::string estimateTable(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                          const EstimateTotals &totals, const TextStyle &style);

/// Formula, substituted numbers, their sources, bound, schedule and slack of one operation. Fails
/// on an unknown name, with the nearest one.
llvm::Expected<std::string> explainOperation(const Plan &plan, llvm::StringRef operation, const TextStyle &style);

} // namespace accord
