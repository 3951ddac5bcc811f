// What the importers of models give, and what the user may say about one.
#pragma once
#include "lib/support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct ImportedModel {
  std::string text;               ///< formatted `.dnn`
  std::vector<std::string> notes; ///< what a reader should know; also in the text, as comments
};

/// For a network as it infers, to which a loss is added.
struct NetworkOptions {
  std::string name;                     ///< of the model
  std::map<std::string, int64_t> sizes; ///< ONNX: symbolic extents other than the batch
  std::string batch;                    ///< ONNX: the symbol of the batch; empty: one called so, else the first
  bool untie = false; ///< ONNX: weights that Identity nodes give another name are weights of their own
  int64_t inputs = 0; ///< MLIR: the first arguments that are inputs; 0: by rule
  std::map<std::string, std::string> losses; ///< by output ("output0" in MLIR); "" is for all others
  bool unrolled = false;                     ///< copies of one body are written each, not as a `repeat`
};

/// What a loss may be called in the options.
std::vector<std::string> lossKinds();

/// A module in the dialects tosa or linalg, as text or bytecode. nullopt after errors; they are all at once where one
/// does not hide the others.
std::optional<ImportedModel> importMlir(Diagnostics &diags, FileId file, const NetworkOptions &options);

} // namespace accord
