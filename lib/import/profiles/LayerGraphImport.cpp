#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {

using namespace import;

namespace {

using llvm::json::Array;
using llvm::json::Object;
using Steps = std::vector<JsonStep>;

class PiperReader {
public:
  PiperReader(Diagnostics &diags, FileId file)
      : diags(diags), file(file), text(diags.sources().text(file)), path(diags.sources().path(file).str()) {}

  std::optional<LayerGraphImport> run() {
    auto value = parseJson(text, path);
    if (!value) {
      add(placedError(value.takeError(), path, Code::SyntaxError));
      return std::nullopt;
    }
    const Object *root = value->getAsObject();
    const Array *nodes = root ? root->getArray("nodes") : nullptr, *links = root ? root->getArray("edges") : nullptr;
    if (!root || !nodes || !links) {
      fail({}, "expected an object with the lists 'nodes' and 'edges'");
      return std::nullopt;
    }
    LayerGraph &g = made.graph;
    g.name = llvm::sys::path::stem(path).str();
    g.location = {path, 1, 1};
    g.devices = whole(root, "maxDevices", {}, 1, 4096);
    g.memory = number(root, "maxMemoryPerDevice", {});
    g.bandwidth = number(root, "bandwidth", {});
    g.microbatches = whole(root, root->get("mbsInBatch") ? "mbsInBatch" : "maxBatchSize", {}, 1, int64_t(1) << 40);
    others(root, "", {"maxDevices", "maxMemoryPerDevice", "bandwidth", "mbsInBatch", "maxBatchSize", "nodes", "edges"});
    places = elementPlaces(text, "nodes");
    identify(*nodes);
    edges(*links);
    for (size_t v = 0; sound && v < nodes->size(); ++v)
      layer((*nodes)[v].getAsObject(), v);
    if (!sound)
      return std::nullopt;
    for (const Error &error : check(g))
      add(error);
    for (const std::string &key : unread)
      made.notes.push_back("not understood and left out: " + key);
    return sound ? std::optional(std::move(made)) : std::nullopt;
  }

private:
  void add(const Error &error) {
    diags.error(error.code, diags.sources().at(file, {error.location.line, error.location.column}), error.message);
    sound = false;
  }
  void fail(const Steps &steps, std::string message) {
    if (++failures <= 20) // each place is looked for in the whole text
      add(errorAt(text, path, steps, Code::ImportSetting, std::move(message)));
    sound = false;
  }

  static Steps with(Steps steps, JsonStep last) {
    steps.push_back(last);
    return steps;
  }

  static std::string found(const llvm::json::Value *value) {
    return value ? ", found " + shown(jsonLine(*value)) : ", and it is missing";
  }

  double number(const Object *object, const char *key, const Steps &steps) {
    const llvm::json::Value *value = object->get(key);
    auto is = value ? value->getAsNumber() : std::nullopt;
    if (is && *is >= 0 && *is <= 1e18)
      return *is;
    fail(with(steps, key), fmt::format("'{}' must be a number from 0 to 1e18{}", key, found(value)));
    return 0;
  }

  int64_t whole(const Object *object, const char *key, const Steps &steps, int64_t min, int64_t max) {
    const llvm::json::Value *value = object->get(key);
    auto is = value ? value->getAsInteger() : std::nullopt;
    if (is && *is >= min && *is <= max)
      return *is;
    fail(with(steps, key), fmt::format("'{}' must be a whole number from {} to {}{}", key, min, max, found(value)));
    return min;
  }

  void others(const Object *object, const std::string &of, std::initializer_list<llvm::StringRef> known) {
    for (const auto &entry : *object)
      if (std::find(known.begin(), known.end(), entry.first.str()) == known.end())
        unread.insert(of + shown(entry.first.str()));
  }

  /// Numbers and names of all nodes.
  void identify(const Array &nodes) {
    std::map<std::string, size_t> count;
    for (size_t v = 0; v < nodes.size(); ++v) {
      const Object *node = nodes[v].getAsObject();
      if (!node) {
        fail({"nodes", v}, "expected a node: an object");
        continue;
      }
      int64_t id = whole(node, "id", {"nodes", v}, 0, int64_t(1) << 40);
      if (!ids.try_emplace(id, static_cast<LayerGraph::Id>(v)).second)
        fail({"nodes", v, "id"}, fmt::format("node {} has the id {} of an earlier one", v + 1, id));
      LayerGraph::Layer &layer = made.graph.layers.emplace_back();
      auto name = node->getString("name");
      layer.name = name && !name->empty() ? name->str() : fmt::format("node{}", id);
      if (v < places.size())
        layer.location = diags.sources().location({file, places[v].first, places[v].second});
      ++count[layer.name];
      numbers.push_back(id);
    }
    for (size_t v = 0; v < made.graph.layers.size() && sound; ++v)
      if (std::string &name = made.graph.layers[v].name; count[name] > 1)
        name += fmt::format("_{}", numbers[v]);
  }

