// What both kinds of profiled graphs say, and its text. Internal to lib/import.
#pragma once
#include "lib/import/profiles/Profiles.h"
#include "lib/import/text/Network.h"

namespace accord::import {

struct ProfileNode {
  std::string name, what;            ///< `what`: the layer in the words of the file
  double forward = 0, backward = 0;  ///< milliseconds
  double output = 0, parameters = 0; ///< bytes
  std::vector<size_t> reads;         ///< nodes, in the order of the file's edges
  SourceRange range;
};

struct ProfileGraph {
  std::vector<ProfileNode> nodes;
  std::vector<std::string> lines, notes; ///< of documentation
};

/// nullopt after errors, which are all at their lines.
std::optional<ProfileGraph> readPipedream(Diagnostics &diags, FileId file);

/// Orders the nodes; nodes that no other reads end in the loss, those that read none have an input
/// of their own. An error for a cycle, and where nothing is trained.
std::optional<ImportedModel> toDnn(Diagnostics &diags, FileId file, ProfileGraph graph, const std::string &name);

/// A time in ms or a size in B that a profile may hold.
inline bool isMeasured(double value) { return value >= 0 && value <= 1e15; }

} // namespace accord::import
