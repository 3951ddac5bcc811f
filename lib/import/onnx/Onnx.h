// An ONNX file (a network as it infers) -> the model as `.dnn` text, with a loss to train it.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// nullopt after errors; they are all at once where one does not hide the others.
std::optional<ImportedModel> importOnnx(Diagnostics &diags, const std::string &path, const NetworkOptions &options);

} // namespace accord
