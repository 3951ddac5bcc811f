// A module in the dialects tosa or linalg (a network as it infers) -> `.dnn` text, with a loss.
#pragma once
#include "lib/support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct MlirOptions {
  std::string name;                          ///< of the model
  int64_t inputs = 0;                        ///< the first arguments that are inputs; 0: by rule
  std::map<std::string, std::string> losses; ///< by output ("output0"); "" is for all others
  bool unrolled = false;                     ///< copies of one body are written each, not as a `repeat`
};

struct MlirImport {
  std::string text;               ///< formatted `.dnn`
  std::vector<std::string> notes; ///< also in the text, as comments
};

/// nullopt after errors; they are all at once where one does not hide the others. `file` is text
/// or bytecode.
std::optional<MlirImport> importMlir(Diagnostics &diags, FileId file, const MlirOptions &options);

} // namespace accord
