#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/report/ReportPage.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Status = LayerPlan::Status;

struct LayersDocument {
  struct Configuration {
    std::string name;
    int64_t tensor = 1;
    double forward = 0, backward = 0, parameters = 0, perMicrobatch = 0, fixed = 0;
    std::map<std::string, double> syncIn, syncOut; ///< by layer at the other end
  };
  struct Layer {
    std::string name;
    std::vector<Configuration> configurations;
  };
  struct Edge {
    std::string from, to;
    double bytes = 0;
  };
  struct Profile {
    std::string first, last, name;
    int64_t tensor = 1;
    double forward = 0, backward = 0, perMicrobatch = 0, fixed = 0;
    std::optional<int64_t> maxLater;
  };
  std::string name;
  int64_t devices = 1, microbatches = 1;
  double memory = 0, bandwidth = 0, reductionFactor = 4;
  std::vector<Layer> layers;
  std::vector<Edge> edges;
  std::vector<Profile> stages;
};

constexpr NumberRange kSize{0, 1e18};

void describeConfiguration(JsonFields &f, LayersDocument::Configuration &one) {
  f.maybe("name", one.name)
      .about("tensor-parallel degree: devices of one replica")
      .field("tensor", one.tensor, IntegerRange{1, 4096})
      .about("of one micro-batch; seconds")
      .field("forward_s", one.forward, kSize)
      .field("backward_s", one.backward, kSize)
      .about("of one device, which replicas reduce after each batch")
      .maybe("parameter_bytes", one.parameters, kSize)
      .about("of one device for each micro-batch in flight: activations that are kept")
      .maybe("memory_per_microbatch_bytes", one.perMicrobatch, kSize)
      .about("of one device whatever is in flight: weights, gradients, optimizer states, workspace")
      .maybe("memory_fixed_bytes", one.fixed, kSize)
      .about("beside an edge's own bytes, where the edge from this layer is cut")
      .maybe("sync_in_bytes", one.syncIn, kSize)
      .about("beside an edge's own bytes, where the edge to this layer is cut")
      .maybe("sync_out_bytes", one.syncOut, kSize);
}

void describe(JsonFields &f, LayersDocument &d) {
  f.constant("kind", "profiled_layers", "expected profiled_layers")
      .maybe("name", d.name)
      .field("devices", d.devices, IntegerRange{1, 4096})
      .about("of a device")
      .field("memory_bytes", d.memory, NumberRange{0, 1e18, true})
      .about("of a device, to all others")
      .field("bandwidth_bytes_s", d.bandwidth, NumberRange{0, 1e18, true})
      .about("of a batch; data degrees divide it")
      .field("microbatches", d.microbatches, kFromOne)
      .about("bytes that a device moves for a byte of parameters which infinitely many replicas reduce: 4 of a "
             "parameter server, 2 of a ring")
      .maybeIf(d.reductionFactor != 4, "reduction_factor", d.reductionFactor, NumberRange{0, 1000})
      .field("layers", d.layers,
             [](JsonFields &g, LayersDocument::Layer &layer) {
               g.field("name", layer.name)
                   .about("one of which is chosen, of the tensor degree of its stage; none where stages were profiled")
                   .maybeIf(!layer.configurations.empty(), "configurations", layer.configurations,
                            describeConfiguration);
             })
      .about("activations of one micro-batch, and as many bytes of gradients back")
      .maybeIf(!d.edges.empty(), "edges", d.edges,
               [](JsonFields &g, LayersDocument::Edge &edge) {
                 g.field("from", edge.from).field("to", edge.to).field("bytes", edge.bytes, kSize);
               })
      .about("whole stages that were profiled, of layers in the order of their list, which then have no edges")
      .maybe("stages", d.stages, [](JsonFields &g, LayersDocument::Profile &one) {
        g.field("first", one.first)
            .about("with all layers between them")
            .field("last", one.last)
            .about("of the mesh and its sharding")
            .maybe("name", one.name)
            .about("devices of the mesh")
            .field("tensor", one.tensor, IntegerRange{1, 4096})
            .about("of one micro-batch; seconds")
            .field("forward_s", one.forward, kSize)
            .field("backward_s", one.backward, kSize)
            .about("as of a configuration")
            .maybe("memory_per_microbatch_bytes", one.perMicrobatch, kSize)
            .maybe("memory_fixed_bytes", one.fixed, kSize)
            .about("stages that may follow within the memory of a device")
            .maybe("later_stages_max", one.maxLater, IntegerRange{0, LayerGraph::kAnyLater});
      });
}

class LayersReader {
public:
  LayersReader(const LayersDocument &document, const std::string &text, const std::string &file)
      : d(document), text(text), file(file) {}

