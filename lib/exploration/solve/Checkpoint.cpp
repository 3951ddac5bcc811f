#include "lib/exploration/solve/Checkpoint.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

static constexpr int64_t kVersion = 1;

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
  if (error)
    return fmt::format("{}: {}", path, error.message());
  return std::nullopt;
}

static llvm::json::Value valueJson(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

std::string checkpointText(const std::string &digest, const std::optional<Design> &best, double value,
                           const KnownDesigns &known) {
  // In an order of its own, so that the same values are the same text.
  std::vector<const KnownDesigns::value_type *> sorted;
  for (const auto &entry : known)
    sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](auto *a, auto *b) { return a->first < b->first; });
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.object([&] {
    json.attribute("version", kVersion);
    json.attribute("problem", digest);
    if (best) {
      json.attribute("best", llvm::json::Array(*best));
      json.attribute("value", valueJson(value));
    }
    json.attributeArray("known", [&] {
      for (const auto *entry : sorted) {
        out << '\n';
        json.array([&] {
          json.value(llvm::json::Array(entry->first));
          json.value(valueJson(entry->second.value));
          if (entry->second.lowerBound != entry->second.value)
            json.value(valueJson(entry->second.lowerBound));
        });
      }
    });
  });
  out << '\n';
  return text;
}

static std::optional<double> valueFrom(const llvm::json::Value &json) {
  if (json.kind() == llvm::json::Value::Null)
    return INFINITY;
  std::optional<double> value = json.getAsNumber();
  return value && *value >= 0 ? value : std::nullopt;
}

static std::optional<Design> designFrom(const llvm::json::Value *json, const std::vector<DesignParameter> &parameters) {
  const llvm::json::Array *array = json ? json->getAsArray() : nullptr;
  if (!array || array->size() != parameters.size())
    return std::nullopt;
  Design design;
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::optional<int64_t> choice = (*array)[i].getAsInteger();
    if (!choice || *choice < 0 || static_cast<uint64_t>(*choice) >= parameters[i].labels.size())
      return std::nullopt;
    design.push_back(static_cast<uint32_t>(*choice));
  }
  return design;
}

std::optional<std::string> readCheckpoint(const std::string &path, MiningProblem &problem, KnownDesigns &known,
                                          std::optional<Design> &best) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fmt::format("{}: {}", path, file.getError().message());
  llvm::Expected<llvm::json::Value> json = parseJson((*file)->getBuffer(), path);
  if (!json)
    return llvm::toString(json.takeError());
  auto malformed = [&path] { return fmt::format("{}: not a checkpoint of a search", path); };
  const llvm::json::Object *object = json->getAsObject();
  if (!object || !object->getInteger("version"))
    return malformed();
  if (int64_t version = *object->getInteger("version"); version != kVersion)
    return fmt::format("{}: a checkpoint of version {}; this one reads {}", path, version, kVersion);
  auto digest = object->getString("problem");
  const llvm::json::Array *values = object->getArray("known");
  if (!digest || !values)
    return malformed();
  if (*digest != digestOf(problem))
    return fmt::format("{}: a checkpoint of another problem", path);
  for (const llvm::json::Value &entry : *values) {
    const llvm::json::Array *pair = entry.getAsArray();
    if (!pair || (pair->size() != 2 && pair->size() != 3))
      return malformed();
    std::optional<Design> design = designFrom(&(*pair)[0], problem.parameters());
    std::optional<double> value = valueFrom((*pair)[1]), bound = valueFrom(pair->back());
    if (!design || !value || !bound || *bound > *value)
      return malformed();
    if (!known.emplace(std::move(*design), DesignEvaluation{*value, *bound}).second)
      return malformed();
  }
  if (object->get("best")) {
    best = designFrom(object->get("best"), problem.parameters());
    if (!best || !known.contains(*best))
      return malformed();
  }
  return std::nullopt;
}

} // namespace accord
