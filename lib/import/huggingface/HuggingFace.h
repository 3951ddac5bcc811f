// A `config.json` of Hugging Face transformers -> the model as `.dnn` text, trained as its class is
// pre-trained.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

struct HuggingFaceOptions {
  std::string name;                     ///< of the model; made into one if it is none
  std::map<std::string, int64_t> sizes; ///< lengths of its inputs, by name: `seq`
};

/// What a configuration says and the text cannot, or does not understand, is a note. nullopt after errors: no JSON, a
/// missing or wrong setting, a model type or a feature that has no form here, a length that the model has not.
std::optional<ImportedModel> importHuggingFace(Diagnostics &diags, FileId config, const HuggingFaceOptions &options);

/// The values of `model_type` that can be imported.
std::vector<std::string> huggingFaceFamilies();

} // namespace accord
