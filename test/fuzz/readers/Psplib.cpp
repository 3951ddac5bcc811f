#include "lib/import/psplib/Psplib.h"
#include "test/fuzz/readers/Reader.h"

void accord::fuzz::readPsplib(std::string_view input) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto project = importPsplib(diags, sources.add("fuzz", std::string(input)));
  expectPlaces(diags, !project);
}
