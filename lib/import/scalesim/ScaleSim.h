// A layer list of SCALE-Sim (its topology CSV) -> the layers as `.dnn` text.
#pragma once
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct ScaleSimImport {
  std::string text;               ///< formatted `.dnn`
  std::vector<std::string> notes; ///< also in the text, as comments
};

/// Each row becomes one operation with the multiply-accumulates that SCALE-Sim computes. The rows
/// know nothing of each other: each has an input and a loss of its own. nullopt after errors, which
/// are all at their rows.
std::optional<ScaleSimImport> importScaleSim(Diagnostics &diags, FileId file, const std::string &name);

} // namespace accord
