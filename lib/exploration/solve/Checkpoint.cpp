#include "lib/exploration/solve/Checkpoint.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kVersion = 2;

struct Checkpoint {
  int64_t version = kVersion;
  std::string problem; ///< its digest
  std::optional<Design> best;
  double value = 0; ///< of the best
  std::vector<std::pair<Design, DesignEvaluation>> known;
};

void describeStep(JsonVisitor &v, EvaluatedStep &step) {
  v.fixedArray(2, "expected seconds and joules",
               [&](size_t i, JsonVisitor &one) { visitValue(one, i == 0 ? step.seconds : step.joules); });
}

/// A design, its value and, where that is another number or steps are known, its bound; the steps.
void describeKnown(JsonVisitor &v, std::pair<Design, DesignEvaluation> &known) {
  auto &[value, bound, steps] = known.second;
  v.array(
      !steps.empty()   ? 4
      : value == bound ? 2
                       : 3,
      "expected a design with its value", [](size_t size) { return size >= 2 && size <= 4; },
      [&](size_t i, JsonVisitor &one) {
        if (i == 0)
          return visitValue(one, known.first);
        if (i == 3)
          return visitValue(one, steps, describeStep);
        one.numberOrNull(i == 1 ? value : bound);
        if (i == 1 && one.reads())
          bound = value;
      });
}

void describeCheckpoint(JsonFields &f, Checkpoint &checkpoint) {
  f.field("version", checkpoint.version)
      .field("problem", checkpoint.problem)
      .maybe("best", checkpoint.best)
      .maybeIf(checkpoint.best.has_value(), "value", checkpoint.value,
               [](JsonVisitor &v, double &value) { v.numberOrNull(value); })
      .field("known", checkpoint.known, describeKnown);
}

} // namespace

std::string digestOf(MiningProblem &problem) {
  llvm::SHA256 hash;
  auto add = [&hash](const std::string &text) {
    hash.update(fmt::format("{}:", text.size()));
    hash.update(text);
  };
  add(problem.digest());
  const std::vector<DesignParameter> &parameters = problem.parameters();
  for (const DesignParameter &parameter : parameters) {
    add(parameter.name);
    for (const std::string &labels : parameter.labels)
      add(labels);
    for (double number : parameter.numbers)
      add(fmt::format("{}", number));
  }
  if (designsOf(parameters) != 0) {
    add(fmt::format("{}", boundOf(problem, wholeOf(parameters))));
    MiningRandom random(64);
    for (int i = 0; i < 64; ++i) {
      Design design = random.design(parameters);
      add(fmt::format("{}", boundOf(problem, {design, design})));
    }
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

std::optional<std::string> writeWhole(const std::string &path, const std::string &text) {
  std::string beside = path + ".new";
  std::error_code error;
  {
    llvm::raw_fd_ostream out(beside, error);
    if (!error) {
      out << text;
      out.close();
      error = out.error();
      out.clear_error();
    }
  }
  if (!error)
    error = llvm::sys::fs::rename(beside, path);
  return error ? std::optional(fmt::format("{}: {}", path, error.message())) : std::nullopt;
}

std::string checkpointText(const std::string &digest, const std::optional<Design> &best, double value,
                           const KnownDesigns &known) {
  Checkpoint checkpoint{kVersion, digest, best, value, {known.begin(), known.end()}};
  llvm::sort(checkpoint.known, llvm::less_first()); // so that the same values are the same text
  return jsonLine(toDocument(checkpoint, describeCheckpoint)) + "\n";
}

std::optional<std::string> readCheckpoint(const std::string &path, MiningProblem &problem, KnownDesigns &known,
                                          std::optional<Design> &best) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fmt::format("{}: {}", path, file.getError().message());
  llvm::Expected<llvm::json::Value> json = parseJson((*file)->getBuffer(), path);
  if (!json)
    return llvm::toString(json.takeError());
  const llvm::json::Object *object = json->getAsObject();
  if (auto version = object ? object->getInteger("version") : std::nullopt; version && *version != kVersion)
    return fmt::format("{}: a checkpoint of version {}; this one reads {}", path, *version, kVersion);
  Checkpoint checkpoint;
  llvm::json::Path::Root root;
  bool good = readDocument(*json, checkpoint, root, describeCheckpoint);
  if (good && checkpoint.problem != digestOf(problem))
    return fmt::format("{}: a checkpoint of another problem", path);
  for (auto &[design, found] : checkpoint.known)
    good = good && isValidDesign(design, problem.parameters()) && found.lowerBound <= found.value &&
           known.emplace(std::move(design), found).second;
  best = std::move(checkpoint.best);
  if (!good || (best && !known.contains(*best)))
    return fmt::format("{}: not a checkpoint of a search", path);
  return std::nullopt;
}

} // namespace accord
