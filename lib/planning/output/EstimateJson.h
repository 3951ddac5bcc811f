// The document of `accord estimate --json`: what each operation costs.
#pragma once
#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/StepEstimate.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <vector>

namespace accord {

/// Input data of one step, where the training says how it is loaded.
struct DataLoaderRow {
  Bytes batch;
  Seconds load, copy, compute, step; ///< `step` in steady state, loading included
  double gain = 1;                   ///< of prefetching over doing it all in turn
  int64_t prefetch = 0;
  std::string bound;
  int64_t workers = 1;
  bool hidden = false; ///< loading adds nothing to the step; up to 1 % where it varies
  double error = 0;    ///< of `step`, relative: two standard errors; 0: exact
  std::vector<LoaderChoice::Depth> depths;
};

/// Of one training step.
struct EstimateTotals {
  int64_t parameters = 0;
  Count flops = 0;       ///< sum of flops * count
  Seconds time;          ///< sum of time * count: one operation after the other
  Joules energy;         ///< sum of energy * count
  Count memoryBytes = 0; ///< of weights, gradients, optimizer states and what a forward pass keeps
  Count capacity = 0;    ///< of the device memory, bytes; 0: unknown
  std::optional<DataLoaderRow> dataLoading;
  /// On cores at the level of instructions: of one step, and of those the instructions whose times were computed, in
  /// how many programs; the others follow exactly, but of `estimated` programs. `low` and `high`: between which `time`
  /// is proven to be.
  struct Instructions {
    Count executed = 0;
    int64_t evaluated = 0, programs = 0, estimated = 0;
    Seconds low, high;
  };
  std::optional<Instructions> instructions;
  Seconds step;                         ///< of the schedule
  std::optional<StepEstimate> estimate; ///< of it, where the machine is calibrated
  Joules arithmetic, idle;              ///< parts of the step's energy, `idle` over `step`
  std::vector<Joules> memories;         ///< … by level of the machine
  Joules stepEnergy() const;            ///< all parts together
  Watts power() const;                  ///< of them over `step`
};
/// Sums over the operations that are no repeats. `memoryBytes` is of the residents only: the caller
/// knows the rest.
EstimateTotals sumEstimate(const WorkGraph &graph, const Costs &costs);

/// The cluster of whose devices the numbers are, and among how many it shares what.
struct ClusterShare {
  std::string name;
  int64_t devices = 1, tensor = 1, sequence = 1, data = 1, expert = 1, context = 1;
};

/// `flops`, `time_s`, `cycles`, `energy_J` and `bytes` are of ONE execution; `count` is how often
/// it runs per step.
llvm::json::Value toEstimateJson(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                                 const EstimateTotals &totals, const std::optional<ClusterShare> &cluster = {});
llvm::json::Value estimateSchema();

/// The page of such a document.
std::string estimateReport(const llvm::json::Value &document);

} // namespace accord
