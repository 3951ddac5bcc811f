#include "lib/import/scalesim/ScaleSim.h"
#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readScaleSim(std::string_view input) {
  readImport(input, [](Diagnostics &diags, FileId file) { return importScaleSim(diags, file, "model"); });
}
