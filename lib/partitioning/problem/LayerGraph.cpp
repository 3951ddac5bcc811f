#include "lib/partitioning/problem/LayerGraph.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr size_t kMaxLayers = 10'000;
constexpr int64_t kMaxDevices = 4096;

class LayerGraphChecker {
public:
  explicit LayerGraphChecker(const LayerGraph &graph) : g(graph) {}

  Errors run() {
    if (g.layers.empty() || g.layers.size() > kMaxLayers)
      report(g.location, fmt::format("expected 1 to {} layers, found {}", kMaxLayers, g.layers.size()));
    if (g.devices < 1 || g.devices > kMaxDevices)
      report(g.location, fmt::format("expected 1 to {} devices, found {}", kMaxDevices, g.devices));
    if (g.microbatches < 1)
      report(g.location, fmt::format("expected at least 1 micro-batch, found {}", g.microbatches));
    if (!isSize(g.memory) || g.memory == 0 || !isSize(g.bandwidth) || g.bandwidth == 0 || !isSize(g.reductionFactor))
      report(g.location,
             fmt::format("expected a memory and a bandwidth above 0, found {} B and {} B/s", g.memory, g.bandwidth));
    incoming.resize(g.layers.size());
    outgoing.resize(g.layers.size());
    for (const auto &edge : g.edges) {
      if (edge.from >= g.layers.size() || edge.to >= g.layers.size() || edge.from == edge.to || !isSize(edge.bytes)) {
        report(g.location, fmt::format("an edge from layer {} to layer {} of {}", edge.from, edge.to, g.layers.size()));
        continue;
      }
      ++outgoing[edge.from];
      ++incoming[edge.to];
    }
    if (!g.profiles.empty())
      profiles();
    else
      for (LayerGraph::Id v = 0; v < g.layers.size(); ++v)
        layer(v);
    if (errors.empty())
      cycle();
    return std::move(errors);
  }

private:
  static bool isSize(double value) { return std::isfinite(value) && value >= 0 && value <= 1e18; }

  void report(const SourceLocation &at, std::string message) {
    if (errors.size() < 20)
      errors.push_back({Code::MalformedPartitioningProblem, std::move(message), at, {}});
  }

  void profiles() {
    bool isChain = g.edges.size() + 1 == g.layers.size();
    for (size_t e = 0; isChain && e < g.edges.size(); ++e)
      isChain = g.edges[e].from == e && g.edges[e].to == e + 1 && g.edges[e].bytes == 0;
    for (const auto &layer : g.layers)
      isChain &= layer.configurations.empty();
    if (!isChain)
      report(g.location, "layers whose stages were profiled are a chain without configurations and bytes");
    for (size_t i = 0; i < g.profiles.size(); ++i) {
      const auto &one = g.profiles[i];
      if (one.first > one.last || one.last >= g.layers.size() || one.tensor < 1 || one.tensor > kMaxDevices ||
          !isSize(one.time) || !isSize(one.memoryPerMicrobatch) || !isSize(one.memoryFixed) || one.maxLater < 0)
        report(g.location, fmt::format("profile {} has layers or a number out of range", i + 1));
    }
  }

  void layer(LayerGraph::Id v) {
    const LayerGraph::Layer &layer = g.layers[v];
    if (layer.configurations.empty())
      report(layer.location, fmt::format("layer '{}' has no configuration", layer.name));
    for (const auto &one : layer.configurations) {
      bool sizes = isSize(one.time) && isSize(one.parameterBytes) && isSize(one.memoryPerMicrobatch) &&
                   isSize(one.memoryFixed) && one.tensor >= 1 && one.tensor <= kMaxDevices;
      for (const auto *list : {&one.syncIn, &one.syncOut})
        for (double bytes : *list)
          sizes &= isSize(bytes);
      if (!sizes)
        report(layer.location,
               fmt::format("configuration '{}' of layer '{}' has a number out of range", one.name, layer.name));
      if (one.syncIn.size() != incoming[v] || one.syncOut.size() != outgoing[v])
        report(layer.location,
               fmt::format("configuration '{}' of layer '{}' has bytes for {} edges in and {} out, of {} and {}",
                           one.name, layer.name, one.syncIn.size(), one.syncOut.size(), incoming[v], outgoing[v]));
    }
  }

  void cycle() {
    std::vector<size_t> waiting = incoming;
    std::vector<LayerGraph::Id> ready;
    for (LayerGraph::Id v = 0; v < g.layers.size(); ++v)
      if (waiting[v] == 0)
        ready.push_back(v);
    for (size_t i = 0; i < ready.size(); ++i)
      for (const auto &edge : g.edges)
        if (edge.from == ready[i] && --waiting[edge.to] == 0)
          ready.push_back(edge.to);
    for (LayerGraph::Id v = 0; ready.size() < g.layers.size() && v < g.layers.size(); ++v)
      if (waiting[v] > 0)
        return report(g.layers[v].location,
                      fmt::format("'{}' waits for itself, or for a layer that does", g.layers[v].name));
  }

  const LayerGraph &g;
  std::vector<size_t> incoming, outgoing;
  Errors errors;
};

} // namespace

Errors check(const LayerGraph &graph) { return LayerGraphChecker(graph).run(); }

const std::string &configurationOf(const LayerGraph &graph, const LayerStage &stage, size_t layer) {
  uint32_t index = stage.configuration[layer];
  return graph.profiles.empty() ? graph.layers[stage.layers[layer]].configurations[index].name
                                : graph.profiles[index].name;
}

double valueOf(const std::vector<LayerStage> &stages, PipelineObjective objective) {
  double load = 0, latency = 0, remains = 0;
  for (const LayerStage &stage : stages) {
    load = std::max(load, stage.load);
    latency += stage.latency;
    remains = std::max(remains, stage.remains);
  }
  return objective == PipelineObjective::Load      ? load
         : objective == PipelineObjective::Latency ? latency
                                                   : latency + remains;
}

} // namespace accord
