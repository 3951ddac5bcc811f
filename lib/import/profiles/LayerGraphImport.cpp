#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/import/profiles/LayerFile.h"
#include "lib/import/text/DnnTextBuilder.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord {

using namespace import;

namespace {

using llvm::json::Array;
using llvm::json::Object;
class PiperReader : LayerFile {
public:
  using LayerFile::LayerFile;

  std::optional<LayerGraphImport> run() {
    constexpr const char *kExpected = "expected an object with the lists 'nodes' and 'edges'";
    const Object *root = LayerFile::root(kExpected);
    if (!root)
      return std::nullopt;
    const Array *nodes = root->getArray("nodes"), *links = root->getArray("edges");
    if (!nodes || !links) {
      fail({}, kExpected);
      return std::nullopt;
    }
    devices(root, root->get("mbsInBatch") ? "mbsInBatch" : "maxBatchSize");
    others(root, "", {"maxDevices", "maxMemoryPerDevice", "bandwidth", "mbsInBatch", "maxBatchSize", "nodes", "edges"});
    places = elementPlaces(text, "nodes");
    identify(*nodes);
    edges(*links);
    for (size_t v = 0; sound && v < nodes->size(); ++v)
      layer((*nodes)[v].getAsObject(), v);
    return finish();
  }

private:
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
    for (const auto &[degree, list] : byDegree(*all, {"nodes", v, "TMPCs"}))
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

  std::map<int64_t, LayerGraph::Id> ids;
  std::vector<int64_t> numbers; ///< ids of the file, by layer
  std::vector<std::pair<uint32_t, uint32_t>> places;
};

} // namespace

bool isPiper(llvm::StringRef text) { return text.contains("\"TMPCs\""); }

std::optional<LayerGraphImport> importPiperGraph(Diagnostics &diags, FileId file) {
  return PiperReader(diags, file).run();
}

} // namespace accord
