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

/// A table with a row for the step, as `accord calibrate` reads it.
std::string stepRows(const Comparison &comparison);
/// A table with the mean time of each operation that was recognized by name or by shapes and that such a table can say
/// (products, softmax, layer norm, element-wise operations forward), as `accord calibrate --operations` reads it.
std::string operationRows(const Comparison &comparison);

/// The page of the comparison.
std::string comparisonPage(const Comparison &comparison);

} // namespace accord::comparison