  void edges(const Array &links) {
    std::set<std::pair<int64_t, int64_t>> known;
    for (size_t e = 0; e < links.size(); ++e) {
      const Object *edge = links[e].getAsObject();
      if (!edge) {
        fail({"edges", e}, "expected an edge: an object");
        continue;
      }
      int64_t from = whole(edge, "sourceId", {"edges", e}, 0, int64_t(1) << 40),
              to = whole(edge, "destId", {"edges", e}, 0, int64_t(1) << 40);
      double bytes = number(edge, "communicationCost", {"edges", e});
      for (auto [key, id] : {std::pair("sourceId", from), std::pair("destId", to)})
        if (!ids.count(id))
          fail({"edges", e, key}, fmt::format("edge {} names the node {}, which is not there", e + 1, id));
      if (from == to || !known.insert({from, to}).second)
        fail({"edges", e},
             fmt::format("edge {} from {} to {} is {}", e + 1, from, to, from == to ? "a loop" : "there twice"));
      others(edge, "edge.", {"sourceId", "destId", "communicationCost"});
      if (sound)
        made.graph.edges.push_back({ids[from], ids[to], bytes});
    }
  }

  void layer(const Object *node, size_t v) {
    others(node, "node.", {"id", "name", "TMPCs"});
    const Object *all = node->getObject("TMPCs");
    if (!all || all->empty())
      return fail({"nodes", v}, fmt::format("node {} has no TMPCs: configurations by tensor degree", numbers[v]));
    std::map<int64_t, const Array *> byDegree;
    for (const auto &[key, list] : *all) {
      int64_t degree = 0;
      if (llvm::StringRef(key).getAsInteger(10, degree) || degree < 1 || degree > 4096 || !list.getAsArray())
        return fail({"nodes", v, "TMPCs"},
                    fmt::format("expected lists by tensor degree (1 to 4096), found '{}'", shown(key.str())));
      byDegree[degree] = list.getAsArray();
    }
    for (const auto &[degree, list] : byDegree)
      for (size_t c = 0; c < list->size() && sound; ++c) {
        const std::string key = std::to_string(degree);
        configuration((*list)[c].getAsObject(), v, degree, {"nodes", v, "TMPCs", llvm::StringRef(key), c});
      }
  }

  void configuration(const Object *from, size_t v, int64_t degree, const Steps &steps) {
    if (!from)
      return fail(steps, "expected a configuration: an object");
    LayerGraph::Configuration one;
    if (auto id = from->getString("id"))
      one.name = id->str();
    one.tensor = degree;
    one.time = number(from, "timePerSample", steps);
    one.parameterBytes = number(from, "parameterSize", steps);
    one.memoryPerMicrobatch = number(from, "memoryUsageA", steps);
    one.memoryFixed = number(from, "memoryUsageB", steps);
    for (const LayerGraph::Edge &edge : made.graph.edges) {
      if (edge.to == v)
        one.syncIn.push_back(sync(from, "syncTimeFw", numbers[edge.from], steps));
      if (edge.from == v)
        one.syncOut.push_back(sync(from, "syncTimeBw", numbers[edge.to], steps));
    }
    others(from, "TMPC.",
           {"id", "timePerSample", "parameterSize", "memoryUsageA", "memoryUsageB", "syncTimeFw", "syncTimeBw"});
    made.graph.layers[v].configurations.push_back(std::move(one));
  }

  double sync(const Object *from, const char *key, int64_t other, const Steps &steps) {
    const Object *all = from->getObject(key);
    if (!all) {
      fail(with(steps, key), fmt::format("'{}' must be an object of bytes by node", key));
      return 0;
    }
    return number(all, std::to_string(other).c_str(), with(steps, key));
  }

  Diagnostics &diags;
  FileId file;
  llvm::StringRef text;
  std::string path;
  LayerGraphImport made;
  std::map<int64_t, LayerGraph::Id> ids;
  std::vector<int64_t> numbers; ///< ids of the file, by layer
  std::set<std::string> unread;
  std::vector<std::pair<uint32_t, uint32_t>> places;
  bool sound = true;
  unsigned failures = 0;
};

} // namespace

bool isPiper(llvm::StringRef text) { return text.contains("\"TMPCs\""); }

std::optional<LayerGraphImport> importPiperGraph(Diagnostics &diags, FileId file) {
  return PiperReader(diags, file).run();
}

} // namespace accord
