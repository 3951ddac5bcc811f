// accord-fuzz-readers --reader=NAME [libFuzzer's arguments]: see README.md of test/fuzz.
#include "test/fuzz/readers/Reader.h"
#include <cstdlib>
#include <fmt/format.h>

namespace accord::fuzz {

const std::vector<Reader> kReaders = {
    {"accel", "lib/language/(syntax|machines)/", readAccel, mutateText},
    {"dnn", "lib/language/(syntax|models|requests|program)/", readDnn, mutateText},
    {"plan", "lib/planning/output/(Plan|WorkGraph)Json", readPlan, mutateJson},
    {"placement", "lib/placement/output/Placement(Certificate|DocumentCheck|JsonRead|PathsJson)", readPlacement,
     mutateJson},
    {"mining", "lib/exploration/output/Mining(Certificate|Cluster)Json", readMining, mutateJson},
    {"prune", "lib/sparsity/output/.*Json", readPrune, mutateJson},
    {"vote", "lib/ensembles/output/.*Json", readVote, mutateJson},
    {"huggingface", "lib/import/huggingface/", readHuggingFace, mutateJson},
    {"alpa", "lib/import/profiles/Alpa", readAlpa, nullptr},
    {"layers", "lib/import/profiles/(Layer|Phaze)", readLayers, mutateJson},
    {"partitioning", "lib/import/profiles/(Dnn)?Partitioning", readPartitioning, mutateJson},
    {"pipedream", "lib/import/profiles/Pipedream", readPipedream, mutateText},
    {"onnx", "lib/import/onnx/", readOnnx, mutateOnnx},
    {"mlir", "lib/import/mlir/", readMlir, mutateText},
    {"tables", "lib/(support/documents/Csv|machine/(calibration|operations)/(Rows|Table|Device))", readTables,
     mutateText},
    {"scalesim", "lib/import/scalesim/", readScaleSim, mutateText},
    {"psplib", "lib/import/psplib/", readPsplib, mutateText},
    {"calibration", "lib/machine/(calibration/CalibrationFile|operations/File)", readCalibration, mutateText},
    {"ranks", "lib/exploration/distributed/RankMessage", readRankMessage, nullptr},
};

void broken(const std::string &promise) {
  fmt::print(stderr, "broken promise: {}\n", promise);
  std::abort();
}

void expectPlaces(const Diagnostics &diags, bool refused) {
  if (refused && !diags.hasErrors())
    broken("it is refused and nothing says why");
  for (const Diagnostic &diagnostic : diags.sorted()) {
    if (diagnostic.message.empty())
      broken("a diagnostic has no message");
    const SourceRange &range = diagnostic.range;
    if (!range.valid() && diagnostic.message.starts_with("--")) // of the command line, which has none
      continue;
    if (!range.valid())
      broken(fmt::format("'{}' has no place", diagnostic.message));
    if (range.begin > range.end || range.end > diags.sources().text(range.file).size())
      broken(fmt::format("'{}' lies outside of the text", diagnostic.message));
  }
}

void expectPlaces(const Errors &errors) {
  if (errors.empty())
    broken("it is refused and nothing says why");
  for (const Error &error : errors)
    if (error.message.empty() || error.location.line == 0 || error.location.column == 0)
      broken(fmt::format("'{}' has no place", error.message));
}

void expectPlace(const std::string &message) {
  unsigned line = 0, column = 0;
  int end = 0;
  if (std::sscanf(message.c_str(), "fuzz:%u:%u: %n", &line, &column, &end) != 2 || end == 0 || !line || !column)
    broken(fmt::format("'{}' has no place", message));
}

} // namespace accord::fuzz

using namespace accord::fuzz;
static const Reader *chosen;
static Corpus material;

extern "C" int LLVMFuzzerInitialize(int *count, char ***arguments) {
  for (int i = 1; i < *count; ++i) {
    std::string_view argument = (*arguments)[i];
    for (const Reader &reader : kReaders) {
      if (argument == "--list")
        fmt::print("{} {}\n", reader.name, reader.files);
      if (argument.starts_with("--reader=") && argument.substr(9) == reader.name)
        chosen = &reader;
    }
    if (argument == "--list")
      std::exit(0);
  }
  if (!chosen) {
    fmt::print(stderr, "accord-fuzz-readers: --reader=NAME says which reader; --list lists them\n");
    std::exit(2);
  }
  material = materialOf(chosen->name, chosen->files);
  return 0;
}

/// libFuzzer's own change of bytes, with its dictionary and its crossings.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  Random random(seed);
  std::string changed;
  if (chosen->mutate && size > 0 && !random.percent(25))
    changed = chosen->mutate(random, material, {reinterpret_cast<const char *>(data), size});
  if (changed.empty() || changed.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen->read({reinterpret_cast<const char *>(data), size});
  return 0;
}
