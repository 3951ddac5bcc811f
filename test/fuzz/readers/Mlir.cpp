#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readMlir(std::string_view input) {
  readImport(input, [](Diagnostics &diags, FileId file) { return importMlir(diags, file, {.name = "model"}); });
}
