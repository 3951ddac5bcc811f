// Published training runs as placements: the configuration that was run, evaluated as the planner evaluates plans, and
// the plan it would choose on the same devices.
#pragma once
#include "lib/machine/calibration/Accuracy.h"
#include "lib/machine/calibration/CaseBuilder.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"

namespace accord {

struct PublishedRun {
  std::string id, what;            ///< what: "tensor 8, pipeline 12, data 4, micro-batch 1, full"
  double measured = 0, forced = 0; ///< seconds of a step
  /// Bytes of a device. Where the row does not state what is computed again, or a stage of ZeRO, the memory is that of
  /// the way that needs least.
  int64_t memory = 0, capacity = 0;
  std::optional<double> free, bound; ///< of the plan chosen freely; seconds
  std::string freeWhat;
  double error() const { return forced / measured - 1; }
  bool fits() const { return memory <= capacity; }
  /// The search found nothing as good as what was run: a fault of the planner.
  bool slower() const { return free && fits() && *free > forced * (1 + 1e-9); }
};

struct PublishedOptions {
  bool choose = true;   ///< let the planner choose, too
  unsigned effort = 10; ///< as PlacementOptions::effort
};

/// Whether a row states degrees, micro-batch and batch.
bool isConfigured(const calibrate::Row &row);

/// The problem has one device type, the machine with these parameters; the run's way is one of its parallel
/// configurations. Its stages have equally many blocks, what stands before them is in the first stage and what stands
/// behind them in the last. Error A0468: the row does not say how it was run, or no placement says it (micro-batches
/// that do not divide the batch, stages that do not divide the blocks). Several devices divide tables with sparse
/// gradients by columns, of which each has as many bytes as of whole tables that are spread evenly.
Result<PublishedRun> publishedRun(calibrate::GraphSource &profiler, const calibrate::Row &row,
                                  const calibrate::Case &one, const Machine &machine,
                                  const calibrate::Parameters &parameters, const PublishedOptions &options = {});

/// Of all rows with a full configuration that belong to a study: docs/published.md, in Markdown. `parameters` as
/// `parametersByCase` gives them for the cases.
std::string publishedPage(calibrate::GraphSource &profiler, const std::vector<calibrate::Row> &rows,
                          const calibrate::Prepared &prepared, const PublishedOptions &options = {});

} // namespace accord
