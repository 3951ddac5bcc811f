// Stages of a profiled graph as JSON (docs/schema/place.schema.json) and for the terminal.
#pragma once
#include "lib/planning/output/Summary.h"
#include "lib/partitioning/problem/LoadProblem.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// (load - bound) / load.
double gapOf(const LoadResult &result);

/// Status `done`, `infeasible`, or `unknown` where neither stages nor a proof that there are none
/// were found. Times in seconds.
llvm::json::Value loadStagesJson(const LoadProblem &problem, const LoadResult &result);

/// A line for each stage, then load, bound and gap; of an infeasible problem the conflict.
std::string loadStagesText(const LoadProblem &problem, const LoadResult &result,
                           const TextStyle &style);

} // namespace accord
