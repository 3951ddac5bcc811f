// A comparison for people and programs: tables on the terminal, a document, a page, rows for `accord calibrate`.
#pragma once
#include "lib/comparison/problem/Comparison.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord::comparison {

/// Headline, parts of the step, the operations (`all`, or the 20 with the largest difference), what is not explained.
std::string comparisonText(const Comparison &comparison, bool all, const TextStyle &style);

/// The document of `accord compare --json`.
llvm::json::Value toJson(const Comparison &comparison);
llvm::json::Value comparisonSchema();

} // namespace accord::comparison
