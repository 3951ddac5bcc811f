// A `config.json` of Hugging Face transformers -> the model as `.dnn` text, trained as its class is
// pre-trained.
#pragma once
#include "lib/import/text/ImportedModel.h"

namespace accord {

/// `name` becomes the model's name (made into one if it is none). Settings that were not understood are a note. nullopt
/// after errors: no JSON, a missing or wrong setting, a model type or a feature that has no form here.
std::optional<ImportedModel> importHuggingFace(Diagnostics &diags, FileId config, const std::string &name);

/// The values of `model_type` that can be imported.
std::vector<std::string> huggingFaceFamilies();

} // namespace accord
