// The entries of a `train` block -> settings, each key checked.
#pragma once
#include "lib/language/requests/TrainingJob.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// Conditions of the `require`s, kept for a check against the machine.
struct TrainSettings {
  std::optional<int64_t> batch;
  dnn::PrecisionAttr precision;
  std::optional<dnn::OptimizerKind> optimizer;
  std::vector<int64_t> microbatches;
  SourceRange microbatchAt; ///< of the value in `search`
  std::vector<std::string> recomputes;
  std::optional<DataLoader> dataLoader; ///< of `data`
  SourceRange dataLoaderAt;
  std::vector<DegreeChoice> parallel;
  std::vector<int64_t> zero;
  SourceRange zeroAt;
  std::vector<PipelineSchedule> schedules;
  std::vector<int64_t> virtualStages;
  SourceRange scheduleAt;
  std::vector<std::string> offloads, tensorOverlaps, orders, transfers, tables, recomputeGranularity, regatherSequence,
      stages; ///< see `TrainingJob`
  SourceRange offloadAt;
  std::optional<Objective> objective;
  PlacementObjective placementObjective = PlacementObjective::StepTime;
  SourceRange objectiveAt;
  std::optional<ObjectiveExpression> expression; ///< instead of `objective`
  std::vector<LayerConstraint> placementConstraints;
  double samples = 0, tokens = 0; ///< to train on; 0: not stated
  SourceRange amountAt;
  std::vector<std::pair<Constant, const ast::Entry *>> requirements;
  std::vector<std::string> assumptions;
};

TrainSettings trainSettings(const ast::Declaration &train, mlir::MLIRContext &context, Diagnostics &diags,
                            const Lookup &lookup);

/// That an expression is none of the objectives of a training.
void rejectObjective(const ObjectiveExpression &expression, Diagnostics &diags);

/// "mixed(bf16)", "fp32", … as an attribute; null after an error.
dnn::PrecisionAttr precisionOf(const Constant &value, mlir::MLIRContext &context, Diagnostics &diags);
std::optional<dnn::OptimizerKind> optimizerOf(const Constant &value, Diagnostics &diags);
/// Those of `known` that a word or a set of words names, in their order, each once; empty after an
/// error.
std::vector<std::string> wordsOf(const Constant &value, Diagnostics &diags, llvm::StringRef key,
                                 const std::vector<std::string> &known);
/// "none", "selective" and "full" of a word or a set of words, in their order; empty after an
/// error.
std::vector<std::string> recomputesOf(const Constant &value, Diagnostics &diags);

} // namespace accord
