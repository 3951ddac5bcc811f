#include "lib/import/profiles/PartitioningImport.h"
#include "lib/import/profiles/Profiles.h"
#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readPartitioning(std::string_view input) {
  readImport(input, [](Diagnostics &diags, FileId file) { return importDnnPartitioning(diags, file, "model"); });
  SourceManager sources;
  Diagnostics diags(sources);
  auto graph = importPartitioningGraph(diags, sources.add("fuzz", std::string(input)), {});
  expectPlaces(diags, !graph);
}
