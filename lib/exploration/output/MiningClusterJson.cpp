#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/machine/model/Check.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/StrictFields.h"

using namespace llvm;
namespace accord {
namespace {

using json::Path;

/// What is exchanged has seconds of its own in each cluster.
bool exchanges(const Operation &op) { return op.core == CoreKind::None && op.givenSeconds; }

/// Graphs that clusters have in common, each once.
struct Graphs {
  json::Array all;
  std::map<std::string, int64_t> known;

  int64_t add(WorkGraph graph) {
    for (Operation &op : graph.operations)
      if (exchanges(op))
        op.givenSeconds = 0;
    json::Value value = toJson(graph);
    auto [at, isNew] = known.try_emplace(jsonLine(value), static_cast<int64_t>(all.size()));
    if (isNew)
      all.push_back(std::move(value));
    return at->second;
  }
};

json::Value write(const WorkGraph &graph, Graphs *graphs) {
  return graphs ? json::Value(graphs->add(graph)) : toJson(graph);
}

json::Value write(const CertificateStep &step, Graphs *graphs) {
  json::Object o{{"tensor", step.tensor},
                 {"sequence", step.sequence},
                 {"microbatch", step.microbatch},
                 {"recompute", jsonString(step.recompute)}};
  if (step.data > 1)
    o["data"] = step.data;
  if (step.experts > 1)
    o["experts"] = step.experts;
  if (step.tables != PlacementProblem::Tables::Whole)
    o["tables"] = name(step.tables);
  o["graph"] = write(step.graph, graphs);
  if (graphs) {
    json::Array seconds;
    for (const Operation &op : step.graph.operations)
      if (exchanges(op))
        seconds.push_back(*op.givenSeconds);
    o["seconds"] = std::move(seconds);
  }
  return json::Value(std::move(o));
}

bool readGraph(const json::Value &value, Path at, WorkGraph &graph) {
  if (!readWorkGraph(value, graph, at))
    return false;
  if (check(graph).empty())
    return true;
  at.report("its operations, values and regions do not fit together");
  return false;
}

/// `graphs`: by number.
bool readGraph(const json::Value &value, Path at, WorkGraph &graph, const std::vector<WorkGraph> *graphs) {
  if (!graphs)
    return readGraph(value, at, graph);
  int64_t number = 0;
  if (graphs->empty())
    return at.report("there are no graphs"), false;
  if (!StrictFields::readInteger(value, at, number, 0, static_cast<int64_t>(graphs->size()) - 1))
    return false;
  graph = (*graphs)[number];
  return true;
}

bool readSeconds(const std::vector<double> &seconds, WorkGraph &graph) {
  size_t at = 0;
  for (Operation &op : graph.operations)
    if (exchanges(op)) {
      if (at == seconds.size())
        return false;
      op.givenSeconds = seconds[at++];
    }
  return at == seconds.size();
}

bool readTables(const json::Value &value, Path at, PlacementProblem::Tables &out) {
  for (auto one : {PlacementProblem::Tables::Whole, PlacementProblem::Tables::Rows, PlacementProblem::Tables::Columns})
    if (value.getAsString() == StringRef(name(one)))
      return out = one, true;
  at.report("expected whole, rows or columns");
  return false;
}

bool readStep(const json::Value &value, Path at, CertificateStep &out, const std::vector<WorkGraph> *graphs) {
  std::vector<double> seconds;
  return StrictFields(value, at)
      .integer("tensor", out.tensor, 1)
      .flag("sequence", out.sequence)
      .integer("microbatch", out.microbatch, 1)
      .text("recompute", out.recompute)
      .integer("data", out.data, 1, int64_t(1) << 61, false)
      .integer("experts", out.experts, 1, int64_t(1) << 61, false)
      .read(
          "tables", [&](const json::Value &one, Path p) { return readTables(one, p, out.tables); }, false)
      .read("graph", [&](const json::Value &one, Path p) { return readGraph(one, p, out.graph, graphs); })
      .list(
          "seconds", seconds,
          [](const json::Value &one, Path p, double &to) { return StrictFields::readNumber(one, p, to); },
          graphs != nullptr)
      .check("seconds", graphs ? readSeconds(seconds, out.graph) : seconds.empty(),
             "not one for each communication of the graph")
      .end();
}

bool readMemoryBudget(const json::Value &value, Path at, CertificateCluster::MemoryBudget &out) {
  return StrictFields(value, at).number("capacity", out.capacity).integer("bytes", out.bytes).end();
}

bool readLayers(const json::Value &value, Path at, std::map<std::string, uint32_t> &out, size_t classes) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return at.report("expected object"), false;
  for (const auto &[name, cls] : *object) {
    int64_t wide = 0;
    if (!StrictFields::readInteger(cls, at.field(name), wide, 0, static_cast<int64_t>(classes) - 1))
      return false;
    out[name.str()] = static_cast<uint32_t>(wide);
  }
  return true;
}

json::Value write(const CertificateCluster &cluster, Graphs *graphs) {
  json::Object layers;
  for (const auto &[name, cls] : cluster.classOf)
    layers[json::fixUTF8(name)] = static_cast<int64_t>(cls);
  json::Object o{{"problem", toJson(cluster.problem)},
                 {"layers", std::move(layers)},
                 {"structure", write(cluster.structure, graphs)},
                 {"steps", list(cluster.steps, [&](const auto &step) { return write(step, graphs); })},
                 {"offloads", cluster.offloads}};
  if (!cluster.memoryBudgets.empty())
    o["memory_budgets"] = list(cluster.memoryBudgets, [](const CertificateCluster::MemoryBudget &memoryBudget) {
      return json::Value(json::Object{{"capacity", memoryBudget.capacity}, {"bytes", memoryBudget.bytes}});
    });
  return json::Value(std::move(o));
}

bool readOne(const json::Value &value, Path at, CertificateCluster &out, const std::vector<WorkGraph> *graphs) {
  return StrictFields(value, at)
      .read("problem",
            [&](const json::Value &one, Path p) {
              if (!readPlacementProblem(one, out.problem, p))
                return false;
              if (check(out.problem).empty())
                return true;
              p.report("not a placement problem");
              return false;
            })
      .read("layers",
            [&](const json::Value &one, Path p) { return readLayers(one, p, out.classOf, out.problem.classes.size()); })
      .read("structure", [&](const json::Value &one, Path p) { return readGraph(one, p, out.structure, graphs); })
      .list("steps", out.steps,
            [&](const json::Value &one, Path p, CertificateStep &step) { return readStep(one, p, step, graphs); })
      .flag("offloads", out.offloads)
      .list("memory_budgets", out.memoryBudgets, readMemoryBudget, false)
      .end();
}

} // namespace

