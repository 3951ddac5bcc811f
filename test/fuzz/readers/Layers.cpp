#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "test/fuzz/readers/Imports.h"

void accord::fuzz::readLayers(std::string_view input) {
  SourceManager sources;
  Diagnostics diags(sources);
  FileId file = sources.add("fuzz", std::string(input));
  auto graph = isPhaze(input) ? importPhazeGraph(diags, file) : importPiperGraph(diags, file);
  expectPlaces(diags, !graph);
  if (auto read = readProfiledLayers(std::string(input), "fuzz");
      read && !readProfiledLayers(profiledLayersJson(*read), "again"))
    broken("layers that are written are not read again");
}

void accord::fuzz::readAlpa(std::string_view input) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto graph = importAlpaCosts(diags, "fuzz", llvm::StringRef(input.data(), input.size()), {8, 16});
  expectPlaces(diags, !graph);
  if (graph && !readProfiledLayers(profiledLayersJson(graph->graph), "again"))
    broken("layers that are written are not read again");
}
