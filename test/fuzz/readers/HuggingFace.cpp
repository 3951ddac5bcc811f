#include "lib/import/huggingface/HuggingFace.h"
#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readHuggingFace(std::string_view input) {
  readImport(input, [](Diagnostics &diags, FileId file) { return importHuggingFace(diags, file, {"model", {}}); });
}
