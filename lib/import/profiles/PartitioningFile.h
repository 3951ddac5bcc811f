// A graph of msr-fiddle/dnn-partitioning as its JSON says it, with places. Internal to lib/import.
#pragma once
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::import {

struct PartitioningFile {
  struct Node {
    std::string name;
    double accelerator = 0, processor = 0; ///< milliseconds
    double size = 0;                       ///< bytes
    bool fits = true;                      ///< on an accelerator
    bool backward = false;
    std::optional<int64_t> colour;
    SourceRange range;
  };
  struct Edge {
    size_t from = 0, to = 0; ///< places in `nodes`
    double cost = 0;         ///< milliseconds; 0 if the file says none
    double bytes = 0;        ///< as stated, else of the cost: 1 ms for 2^31 B
    SourceRange range;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::optional<double> memory, accelerators, processors; ///< maxSizePerFPGA, maxFPGAs, maxCPUs
  std::vector<std::string> unread;                        ///< keys without a meaning here
};

/// nullopt after errors, which are all at their nodes and edges.
std::optional<PartitioningFile> readPartitioning(Diagnostics &diags, FileId file);

} // namespace accord::import
