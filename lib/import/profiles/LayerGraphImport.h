// Layers in parallel configurations, as Piper's JSON says them -> which pipeline (LayerGraph).
#pragma once
#include "lib/partitioning/problem/LayerGraph.h"
#include "lib/support/Diagnostics.h"
#include <optional>

namespace accord {

struct LayerGraphImport {
  LayerGraph graph;
  std::vector<std::string> notes; ///< what was left out
};

/// Whether a text is JSON of msr-fiddle/piper: its nodes have TMPCs.
bool isPiper(llvm::StringRef text);

/// A graph of msr-fiddle/piper: maxDevices, maxMemoryPerDevice, bandwidth, mbsInBatch (or maxBatchSize), nodes with
/// TMPCs by tensor degree, edges. Times are seconds, as its planner adds them to bytes / bandwidth. nullopt after
/// errors, which are all at their nodes and edges: A0811.
std::optional<LayerGraphImport> importPiperGraph(Diagnostics &diags, FileId file);

} // namespace accord
