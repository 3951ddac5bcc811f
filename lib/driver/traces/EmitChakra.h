// What `accord emit chakra` does.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace accord {

struct EmitChakraOptions {
  std::string plan, output;    ///< `output`: a folder
  std::optional<int64_t> rank; ///< only this one
  bool json = false;
};

/// Writes execution traces into a folder: trace.RANK.et for each rank of the plan, and comm_groups.json, the lists of
/// ranks of collectives, where replicas exchange gradients. Returns the exit status.
int emitChakra(const EmitChakraOptions &options);

} // namespace accord