  Result<LayerGraph, Errors> run() {
    g.name = d.name;
    g.devices = d.devices;
    g.microbatches = d.microbatches;
    g.memory = d.memory;
    g.bandwidth = d.bandwidth;
    g.reductionFactor = d.reductionFactor;
    g.location = {file, 1, 1};
    for (size_t v = 0; v < d.layers.size(); ++v)
      if (!ids.try_emplace(d.layers[v].name, v).second)
        fail({"layers", v, "name"}, fmt::format("a second layer '{}'", d.layers[v].name));
    for (size_t e = 0; e < d.edges.size(); ++e)
      g.edges.push_back(
          {id(d.edges[e].from, {"edges", e, "from"}), id(d.edges[e].to, {"edges", e, "to"}), d.edges[e].bytes});
    for (size_t v = 0; v < d.layers.size() && errors.empty(); ++v)
      layer(v);
    if (!d.stages.empty())
      stages();
    if (errors.empty())
      errors = check(g);
    if (!errors.empty())
      return std::move(errors);
    return std::move(g);
  }

private:
  void fail(std::initializer_list<JsonStep> steps, std::string message) {
    if (errors.size() < 20)
      errors.push_back(errorAt(text, file, llvm::ArrayRef(steps), Code::BadPlan, std::move(message)));
  }

  LayerGraph::Id id(const std::string &name, std::initializer_list<JsonStep> steps) {
    if (auto found = ids.find(name); found != ids.end())
      return static_cast<LayerGraph::Id>(found->second);
    fail(steps, fmt::format("no layer has the name '{}'", name));
    std::vector<std::string> known;
    for (const auto &[one, place] : ids)
      known.push_back(one);
    errors.back().suggestion = nearest(name, known);
    return 0;
  }

  void stages() {
    if (!d.edges.empty())
      return fail({"edges"}, "layers whose stages were profiled have no edges");
    for (LayerGraph::Id v = 1; v < d.layers.size(); ++v)
      g.edges.push_back({v - 1, v, 0});
    for (size_t v = 0; v < d.layers.size(); ++v)
      if (!d.layers[v].configurations.empty())
        return fail({"layers", v, "configurations"}, "layers whose stages were profiled have no configurations");
    for (size_t i = 0; i < d.stages.size(); ++i) {
      const LayersDocument::Profile &one = d.stages[i];
      LayerGraph::Id first = id(one.first, {"stages", i, "first"}), last = id(one.last, {"stages", i, "last"});
      if (first > last)
        fail({"stages", i, "last"}, fmt::format("'{}' is before '{}'", one.last, one.first));
      g.profiles.push_back({first, last, one.name, one.tensor, one.forward + one.backward, one.perMicrobatch, one.fixed,
                            one.maxLater.value_or(LayerGraph::kAnyLater)});
    }
  }

  void layer(size_t v) {
    LayerGraph::Layer &made = g.layers.emplace_back();
    made.name = d.layers[v].name;
    made.location = errorAt(text, file, {"layers", v}, Code::BadPlan, "").location;
    for (size_t c = 0; c < d.layers[v].configurations.size(); ++c) {
      const LayersDocument::Configuration &from = d.layers[v].configurations[c];
      LayerGraph::Configuration &one = made.configurations.emplace_back();
      one.name = from.name;
      one.tensor = from.tensor;
      one.time = from.forward + from.backward;
      one.parameterBytes = from.parameters;
      one.memoryPerMicrobatch = from.perMicrobatch;
      one.memoryFixed = from.fixed;
      std::map<std::string, double> in = from.syncIn, out = from.syncOut;
      auto take = [](std::map<std::string, double> &all, const std::string &other) {
        auto found = all.find(other);
        return found == all.end() ? 0 : found->second;
      };
      std::set<std::string> used;
      for (const LayerGraph::Edge &edge : g.edges) {
        if (edge.to == v) {
          one.syncIn.push_back(take(in, d.layers[edge.from].name));
          used.insert("<" + d.layers[edge.from].name);
        }
        if (edge.from == v) {
          one.syncOut.push_back(take(out, d.layers[edge.to].name));
          used.insert(">" + d.layers[edge.to].name);
        }
      }
      for (const auto &[other, bytes] : in)
        if (!used.count("<" + other))
          fail({"layers", v, "configurations", c, "sync_in_bytes", llvm::StringRef(other)},
               fmt::format("there is no edge from '{}' to '{}'", other, made.name));
      for (const auto &[other, bytes] : out)
        if (!used.count(">" + other))
          fail({"layers", v, "configurations", c, "sync_out_bytes", llvm::StringRef(other)},
               fmt::format("there is no edge from '{}' to '{}'", made.name, other));
    }
  }

