// Layers in parallel configurations, as the JSON of Piper and PHAZE says them -> which pipeline (LayerGraph).
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

/// Whether a text is JSON of msr-fiddle/phaze: its nodes have optimalLatencyFw.
bool isPhaze(llvm::StringRef text);

/// What msr-fiddle/phaze hands its placement (Solver/device_placement/inputs): maxDevices, maxMemoryPerDevice,
/// bandwidth, mbsInBatch, optimizerAlgorithm, activationRecomputation, and for each tensor degree the same nodes and
/// edges, with seconds and bytes of one device. A layer has a configuration of each degree; with
/// activationRecomputation a second one that keeps what comes in over its edges alone, and computes forward again.
/// Memory is PHAZE's: parameters and gradients, once more the parameters for Adam, and activations. Edges cost what the
/// degrees of their ends say. The loads are those of `LayerGraph`: PHAZE's own overlaps transfers with computation, and
/// gives all stages one degree. nullopt after errors: A0811.
std::optional<LayerGraphImport> importPhazeGraph(Diagnostics &diags, FileId file);

/// What a file of Alpa does not say.
struct AlpaMachine {
  int64_t devices = 1, microbatches = 1;
};

/// The file compute-cost-TIME.npy that Alpa (alpa-projects/alpa, stage_construction.py) saves: an array of NumPy of
/// shape (3, layers, layers, meshes, shardings): the seconds of the stage of layers i to j on a mesh in a sharding,
/// infinite where it was not profiled; how many stages may follow it within the memory, -1: it does not fit; and what
/// was profiled. Mesh s has 2^s devices, as in Alpa's spaces of powers of two. Numbers are '<f8' or '<f4'; pickled
/// objects are refused. nullopt after errors: A0811.
std::optional<LayerGraphImport> importAlpaCosts(Diagnostics &diags, const std::string &path, llvm::StringRef bytes,
                                                const AlpaMachine &machine);

} // namespace accord
