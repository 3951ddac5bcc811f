// A program of torch.export (.pt2) -> the training as `.dnn` text.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// nullopt after errors; they are all at once where one does not hide the others.
std::optional<ImportedModel> importTorch(Diagnostics &diags, const std::string &path, const NetworkOptions &options);

} // namespace accord
