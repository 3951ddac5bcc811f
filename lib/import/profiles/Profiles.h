// Profiled graphs -> operations with given times as `.dnn` text.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// A graph as the profiler of PipeDream writes it: a line for each node with its times and sizes,
/// and an indented line for each edge. nullopt after errors, which are all at their lines.
std::optional<ImportedModel> importPipedream(Diagnostics &diags, FileId file, const std::string &name);

/// A graph of msr-fiddle/dnn-partitioning (JSON). Backward nodes become the `backward` time of the
/// one forward node of their colour class.
std::optional<ImportedModel> importDnnPartitioning(Diagnostics &diags, FileId file, const std::string &name);

} // namespace accord
