#include "lib/import/onnx/Onnx.h"
#include "test/fuzz/readers/Imports.h"
#include <sys/mman.h>
#include <unistd.h>

void accord::fuzz::readOnnx(std::string_view input) {
  // Its reader takes the name of a file.
  static const int file = memfd_create("fuzz.onnx", 0);
  if (ftruncate(file, 0) != 0 || pwrite(file, input.data(), input.size(), 0) != ssize_t(input.size()))
    broken("no memory for a file");
  SourceManager sources;
  Diagnostics diags(sources);
  auto model = importOnnx(diags, fmt::format("/proc/self/fd/{}", file), {.name = "model"});
  expectPlaces(diags, !model);
  if (model)
    expectProgram(model->text);
}
