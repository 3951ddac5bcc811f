// Importers of texts: what they accept is a program.
#pragma once
#include "lib/import/text/ImportedModel.h"
#include "test/fuzz/readers/Programs.h"

namespace accord::fuzz {

/// Imports the input by `import(diags, file)`.
template <typename Import> void readImport(std::string_view input, Import import) {
  SourceManager sources;
  Diagnostics diags(sources);
  FileId file = sources.add("fuzz", std::string(input));
  std::optional<ImportedModel> model = import(diags, file);
  expectPlaces(diags, !model);
  if (model)
    expectProgram(model->text);
}

} // namespace accord::fuzz
