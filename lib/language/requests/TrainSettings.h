// The entries of a `train` block -> settings of a job, each key checked.
#pragma once
#include "lib/language/requests/TrainingJob.h"
#include "lib/language/syntax/Evaluate.h"

namespace accord {

/// Conditions of `require`s with where they stand, kept for a check against the machine.
using Conditions = std::vector<std::pair<Constant, const ast::Entry *>>;

/// Sets in the job what the block states.
Conditions readTrainSettings(const ast::Declaration &train, TrainingJob &job, mlir::MLIRContext &context,
                             Diagnostics &diags, const Lookup &lookup);

/// A key of `search` whose values are words that only a placement chooses among.
struct PlacementWords {
  std::string key;
  std::vector<std::string> TrainingJob::*into;
  std::vector<std::string> known;
  bool single = false; ///< nothing searches for it
};
llvm::ArrayRef<PlacementWords> placementWords();

/// That an expression is none of the objectives of a training.
void rejectObjective(const ObjectiveExpression &expression, Diagnostics &diags);

/// "mixed(bf16)", "fp32", … as an attribute; null after an error.
dnn::PrecisionAttr precisionOf(const Constant &value, mlir::MLIRContext &context, Diagnostics &diags);
/// Null after an error.
dnn::OptimizerKindAttr optimizerOf(const Constant &value, mlir::MLIRContext &context, Diagnostics &diags);
/// Those of `known` that a word or a set of words names, in their order, each once; empty after an
/// error.
std::vector<std::string> wordsOf(const Constant &value, Diagnostics &diags, llvm::StringRef key,
                                 const std::vector<std::string> &known);
/// Sets "none", "selective" and "full" of a word or a set of words, in their order, unless there is an error.
void readRecomputes(const Constant &value, TrainingJob &job, Diagnostics &diags);

} // namespace accord
