// Profiled graphs of PipeDream and dnn-partitioning -> which stages (LoadProblem).
#pragma once
#include "lib/partitioning/problem/PartitioningProblem.h"
#include "lib/support/Diagnostics.h"
#include <optional>

namespace accord {

struct PartitioningImport {
  PartitioningProblem problem;
  std::vector<std::string> notes; ///< what was left out
};

/// What a file does not state, or the user states otherwise.
struct PartitioningDevices {
  std::optional<int64_t> accelerators, processors;
  std::optional<int64_t> memory;   ///< bytes of an accelerator
  std::optional<double> bandwidth; ///< bytes a second between accelerators
  bool allowReplicas = true;       ///< whether PipeDream's stages may have several replicas
};

/// A graph of msr-fiddle/dnn-partitioning: rule Sum. Devices are those of the file unless stated.
/// All edges out of a node cost the same (to 1e-6 ms), as its format says. nullopt after errors.
std::optional<PartitioningImport> importPartitioningGraph(Diagnostics &diags, FileId file,
                                                          const PartitioningDevices &devices);

/// A graph of PipeDream's profiler: rule Overlap. A node's time is forward and backward, a transfer
/// carries its activation there and the gradient back, its memory is parameters and activation.
/// `accelerators` and `bandwidth` must be stated. nullopt after errors.
std::optional<PartitioningImport> importPipedreamGraph(Diagnostics &diags, FileId file,
                                                       const PartitioningDevices &devices);

} // namespace accord
