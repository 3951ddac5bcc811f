#include "lib/placement/output/PlacementJson.h"
#include "test/fuzz/readers/Documents.h"

void accord::fuzz::readPlacement(std::string_view input) {
  readAndWrite(input, placementFromCertificate, placementCertificate);
  if (auto paths = placementPathsFrom(input, "fuzz"); !paths)
    expectPlace(llvm::toString(paths.takeError()));
  else if (std::string text = placementPaths(*paths); !text.empty())
    if (auto again = placementPathsFrom(text, "fuzz"); !again || placementPaths(*again) != text)
      broken("paths change when they are written and read again");
}
