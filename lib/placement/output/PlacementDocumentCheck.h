// What a placement from a file must not contain before anybody computes on it.
#pragma once
#include "lib/placement/problem/Placement.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"

namespace accord {

/// Ids within range, a cost or nothing for each parallel configuration, a link for each pair of device types; layers in
/// order. Sums of times and sizes stay below 2^61 whatever the plan. Reports at `path`.
bool checkIndices(const PlacementProblem &problem, llvm::json::Path path);

/// A plan without violations and with few enough passes to look at, and metrics of its shape.
bool checkPlan(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics,
               llvm::json::Path path);

/// Reads a file of a certificate. Errors name the file, line and column and, below `root`, the place in it.
template <typename T, typename... How>
llvm::Expected<T> readCertificate(llvm::StringRef text, llvm::StringRef path, llvm::StringLiteral root, How &&...how) {
  return readJsonDocument<T>(text, path, root, [&](const llvm::json::Value &value, T &read, llvm::json::Path at) {
    return readDocument(value, read, at, how...);
  });
}

} // namespace accord
