// Profiled graphs -> operations with given times as `.dnn` text.
#pragma once
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct ProfileImport {
  std::string text;               ///< formatted `.dnn`
  std::vector<std::string> notes; ///< also in the text, as comments
};

/// A graph as the profiler of PipeDream writes it: a line for each node with its times and sizes,
/// and an indented line for each edge. nullopt after errors, which are all at their lines.
std::optional<ProfileImport> importPipedream(Diagnostics &diags, FileId file, const std::string &name);

/// A graph of msr-fiddle/dnn-partitioning (JSON). Backward nodes become the `backward` time of the
/// one forward node of their colour class.
std::optional<ProfileImport> importDnnPartitioning(Diagnostics &diags, FileId file, const std::string &name);

} // namespace accord