void writeClusters(const CertificateJob &job, json::Object &into) {
  if (job.points.empty() && !job.clusters.empty())
    into["cluster"] = write(job.clusters.front(), nullptr);
  if (job.points.empty())
    return;
  Graphs graphs;
  json::Array clusters = list(job.clusters, [&](const CertificateCluster &one) { return write(one, &graphs); });
  into["clusters"] = json::Object{{"graphs", std::move(graphs.all)},
                                  {"all", std::move(clusters)},
                                  {"points", list(job.points, [](const std::optional<size_t> &one) {
                                     return one ? json::Value(static_cast<int64_t>(*one)) : json::Value(nullptr);
                                   })}};
}

bool readCluster(const json::Value &value, Path at, CertificateJob &into) {
  return readOne(value, at, into.clusters.emplace_back(), nullptr);
}

bool readClusters(const json::Value &value, Path at, CertificateJob &into) {
  std::vector<WorkGraph> graphs;
  auto readPoint = [&](const json::Value &one, Path p, std::optional<size_t> &to) {
    int64_t number = 0;
    if (one.getAsNull())
      return true;
    if (!StrictFields::readInteger(one, p, number, 0, static_cast<int64_t>(into.clusters.size()) - 1))
      return false;
    to = static_cast<size_t>(number);
    return true;
  };
  bool read =
      StrictFields(value, at)
          .list("graphs", graphs, [](const json::Value &one, Path p, WorkGraph &to) { return readGraph(one, p, to); })
          .list("all", into.clusters,
                [&](const json::Value &one, Path p, CertificateCluster &to) { return readOne(one, p, to, &graphs); })
          .check("all", !into.clusters.empty(), "no cluster")
          .list("points", into.points, readPoint)
          .check("points", !into.points.empty(), "no point")
          .end();
  numberSteps(into);
  return read;
}

} // namespace accord
