// A layer list of SCALE-Sim (its topology CSV) -> the layers as `.dnn` text.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// Each row becomes one operation with the multiply-accumulates that SCALE-Sim computes. The rows
/// know nothing of each other: each has an input and a loss of its own. nullopt after errors, which
/// are all at their rows.
std::optional<ImportedModel> importScaleSim(Diagnostics &diags, FileId file, const std::string &name);

} // namespace accord
