// Pipeline stages of a graph that another tool profiled.
#pragma once
#include "lib/driver/Options.h"
#include <optional>
#include <string>

namespace accord {

struct PartitionOptions {
  std::string file;
  std::optional<int64_t> accelerators, processors, microbatches;
  std::string memory, bandwidth; ///< quantities, or ""
  bool allowReplicas = true;
  bool contiguous = true;         ///< whether stages are in an order
  std::string objective = "load"; ///< of `kPipelineObjectives`
  PlanSearchLimits limits;
  std::string output; ///< folder, or ""
  std::string html;   ///< file for the page, or ""
  unsigned effort = kThoroughEffort;
  bool json = false;
};

/// Cuts the graph, a .json or .txt file, into stages and prints them. Exit status: 0, 1 the input is wrong, 2
/// infeasible, or nothing found.
int partitionProfiledGraph(const PartitionOptions &options);

} // namespace accord
