#include "lib/import/profiles/LayerFile.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

using namespace import;

namespace {

using llvm::json::Array;
using llvm::json::Object;

/// Layers whose place is known: each is looked for in the whole text.
constexpr size_t kPlacedLayers = 1000;

class PhazeReader : LayerFile {
public:
  using LayerFile::LayerFile;

  std::optional<LayerGraphImport> run() {
    constexpr const char *kExpected = "expected an object with 'nodes' and 'edges' by tensor degree";
    const Object *root = LayerFile::root(kExpected);
    if (!root)
      return std::nullopt;
    const Object *nodes = root->getObject("nodes"), *links = root->getObject("edges");
    if (!nodes || !links || nodes->empty()) {
      fail({}, kExpected);
      return std::nullopt;
    }
    devices(root, "mbsInBatch");
    optimizer(root);
    others(root, "",
           {"maxDevices", "maxMemoryPerDevice", "bandwidth", "mbsInBatch", "nodes", "edges", "activationRecomputation",
            "optimizerAlgorithm", "fixedPP", "fixedTMPC", "fixedDP", "numTransformerLayers"});
    auto lists = byDegree(*nodes, {"nodes"}), byEdge = byDegree(*links, {"edges"});
    for (const auto &[degree, list] : lists)
      if (!byEdge.count(degree))
        fail({"edges"}, fmt::format("there are nodes of tensor degree {}, and no edges", degree));
    for (const auto &[degree, list] : byEdge)
      if (!lists.count(degree))
        fail({"nodes"}, fmt::format("there are edges of tensor degree {}, and no nodes", degree));
    for (const auto &[degree, list] : lists)
      if (sound)
        layers(degree, *list, degree == lists.begin()->first);
    for (const auto &[degree, list] : byEdge)
      if (sound)
        edges(degree, *list, degree == byEdge.begin()->first);
    if (sound)
      configurations();
    return finish();
  }

private:
  struct Profile {
    double forward = 0, backward = 0, parameters = 0, activations = 0;
  };

  void optimizer(const Object *root) {
    auto algorithm = root->getString("optimizerAlgorithm");
    if (!algorithm || (*algorithm != "SGD" && *algorithm != "Adam"))
      fail({"optimizerAlgorithm"},
           fmt::format("'optimizerAlgorithm' must be SGD or Adam{}", found(root->get("optimizerAlgorithm"))));
    else
      parameterCopies = *algorithm == "Adam" ? 3 : 2;
    recomputes = flag(root, "activationRecomputation", {});
  }

  /// true, false, or 1 and 0.
  bool flag(const Object *object, const char *key, const Steps &steps) {
    const llvm::json::Value *value = object->get(key);
    auto is = value ? value->getAsBoolean() : std::nullopt;
    auto count = value ? value->getAsInteger() : std::nullopt;
    if (!is && (!count || *count < 0 || *count > 1))
      fail(with(steps, key), fmt::format("'{}' must be true or false{}", key, found(value)));
    return is ? *is : count && *count == 1;
  }

  void layers(int64_t degree, const Array &list, bool isFirst) {
    const std::string key = std::to_string(degree);
    std::set<int64_t> here;
    for (size_t v = 0; v < list.size(); ++v) {
      const Steps steps = {"nodes", llvm::StringRef(key), v};
      const Object *node = list[v].getAsObject();
      if (!node) {
        fail(steps, "expected a node: an object");
        continue;
      }
      int64_t id = whole(node, "id", steps, -(int64_t(1) << 40), int64_t(1) << 40);
      if (!here.insert(id).second)
        fail(with(steps, "id"), fmt::format("node {} has the id {} of an earlier one", v + 1, id));
      if (isFirst && ids.try_emplace(id, static_cast<LayerGraph::Id>(v)).second) {
        LayerGraph::Layer &layer = made.graph.layers.emplace_back();
        layer.name = fmt::format("layer{}", id);
        if (v < kPlacedLayers)
          layer.location = errorAt(text, path, steps, Code::ImportSetting, "").location;
      }
      if (!ids.count(id))
        fail(with(steps, "id"),
             fmt::format("node {} of tensor degree {} is not there in degree {}", id, degree, profiles.begin()->first));
      if (flag(node, "isTensorParallelized", steps) && degree == 1)
        fail(with(steps, "isTensorParallelized"), "a layer of tensor degree 1 is not divided");
      others(node, "node.",
             {"id", "activationSize", "parameterSize", "isTensorParallelized", "optimalLatencyFw", "optimalLatencyBw",
              "energy"});
      Profile profile{number(node, "optimalLatencyFw", steps), number(node, "optimalLatencyBw", steps),
                      number(node, "parameterSize", steps), number(node, "activationSize", steps)};
      if (sound)
        profiles[degree][ids[id]] = profile;
    }
    if (sound && here.size() != ids.size())
      fail({"nodes", llvm::StringRef(key)},
           fmt::format("tensor degree {} has {} nodes of {}", degree, here.size(), ids.size()));
  }