  const LayersDocument &d;
  const std::string &text, &file;
  std::map<std::string, size_t> ids;
  LayerGraph g;
  Errors errors;
};

struct LayerPlanDocument : AnswerDocument {
  struct Choice {
    std::string layer, configuration;
  };
  struct Stage {
    int64_t tensor = 1, data = 1;
    double load = 0, latency = 0, memory = 0;
    std::vector<Choice> layers;
  };
  int64_t devices = 0, microbatches = 0, work = 0;
  double memory = 0, load = 0, latency = 0, makespan = 0;
  std::vector<Stage> stages;
};

void describe(JsonFields &f, LayerPlanDocument &document) {
  describeAnswer(f, document, "partition", {"load", "latency", "makespan"}, {"s"});
  f.when("status", "unknown", {});
  f.field("devices", document.devices)
      .about("of a device")
      .field("device_memory_bytes", document.memory)
      .about("of a batch")
      .field("microbatches", document.microbatches)
      .about("of the stage that the pipeline waits for with every micro-batch")
      .maybe("load_s", document.load)
      .about("of one micro-batch on its own through all stages")
      .maybe("latency_s", document.latency)
      .about("of a step of all micro-batches, in which the pipeline fills and drains")
      .maybe("makespan_s", document.makespan)
      .about("in the order of the pipeline, each on tensor x data devices")
      .field("stages", document.stages,
             [](JsonFields &g, LayerPlanDocument::Stage &stage) {
               g.field("tensor", stage.tensor, kFromOne)
                   .field("data", stage.data, kFromOne)
                   .about("of one micro-batch")
                   .field("load_s", stage.load)
                   .about("of one micro-batch on its own")
                   .field("latency_s", stage.latency)
                   .about("of one device")
                   .field("memory_bytes", stage.memory)
                   .field("layers", stage.layers, [](JsonFields &h, LayerPlanDocument::Choice &choice) {
                     h.field("layer", choice.layer).field("configuration", choice.configuration);
                   });
             })
      .about("stages that were looked at")
      .field("work", document.work);
}

std::string conflictOf(const LayerGraph &graph, const LayerPlan &plan) {
  if (plan.minMemory > 0)
    return fmt::format("a layer alone needs {:.0f} B ({}) of each device, which has {:.0f} B", plan.minMemory,
                       formatBytes(plan.minMemory), graph.memory);
  for (const auto &layer : graph.layers)
    if (graph.profiles.empty() &&
        llvm::none_of(layer.configurations, [&](const auto &one) { return one.tensor <= graph.devices; }))
      return fmt::format("no configuration of layer '{}' runs on {} devices", layer.name, graph.devices);
  return fmt::format("no stages on {} devices keep each within {:.0f} B ({})", graph.devices, graph.memory,
                     formatBytes(graph.memory));
}

} // namespace

Result<LayerGraph, Errors> readProfiledLayers(const std::string &text, const std::string &file) {
  auto document = readJsonDocument<LayersDocument>(text, file, "layers",
                                                   [](const llvm::json::Value &value, LayersDocument &read,
                                                      llvm::json::Path at) { return readDocument(value, read, at); });
  if (!document)
    return Errors{placedError(document.takeError(), file, Code::BadPlan)};
  return LayersReader(*document, text, file).run();
}

std::string profiledLayersJson(const LayerGraph &graph) {
  LayersDocument d;
  d.name = graph.name;
  d.devices = graph.devices;
  d.microbatches = graph.microbatches;
  d.memory = graph.memory;
  d.bandwidth = graph.bandwidth;
  d.reductionFactor = graph.reductionFactor;
  for (const auto &edge : graph.edges)
    if (graph.profiles.empty())
      d.edges.push_back({graph.layers[edge.from].name, graph.layers[edge.to].name, edge.bytes});
  for (const auto &one : graph.profiles)
    d.stages.push_back({graph.layers[one.first].name, graph.layers[one.last].name, one.name, one.tensor, one.time, 0,
                        one.memoryPerMicrobatch, one.memoryFixed,
                        one.maxLater < LayerGraph::kAnyLater ? std::optional(one.maxLater) : std::nullopt});
  for (LayerGraph::Id v = 0; v < graph.layers.size(); ++v) {
    LayersDocument::Layer &layer = d.layers.emplace_back();
    layer.name = graph.layers[v].name;
    for (const auto &one : graph.layers[v].configurations) {
      LayersDocument::Configuration &made = layer.configurations.emplace_back();
      made = {one.name, one.tensor, one.time, 0, one.parameterBytes, one.memoryPerMicrobatch, one.memoryFixed, {}, {}};
      size_t in = 0, out = 0;
      for (const auto &edge : graph.edges) {
        if (edge.to == v)
          if (double bytes = one.syncIn[in++]; bytes > 0)
            made.syncIn[graph.layers[edge.from].name] = bytes;
        if (edge.from == v)
          if (double bytes = one.syncOut[out++]; bytes > 0)
            made.syncOut[graph.layers[edge.to].name] = bytes;
      }
    }
  }
  return jsonText(toDocument(d)) + "\n";
}

