// Chosen zeros as JSON, text, MLIR and a page.
#pragma once
#include "lib/sparsity/problem/ReportedSelection.h"
#include "lib/sparsity/solve/SparsityPlan.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

constexpr const char *kSparsityFile = "prune.json";

/// All that is known of it, with the problem of the choice and its answer.
llvm::json::Value toJson(const SparsityPlan &plan);
/// The problem and the answer of what `toJson` wrote of a step (`readDataflow` reads the others); reports at `path`
/// what is of another form. Words and costs by phase are not read.
bool readSelection(const llvm::json::Value &value, SelectionProblem &problem, SelectionResult &result,
                   llvm::json::Path path);

/// What it shows of the step: all that people read of it but words.
bool readReportedSelection(const llvm::json::Value &value, ReportedSelection &shown, llvm::json::Path path);

/// Table of layers, sums, accuracy. `folder`: of the report; empty: none.
std::string sparsitySummary(const SparsityPlan &plan, const std::string &folder, const TextStyle &style);
/// A comment and an attribute alias for each way that weights are stored in, and for each layer which: MLIR's
/// `#sparse_tensor` encodings. Empty if all are dense.
std::string sparsityMlir(const SparsityPlan &plan);
/// report.html: lib/emit/report/sparsity.{html,js} with style and numbers of the other reports.
std::string toReport(const SparsityPlan &plan);

/// Sums of a step with what was chosen, and without zeros.
struct SparsitySums {
  double seconds = 0, quantile = 0, joules = 0, bytes = 0;
  double denseSeconds = 0, denseJoules = 0, denseBytes = 0;
};
SparsitySums sumsOf(const PrunePlan &plan);

} // namespace accord