  void edges(int64_t degree, const Array &list, bool isFirst) {
    const std::string key = std::to_string(degree);
    std::map<std::pair<LayerGraph::Id, LayerGraph::Id>, double> &mine = bytes[degree];
    for (size_t e = 0; e < list.size(); ++e) {
      const Steps steps = {"edges", llvm::StringRef(key), e};
      const Object *edge = list[e].getAsObject();
      if (!edge) {
        fail(steps, "expected an edge: an object");
        continue;
      }
      std::pair<LayerGraph::Id, LayerGraph::Id> ends;
      for (auto [name, end] : {std::pair("sourceId", &ends.first), std::pair("destId", &ends.second)}) {
        int64_t id = whole(edge, name, steps, -(int64_t(1) << 40), int64_t(1) << 40);
        auto known = ids.find(id);
        if (known == ids.end())
          fail(with(steps, name), fmt::format("edge {} names the node {}, which is not there", e + 1, id));
        else
          *end = known->second;
      }
      others(edge, "edge.", {"sourceId", "destId", "communicationCost"});
      double size = number(edge, "communicationCost", steps);
      if (sound && (ends.first == ends.second || !mine.try_emplace(ends, size).second))
        fail(steps, fmt::format("edge {} is {}", e + 1, ends.first == ends.second ? "a loop" : "there twice"));
      if (sound && isFirst)
        made.graph.edges.push_back({ends.first, ends.second, size});
      else if (sound && !bytes.begin()->second.count(ends))
        fail(steps,
             fmt::format("edge {} of tensor degree {} is not there in degree {}", e + 1, degree, bytes.begin()->first));
    }
    if (sound && mine.size() != made.graph.edges.size())
      fail({"edges", llvm::StringRef(key)},
           fmt::format("tensor degree {} has {} edges of {}", degree, mine.size(), made.graph.edges.size()));
  }

  void configurations() {
    LayerGraph &g = made.graph;
    for (LayerGraph::Edge &edge : g.edges)
      for (const auto &[degree, all] : bytes)
        edge.bytes = std::min(edge.bytes, all.at({edge.from, edge.to}));
    for (LayerGraph::Id v = 0; v < g.layers.size(); ++v)
      for (const auto &[degree, all] : profiles) {
        const Profile &profile = all.at(v);
        LayerGraph::Configuration one;
        double incoming = 0;
        one.tensor = degree;
        one.parameterBytes = profile.parameters;
        for (const LayerGraph::Edge &edge : g.edges) {
          double size = bytes[degree].at({edge.from, edge.to});
          if (edge.to == v) {
            incoming += size;
            one.syncIn.push_back(size - edge.bytes);
          }
          if (edge.from == v)
            one.syncOut.push_back(size - edge.bytes);
        }
        one.name = "kept";
        one.time = profile.forward + profile.backward;
        one.memoryPerMicrobatch = profile.activations;
        one.memoryFixed = parameterCopies * profile.parameters;
        g.layers[v].configurations.push_back(one);
        if (!recomputes || incoming >= profile.activations)
          continue;
        one.name = "recomputed";
        one.time += profile.forward;
        one.memoryPerMicrobatch = incoming;
        one.memoryFixed += profile.activations;
        g.layers[v].configurations.push_back(std::move(one));
      }
  }

  std::map<int64_t, LayerGraph::Id> ids;
  std::map<int64_t, std::map<LayerGraph::Id, Profile>> profiles; ///< by tensor degree
  std::map<int64_t, std::map<std::pair<LayerGraph::Id, LayerGraph::Id>, double>> bytes;
  double parameterCopies = 2;
  bool recomputes = false;
};

} // namespace

bool isPhaze(llvm::StringRef text) { return text.contains("\"optimalLatencyFw\""); }

std::optional<LayerGraphImport> importPhazeGraph(Diagnostics &diags, FileId file) {
  return PhazeReader(diags, file).run();
}

} // namespace accord
