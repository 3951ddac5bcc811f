#include "lib/import/profiles/PartitioningFile.h"
#include "lib/import/huggingface/ImportConfig.h"
#include "lib/import/profiles/ProfileGraph.h"
#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::import {
namespace {

using llvm::json::Array;
using llvm::json::Object;

class Reader {
public:
  Reader(Diagnostics &diags, FileId file) : diags(diags), file(file) {}

  std::optional<PartitioningFile> run() {
    Config config(diags, file);
    if (!config.valid())
      return std::nullopt;
    const Array *nodes = config.list("nodes"), *edges = config.list("edges");
    if (!nodes || !edges)
      return std::nullopt;
    auto setting = [&](const char *key, std::optional<double> &into) {
      double missing = -1, value = missing;
      if (config.has(key) && !llvm::StringRef(config.number(key, missing)).getAsDouble(value))
        into = value;
    };
    setting("maxSizePerFPGA", read.memory);
    setting("maxFPGAs", read.accelerators);
    setting("maxCPUs", read.processors);
    llvm::StringRef text = diags.sources().text(file);
    places = elementPlaces(text, "nodes");
    for (size_t i = 0; i < nodes->size(); ++i)
      node((*nodes)[i].getAsObject(), i);
    if (diags.hasErrors())
      return std::nullopt;
    places = elementPlaces(text, "edges");
    for (size_t i = 0; i < edges->size(); ++i)
      edge((*edges)[i].getAsObject(), i);
    if (diags.hasErrors())
      return std::nullopt;
    for (const std::string &key : config.unread())
      read.unread.push_back(key);
    read.unread.insert(read.unread.end(), unread.begin(), unread.end());
    return std::move(read);
  }

private:
  SourceRange place(size_t i) const {
    return i < places.size() ? SourceRange{file, places[i].first, places[i].second} : SourceRange{file, 0, 1};
  }

  std::optional<double> number(const Object *object, const char *key, const char *of, size_t i) {
    const llvm::json::Value *value = object ? object->get(key) : nullptr;
    std::optional<double> found = value ? value->getAsNumber() : std::nullopt;
    if (found && isMeasured(*found))
      return found;
    return reportInvalid(value, key, "a number from 0 to 1e15", of, i);
  }

  /// An id.
  std::optional<int64_t> whole(const Object *object, const char *key, const char *of, size_t i) {
    const llvm::json::Value *value = object ? object->get(key) : nullptr;
    std::optional<int64_t> found = value ? value->getAsInteger() : std::nullopt;
    if (found && *found >= 0)
      return found;
    return reportInvalid(value, key, "a whole number of at least 0", of, i);
  }

  /// true or false, also as 1 and 0.
  std::optional<bool> flag(const Object *object, const char *key, const char *of, size_t i) {
    const llvm::json::Value *value = object ? object->get(key) : nullptr;
    if (auto found = value ? value->getAsBoolean() : std::nullopt)
      return found;
    if (auto found = value ? value->getAsInteger() : std::nullopt; found == 0 || found == 1)
      return found == 1;
    return reportInvalid(value, key, "true or false, or 1 or 0", of, i);
  }

  std::nullopt_t reportInvalid(const llvm::json::Value *value, const char *key, const char *expected, const char *of,
                               size_t i) {
    diags.error(Code::ImportSetting, place(i),
                fmt::format("'{}' of {} {} must be {}{}", key, of, i + 1, expected,
                            value ? fmt::format(", found {}", shown(jsonLine(*value))) : ", and it is missing"));
    return std::nullopt;
  }

  /// Keys that nobody reads, but such as tell people something.
  void others(const Object *object, const char *of, std::initializer_list<llvm::StringRef> known) {
    for (const auto &entry : *object)
      if (std::find(known.begin(), known.end(), entry.first.str()) == known.end())
        unread.insert(fmt::format("{}.{}", of, shown(entry.first.str())));
  }

  void node(const Object *object, size_t i) {
    auto id = whole(object, "id", "node", i);
    auto cpu = number(object, "cpuLatency", "node", i), accelerator = number(object, "fpgaLatency", "node", i),
         size = number(object, "size", "node", i);
    auto fits = flag(object, "supportedOnFpga", "node", i), backward = flag(object, "isBackwardNode", "node", i);
    // A node alone in its class may leave the class out.
    bool classed = object && object->get("colorClass");
    auto colour = classed ? whole(object, "colorClass", "node", i) : std::optional<int64_t>(0);
    if (!id || !cpu || !accelerator || !size || !colour || !fits || !backward)
      return;
    if (auto [known, isNew] = ids.try_emplace(*id, read.nodes.size()); !isNew)
      diags.error(Code::ImportSetting, place(i), fmt::format("node {} has the id {} of an earlier one", i + 1, *id))
          .note(read.nodes[known->second].range, "the first one");
    auto name = object->getString("name");
    others(object, "node",
           {"id", "cpuLatency", "fpgaLatency", "size", "supportedOnFpga", "isBackwardNode", "colorClass", "name",
            "layerId"});
    PartitioningFile::Node one;
    one.name = name && !name->empty() ? name->str() : fmt::format("node{}", *id);
    one.accelerator = *accelerator;
    one.processor = *cpu;
    one.size = *size;
    one.fits = *fits;
    one.backward = *backward;
    if (classed)
      one.colour = *colour;
    one.range = place(i);
    read.nodes.push_back(std::move(one));
  }

  void edge(const Object *object, size_t i) {
    auto from = whole(object, "sourceId", "edge", i), to = whole(object, "destId", "edge", i);
    if (!from || !to)
      return;
    // Older files state only the time of the transfer, 1 ms for 2^31 B.
    bool sized = object->get("size"), timed = object->get("cost");
    auto carries = sized ? number(object, "size", "edge", i) : std::optional(0.0);
    auto cost = timed || !sized ? number(object, "cost", "edge", i) : std::optional(0.0);
    auto source = ids.find(*from), end = ids.find(*to);
    for (auto [found, id] : {std::pair(source, *from), std::pair(end, *to)})
      if (found == ids.end())
        diags.error(Code::ImportSetting, place(i),
                    fmt::format("edge {} names the node {}, which is not there", i + 1, id));
    others(object, "edge", {"sourceId", "destId", "cost", "size"});
    if (!carries || !cost || source == ids.end() || end == ids.end())
      return;
    read.edges.push_back({source->second, end->second, *cost, sized ? *carries : *cost * 2147483648.0, place(i)});
  }

  Diagnostics &diags;
  FileId file;
  PartitioningFile read;
  std::map<int64_t, size_t> ids;
  std::set<std::string> unread;
  std::vector<std::pair<uint32_t, uint32_t>> places;
};

} // namespace

std::optional<PartitioningFile> readPartitioning(Diagnostics &diags, FileId file) { return Reader(diags, file).run(); }

} // namespace accord::import
