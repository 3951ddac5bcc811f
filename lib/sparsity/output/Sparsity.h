// Chosen zeros as JSON, text, MLIR and a page.
#pragma once
#include "lib/sparsity/solve/SparsityPlan.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

constexpr const char *kSparsityFile = "prune.json";

/// The answer of `accord prune`: all that is known of it, with the problem of the choice and its answer.
llvm::json::Value toJson(const SparsityPlan &plan);
llvm::json::Value pruneSchema();
/// Reads what `toJson` wrote; reports at `path` what is of another form.
bool readSparsity(const llvm::json::Value &value, SparsityPlan &plan, llvm::json::Path path);

/// Table of layers, sums, accuracy. `folder`: of the report; empty: none.
std::string sparsitySummary(const SparsityPlan &plan, const std::string &folder, const TextStyle &style);
/// A comment and an attribute alias for each way that weights are stored in, and for each layer which: MLIR's
/// `#sparse_tensor` encodings. Empty if all are dense.
std::string sparsityMlir(const SparsityPlan &plan);
/// report.html: lib/report/page/sparsity.{html,js} with style and numbers of the other reports.
std::string toReport(const SparsityPlan &plan);
/// prune.json, report.html, and sparsity.mlir unless all weights are dense.
AnswerFiles filesOf(const SparsityPlan &plan);

} // namespace accord
