// Source: the format of msr-fiddle/dnn-partitioning (Tarnawski et al., Efficient Algorithms for
// Device Placement of DNN Graph Operators, NeurIPS 2020): times are milliseconds on one accelerator
// ("fpgaLatency") and on a processor ("cpuLatency"), sizes bytes. A node's size is the memory it
// takes, an edge's what it carries.
#include "lib/import/Config.h"
#include "lib/import/ProfileGraph.h"
#include "lib/support/JsonParse.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {
namespace import {
namespace {

using llvm::json::Array;
using llvm::json::Object;

class Reader {
public:
  Reader(Diagnostics &diags, FileId file) : diags(diags), file(file) {}

  ProfileGraph graph;

  void run() {
    Config config(diags, file);
    if (!config.valid())
      return;
    const Array *nodes = config.list("nodes"), *edges = config.list("edges");
    if (!nodes || !edges)
      return;
    for (size_t i = 0; i < nodes->size(); ++i)
      node((*nodes)[i].getAsObject(), i);
    if (diags.hasErrors())
      return;
    for (size_t i = 0; i < edges->size(); ++i)
      edge((*edges)[i].getAsObject(), i);
    finish();
  }

private:
  struct Raw {
    int64_t colour = 0;
    bool backward = false;
    double time = 0, size = 0, out = 0;
    bool read = false;
    std::string name;
    std::vector<size_t> reads;
  };

  void wrong(const std::string &why) { diags.error(Code::ImportSetting, {file, 0, 1}, why); }

  /// A number, or true and false as 1 and 0.
  std::optional<double> number(const Object *object, const char *key, const char *of, size_t i) {
    const llvm::json::Value *value = object ? object->get(key) : nullptr;
    std::optional<double> found = value ? value->getAsNumber() : std::nullopt;
    if (value && value->getAsBoolean())
      found = *value->getAsBoolean();
    if (found && isMeasured(*found))
      return found;
    wrong(fmt::format("'{}' of {} {} must be a number from 0 to 1e15{}", key, of, i + 1,
                      value ? "" : ", and it is missing"));
    return std::nullopt;
  }

  void node(const Object *object, size_t i) {
    auto id = number(object, "id", "node", i), cpu = number(object, "cpuLatency", "node", i),
         accelerator = number(object, "fpgaLatency", "node", i),
         size = number(object, "size", "node", i),
         fits = number(object, "supportedOnFpga", "node", i),
         backward = number(object, "isBackwardNode", "node", i);
    // A node alone in its class may leave the class out.
    bool classed = object && object->get("colorClass");
    auto colour = classed ? number(object, "colorClass", "node", i) : -1.0 - static_cast<double>(i);
    if (!id || !cpu || !accelerator || !size || !colour || !fits || !backward)
      return;
    if (!places.try_emplace(static_cast<int64_t>(*id), raws.size()).second)
      wrong(fmt::format("node {} has the id {} of an earlier one", i + 1, *id));
    Raw raw;
    raw.colour = static_cast<int64_t>(*colour);
    raw.backward = *backward != 0;
    raw.time = *fits != 0 ? *accelerator : *cpu;
    raw.size = *size;
    auto name = object->getString("name");
    raw.name = name && !name->empty() ? name->str() : fmt::format("node{}", *id);
    if (*fits == 0)
      graph.notes.push_back(
          fmt::format("'{}' runs on no accelerator; its time is the processor's", shown(raw.name)));
    raws.push_back(std::move(raw));
  }

  void edge(const Object *object, size_t i) {
    auto from = number(object, "sourceId", "edge", i), to = number(object, "destId", "edge", i);
    if (!from || !to)
      return;
    // Older files state only the time of the transfer, 1 ms for 2^31 B.
    const char *key = object->get("size") ? "size" : "cost";
    auto carries = number(object, key, "edge", i);
    auto source = places.find(static_cast<int64_t>(*from)),
         end = places.find(static_cast<int64_t>(*to));
    for (auto [found, id] : {std::pair(source, *from), std::pair(end, *to)})
      if (found == places.end())
        wrong(fmt::format("edge {} names the node {}, which is not there", i + 1, id));
    if (!carries || source == places.end() || end == places.end())
      return;
    double bytes = key[0] == 's' ? *carries : *carries * 2147483648.0;
    raws[source->second].out = std::max(raws[source->second].out, bytes);
    raws[source->second].read = true;
    raws[end->second].reads.push_back(source->second);
  }

  /// Forward nodes only: a backward node's time goes to the forward node of its class.
  void finish() {
    if (diags.hasErrors())
      return;
    std::map<int64_t, std::vector<size_t>> classes;
    std::vector<size_t> place(raws.size(), 0);
    for (size_t i = 0; i < raws.size(); ++i)
      if (!raws[i].backward) {
        place[i] = graph.nodes.size();
        classes[raws[i].colour].push_back(i);
        ProfileNode one;
        one.name = raws[i].name;
        one.range = {file, 0, 1};
        one.forward = raws[i].time;
        graph.nodes.push_back(std::move(one));
      }
    for (size_t i = 0; i < raws.size(); ++i) {
      const Raw &raw = raws[i];
      if (raw.backward) {
        const std::vector<size_t> &forward = classes[raw.colour];
        if (forward.size() != 1)
          diags.error(Code::ImportUnsupported, {file, 0, 1},
                      fmt::format("the backward node '{}' belongs to the class {}, which has {} "
                                  "forward nodes, expected one",
                                  shown(raw.name), raw.colour, forward.size()));
        else
          graph.nodes[place[forward[0]]].backward += raw.time;
        continue;
      }
      ProfileNode &node = graph.nodes[place[i]];
      for (size_t from : raw.reads)
        if (raws[from].backward)
          diags.error(Code::ImportUnsupported, {file, 0, 1},
                      fmt::format("the forward node '{}' reads the backward node '{}'",
                                  shown(raw.name), shown(raws[from].name)));
        else
          node.reads.push_back(place[from]);
      // What it takes beyond its result stays: parameters. A node that reads nothing and takes no
      // time is a weight or an input; its name tells.
      bool source = raw.reads.empty() && raw.time == 0;
      llvm::StringRef name(raw.name);
      bool weight = name.contains("weight") || name.contains("bias") || name.contains("transposed");
      node.output = raw.read ? raw.out : raw.size;
      node.parameters =
          source && weight ? raw.size : std::max(0.0, raw.read ? raw.size - raw.out : 0);
    }
  }

  Diagnostics &diags;
  FileId file;
  std::vector<Raw> raws;
  std::map<int64_t, size_t> places;
};

} // namespace
} // namespace import

using namespace import;

std::optional<ProfileImport> importDnnPartitioning(Diagnostics &diags, FileId file,
                                                   const std::string &name) {
  size_t before = diags.errors();
  Reader reader(diags, file);
  reader.run();
  if (diags.errors() != before)
    return std::nullopt;
  if (reader.graph.nodes.empty()) {
    diags.error(Code::ImportSetting, {file, 0, 1}, "the graph has no forward node");
    return std::nullopt;
  }
  reader.graph.lines = {
      fmt::format("imported from the dnn-partitioning graph {}",
                  shown(llvm::sys::path::filename(diags.sources().path(file)).str())),
      "Times are those of its accelerator; what a node takes beyond its result is parameters.",
      "A sample is the minibatch that was profiled: train it with batch = 1."};
  return written(diags, file, std::move(reader.graph), name);
}

} // namespace accord
