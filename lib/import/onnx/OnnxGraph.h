// What has to hold before a graph is imported, and the forms that exporters take operations apart
// into, put together again. Internal to lib/import.
#pragma once
#include "lib/import/onnx/OnnxFile.h"

namespace accord::import {

/// Keeps the nodes that the outputs need, each after what it reads. Errors, all at once: values
/// that nothing gives or two nodes give, cycles, impossible extents, operators not in `known` with
/// their counts.
bool orderOnnx(Diagnostics &diags, FileId file, OnnxModel &model, const std::set<std::string> &known);

/// PyTorch's exporter merges parameters of equal initial values: one initializer, of which Identity nodes give the
/// others.
struct TiedInitializers {
  int64_t names = 0, elements = 0; ///< of the others: how many, and of how many numbers together
};
TiedInitializers tiedInitializers(const OnnxModel &model);
/// Gives each of them an initializer of its own.
void untieOnnx(OnnxModel &model);

/// Rewrites in place: gelu, silu, hard_swish, hard_sigmoid and layer normalization from their
/// parts; a bias added to a convolution or product as its third input; a transposed weight as
/// `transB`. Nodes that are no longer needed stay; nothing reads them.
void joinOnnxPatterns(OnnxModel &model);

} // namespace accord::import
