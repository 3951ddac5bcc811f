// certificate/paths.json: what proves the bound of interleaved configurations.
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/StrictFields.h"

using namespace llvm;
namespace accord {
using json::Path;
namespace {

using Fields = StrictFields;
using Share = PathBound::Share;
using Part = PathBound::Part;
constexpr int64_t kMaxIds = std::numeric_limits<uint32_t>::max() - 1;

// [number, weight, number, weight, …]
json::Array write(const std::vector<Share> &shares) {
  json::Array array;
  for (const Share &share : shares)
    array.push_back(static_cast<int64_t>(share.of)), array.push_back(share.weight);
  return array;
}

json::Value write(const Part &part) {
  if (part.fork == Part::Split::Group)
    return json::Object{{"group", static_cast<int64_t>(part.of)}, {"max", part.max}};
  if (part.fork == Part::Split::Stage)
    return json::Object{{"stage", static_cast<int64_t>(part.of)}};
  return json::Object{{"paths", write(part.paths)},
                      {"moments", list(part.moments, [](const auto &m) { return json::Value(write(m)); })}};
}

json::Value write(const PathBound &bound) {
  auto path = [](const PathBound::Path &path) { // [passes, times, passes, times, …]
    json::Array array;
    for (auto [run, times] : path)
      array.push_back(static_cast<int64_t>(run)), array.push_back(static_cast<int64_t>(times));
    return json::Value(std::move(array));
  };
  return json::Object{{"parallel_config", static_cast<int64_t>(bound.parallelConfig)},
                      {"groups", bound.groups},
                      {"virtual_stages", bound.virtualStages},
                      {"microbatches", bound.microbatches},
                      {"paths", list(bound.paths, path)},
                      {"parts", list(bound.parts, [](const Part &p) { return write(p); })}};
}

bool id(const json::Value &value, Path at, uint32_t &out) {
  int64_t wide = 0;
  bool ok = Fields::readInteger(value, at, wide, 0, kMaxIds);
  out = static_cast<uint32_t>(wide);
  return ok;
}

/// Pairs one behind the other.
template <typename One> bool pairs(const json::Value &value, Path at, One one) {
  const json::Array *array = value.getAsArray();
  if (!array || array->size() % 2 != 0) {
    at.report("expected pairs of numbers, one behind the other");
    return false;
  }
  for (unsigned i = 0; i < array->size(); i += 2) {
    Path first = at.index(i), second = at.index(i + 1);
    if (!one((*array)[i], first, (*array)[i + 1], second))
      return false;
  }
  return true;
}

bool read(const json::Value &value, Path at, std::vector<Share> &shares) {
  return pairs(value, at, [&](const json::Value &a, Path p, const json::Value &b, Path q) {
    Share &share = shares.emplace_back();
    return id(a, p, share.of) && Fields::readNumber(b, q, share.weight);
  });
}

bool read(const json::Value &value, Path at, PathBound::Path &path) {
  return pairs(value, at, [&](const json::Value &a, Path p, const json::Value &b, Path q) {
    auto &[run, times] = path.emplace_back();
    return id(a, p, run) && id(b, q, times);
  });
}

bool read(const json::Value &value, Path at, Part &part) {
  const json::Object *object = value.getAsObject();
  bool group = object && object->get("group"), stage = object && object->get("stage");
  Fields f(value, at);
  if (group || stage) {
    part.fork = group ? Part::Split::Group : Part::Split::Stage;
    if (group)
      f.integer("group", part.of, 0, kMaxIds).integer("max", part.max);
    else
      f.integer("stage", part.of, 0, kMaxIds);
    return f.end();
  }
  return f.read("paths", [&](const json::Value &v, Path p) { return read(v, p, part.paths); })
      .list("moments", part.moments, [](const json::Value &v, Path p, std::vector<Share> &m) { return read(v, p, m); })
      .end();
}

bool read(const json::Value &value, Path at, PathBound &bound) {
  return Fields(value, at)
      .integer("parallel_config", bound.parallelConfig, 0, kMaxIds)
      .integer("groups", bound.groups, 1)
      .integer("virtual_stages", bound.virtualStages, 1)
      .integer("microbatches", bound.microbatches, 1)
      .list("paths", bound.paths, [](const json::Value &v, Path p, PathBound::Path &path) { return read(v, p, path); })
      .list("parts", bound.parts, [](const json::Value &v, Path p, Part &part) { return read(v, p, part); })
      .end();
}

} // namespace

std::string placementPaths(const std::vector<PathBound> &paths) {
  if (paths.empty())
    return "";
  return jsonLine(json::Object{{"schema", 2},
                               {"kind", "placement_paths"},
                               {"bounds", list(paths, [](const PathBound &b) { return write(b); })}}) +
         "\n";
}

Expected<std::vector<PathBound>> placementPathsFrom(StringRef text, StringRef path) {
  auto value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("paths");
  std::vector<PathBound> bounds;
  int64_t schema = 0;
  std::string kind;
  Fields f(*value, Path(root));
  f.integer("schema", schema, 2, 2)
      .text("kind", kind)
      .check("kind", kind == "placement_paths", "expected placement_paths")
      .list("bounds", bounds, [](const json::Value &v, Path p, PathBound &bound) { return read(v, p, bound); });
  if (f.end())
    return bounds;
  return createStringError("%s: %s", path.str().c_str(), toString(root.getError()).c_str());
}

} // namespace accord
