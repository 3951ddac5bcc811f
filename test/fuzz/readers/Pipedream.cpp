#include "lib/import/profiles/PartitioningImport.h"
#include "lib/import/profiles/Profiles.h"
#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readPipedream(std::string_view input) {
  readImport(input, [](Diagnostics &diags, FileId file) { return importPipedream(diags, file, "model"); });
  SourceManager sources;
  Diagnostics diags(sources);
  PartitioningDevices devices{.accelerators = 4, .processors = {}, .memory = {}, .bandwidth = 1e9};
  auto graph = importPipedreamGraph(diags, sources.add("fuzz", std::string(input)), devices);
  expectPlaces(diags, !graph);
}