llvm::json::Value layersSchema() { return schemaOf<LayersDocument>(); }

llvm::json::Value layerPlanJson(const LayerGraph &graph, const LayerPlan &plan) {
  LayerPlanDocument document;
  document.name = graph.name;
  document.status = statusOf(plan.status == Status::Feasible, plan.gap(), plan.status == Status::Infeasible);
  document.devices = graph.devices;
  document.memory = graph.memory;
  document.microbatches = graph.microbatches;
  document.work = plan.stagesTried;
  document.stopped = plan.stopped;
  if (plan.status == Status::Infeasible)
    document.conflicts.push_back({conflictOf(graph, plan), graph.location.file, 1, {}, int64_t(plan.minMemory)});
  if (plan.status != Status::Feasible)
    return toDocument(document);
  document.objective = static_cast<size_t>(plan.objective);
  document.value.seconds = plan.value;
  document.load = valueOf(plan.stages, PipelineObjective::Load);
  document.latency = valueOf(plan.stages, PipelineObjective::Latency);
  document.makespan = valueOf(plan.stages, PipelineObjective::Makespan);
  document.bound.seconds = plan.bound;
  document.proof = plan.proof;
  document.gap = plan.gap();
  for (const LayerStage &stage : plan.stages) {
    LayerPlanDocument::Stage &made = document.stages.emplace_back();
    made = {stage.tensor, stage.data, stage.load, stage.latency, stage.memory, {}};
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      made.layers.push_back({graph.layers[stage.layers[i]].name, configurationOf(graph, stage, i)});
    }
  }
  return toDocument(document);
}

llvm::json::Value layerPlanSchema() { return schemaOf<LayerPlanDocument>(); }

std::string layerPlanReport(const LayerGraph &graph, const LayerPlan &plan) {
  const llvm::json::Value document = layerPlanJson(graph, plan);
  return pageOf(Page::Layers, graph.name.empty() ? "layers" : graph.name, jsonText(document) + "\n", document);
}

std::string layerPlanText(const LayerGraph &graph, const LayerPlan &plan, const TextStyle &style) {
  std::string text = fmt::format("{}: {} layers on {} device{}, {} micro-batches\n", graph.name, graph.layers.size(),
                                 graph.devices, graph.devices == 1 ? "" : "s", graph.microbatches);
  std::string stopped = plan.stopped.empty() ? "" : fmt::format(" (stopped: {})", plan.stopped);
  if (plan.status == Status::Infeasible)
    return text + "infeasible: " + conflictOf(graph, plan) + "\n";
  if (plan.status == Status::Unknown)
    return text + fmt::format("no stages were found, and none were proven not to exist{}\n", stopped);
  auto time = [](double seconds) { return fmt::format("{:.4f} ms", seconds * 1e3); };
  TextTable table("rrrrlrrr", {"stage", "tensor", "data", "layers", "from .. to", "load", "latency", "memory"});
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const LayerStage &stage = plan.stages[s];
    std::string names = graph.layers[stage.layers.front()].name;
    if (stage.layers.size() > 1)
      names += " .. " + graph.layers[stage.layers.back()].name;
    table.row({std::to_string(s + 1), std::to_string(stage.tensor), std::to_string(stage.data),
               std::to_string(stage.layers.size()), shortened(names, 30, style), time(stage.load), time(stage.latency),
               formatBytes(stage.memory)});
  }
  std::string others;
  for (auto [objective, what] : {std::pair(PipelineObjective::Load, "load, once for each micro-batch"),
                                 std::pair(PipelineObjective::Latency, "latency of one micro-batch on its own"),
                                 std::pair(PipelineObjective::Makespan, "makespan of a step")})
    if (objective != plan.objective)
      others += fmt::format("{}{} {}", others.empty() ? "not minimized: " : ", ", what,
                            time(valueOf(plan.stages, objective)));
  return text + table.text(style) +
         wrapped(gapLine(kPipelineObjectives[static_cast<size_t>(plan.objective)], time(plan.value), time(plan.bound),
                         plan.proof, plan.gap()) +
                     stopped,
                 "", style) +
         wrapped(others, "", style);
}

} // namespace accord
