// The one file whose compilation is told where the checkout lies (ACCORD_SOURCE_DIR).
#include "test/support/SourcePath.h"

std::string accord::sourcePath(const std::string &inside) {
  return inside.empty() ? ACCORD_SOURCE_DIR : std::string(ACCORD_SOURCE_DIR "/") + inside;
}
