// Chakra's execution traces -> operations with given times as `.dnn` text.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// The trace of one rank. Each node becomes a `profiled` operation with its time and the size of its result, which
/// reads what the node depends on. Collectives and messages are operations with their times, or with none where the
/// trace states none. A trace states no parameters: the last operation gets 4 B, so that there is something to train.
/// nullopt after errors: those of `chakra::readTrace`.
std::optional<ImportedModel> importChakra(Diagnostics &diags, const std::string &path, const std::string &name);

} // namespace accord
