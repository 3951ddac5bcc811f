// A `config.json` of Hugging Face transformers -> the model as `.dnn` text, trained as its class is
// pre-trained.
#pragma once
#include "lib/support/Diagnostics.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct HuggingFaceImport {
  std::string text; ///< formatted `.dnn`
  /// Settings that were not understood; they are in the text as a comment, too.
  std::vector<std::string> unread;
};

/// `name` becomes the model's name (made into one if it is none). nullopt after errors: no JSON, a
/// missing or wrong setting, a model type or a feature that has no form here.
std::optional<HuggingFaceImport> importHuggingFace(Diagnostics &diags, FileId config, const std::string &name);

/// The values of `model_type` that can be imported.
std::vector<std::string> huggingFaceFamilies();

} // namespace accord
