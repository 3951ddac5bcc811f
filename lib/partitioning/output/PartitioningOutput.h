// Stages of a profiled graph as JSON and for the terminal.
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/support/documents/TextStyle.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Status `done`, `infeasible`, or `unknown` where neither stages nor a proof that there are none
/// were found. Times in seconds.
llvm::json::Value partitioningJson(const PartitioningProblem &problem, const PartitioningResult &result);

llvm::json::Value partitionSchema();

/// The page of that document.
std::string partitioningReport(const PartitioningProblem &problem, const PartitioningResult &result);

/// A line for each stage, then load, bound and gap; of an infeasible problem the conflict.
std::string partitioningText(const PartitioningProblem &problem, const PartitioningResult &result,
                             const TextStyle &style);

} // namespace accord
