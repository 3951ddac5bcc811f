// `accord place` of a graph that another tool profiled.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace accord {

struct PartitionOptions {
  std::string file;
  std::optional<int64_t> accelerators, processors;
  std::string memory, bandwidth; ///< quantities, or ""
  bool allowReplicas = true;
  std::string gap = "0", timeLimit = "none";
  std::string output; ///< folder, or ""
  unsigned effort = 10;
  bool json = false;
};

/// By its ending, .json or .txt.
bool isProfiledGraph(llvm::StringRef path);

/// Prints the stages. Exit status: 0, 1 the input is wrong, 2 infeasible, or nothing found.
int partitionProfiledGraph(const PartitionOptions &options);

} // namespace accord
