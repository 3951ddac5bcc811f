// An ONNX file (a network as it infers) -> the model as `.dnn` text, with a loss to train it.
#pragma once
#include "lib/support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct OnnxOptions {
  std::string name;                          ///< of the model
  std::map<std::string, int64_t> sizes;      ///< symbolic extents other than the batch
  std::map<std::string, std::string> losses; ///< by output; "" is for all others
  bool unrolled = false;                     ///< copies of one body are written each, not as a `repeat`
};

struct OnnxImport {
  std::string text;               ///< formatted `.dnn`
  std::vector<std::string> notes; ///< also in the text, as comments
};

/// What a loss may be called in the options.
std::vector<std::string> onnxLosses();

/// nullopt after errors; they are all at once where one does not hide the others.
std::optional<OnnxImport> importOnnx(Diagnostics &diags, const std::string &path, const OnnxOptions &options);

} // namespace accord
