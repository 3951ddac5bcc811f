#include "lib/import/profiles/LayerFile.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord::import {

using llvm::json::Array;
using llvm::json::Object;

const Object *LayerFile::root(const char *expected) {
  auto value = parseJson(text, path);
  if (!value) {
    add(placedError(value.takeError(), path, Code::SyntaxError));
    return nullptr;
  }
  document = std::move(*value);
  const Object *object = document.getAsObject();
  const llvm::json::Value *nodes = object ? object->get("nodes") : nullptr;
  if (!nodes || !object->get("edges")) {
    fail({}, expected);
    return nullptr;
  }
  return object;
}

void LayerFile::devices(const Object *root, const char *microbatches) {
  LayerGraph &g = made.graph;
  g.name = llvm::sys::path::stem(path).str();
  g.location = {path, 1, 1};
  g.devices = whole(root, "maxDevices", {}, 1, 4096);
  g.memory = number(root, "maxMemoryPerDevice", {});
  g.bandwidth = number(root, "bandwidth", {});
  g.microbatches = whole(root, microbatches, {}, 1, int64_t(1) << 40);
}

std::optional<LayerGraphImport> LayerFile::finish() {
  if (!sound)
    return std::nullopt;
  for (const Error &error : check(made.graph))
    add(error);
  for (const std::string &key : unread)
    made.notes.push_back("not understood and left out: " + key);
  return sound ? std::optional(std::move(made)) : std::nullopt;
}

void LayerFile::add(const Error &error) {
  diags.error(error.code, diags.sources().at(file, {error.location.line, error.location.column}), error.message);
  sound = false;
}

void LayerFile::fail(const Steps &steps, std::string message) {
  if (++failures <= 20) // each place is looked for in the whole text
    add(errorAt(text, path, steps, Code::ImportSetting, std::move(message)));
  sound = false;
}

std::string LayerFile::found(const llvm::json::Value *value) {
  return value ? ", found " + shown(jsonLine(*value)) : ", and it is missing";
}

double LayerFile::number(const Object *object, const char *key, const Steps &steps) {
  const llvm::json::Value *value = object->get(key);
  auto is = value ? value->getAsNumber() : std::nullopt;
  if (is && *is >= 0 && *is <= 1e18)
    return *is;
  fail(with(steps, key), fmt::format("'{}' must be a number from 0 to 1e18{}", key, found(value)));
  return 0;
}

int64_t LayerFile::whole(const Object *object, const char *key, const Steps &steps, int64_t min, int64_t max) {
  const llvm::json::Value *value = object->get(key);
  auto is = value ? value->getAsInteger() : std::nullopt;
  if (is && *is >= min && *is <= max)
    return *is;
  fail(with(steps, key), fmt::format("'{}' must be a whole number from {} to {}{}", key, min, max, found(value)));
  return std::max(min, int64_t(0));
}

void LayerFile::others(const Object *object, const std::string &of, std::initializer_list<llvm::StringRef> known) {
  for (const auto &entry : *object)
    if (!llvm::is_contained(known, entry.first.str()))
      unread.insert(of + shown(entry.first.str()));
}

std::map<int64_t, const Array *> LayerFile::byDegree(const Object &all, const Steps &steps) {
  std::map<int64_t, const Array *> lists;
  for (const auto &[key, list] : all) {
    int64_t degree = 0;
    if (llvm::StringRef(key).getAsInteger(10, degree) || degree < 1 || degree > 4096 || !list.getAsArray()) {
      fail(steps, fmt::format("expected lists by tensor degree (1 to 4096), found '{}'", shown(key.str())));
      return {};
    }
    lists[degree] = list.getAsArray();
  }
  return lists;
}

} // namespace accord::import
