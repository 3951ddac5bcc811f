#include "lib/exploration/output/MiningClusterJson.h"
#include "lib/machine/model/Check.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonText.h"

using namespace llvm;
namespace accord {
namespace {

using json::Path;

/// What is exchanged has seconds of its own in each cluster.
bool exchanges(const Operation &op) { return op.core == CoreKind::None && op.givenSeconds; }

/// Graphs that clusters have in common, each once.
struct SharedGraphs {
  json::Array written;
  std::map<std::string, int64_t> known;
  std::vector<WorkGraph> read;

  int64_t add(WorkGraph graph) {
    for (Operation &op : graph.operations)
      if (exchanges(op))
        op.givenSeconds = 0;
    json::Value value = toJson(graph);
    auto [at, isNew] = known.try_emplace(jsonLine(value), static_cast<int64_t>(written.size()));
    if (isNew)
      written.push_back(std::move(value));
    return at->second;
  }
};

/// A graph, or its number among the shared ones.
void describeGraphOf(JsonVisitor &v, WorkGraph &graph, SharedGraphs *shared) {
  if (!shared)
    return describeGraph(v, graph);
  int64_t number = v.mode() == JsonVisitor::Mode::Write ? shared->add(graph) : 0;
  v.check([&](Path at) { return !shared->read.empty() || (at.report("there are no graphs"), false); });
  visitValue(v, number, IntegerRange{0, static_cast<int64_t>(shared->read.size()) - 1});
  v.check([&](Path) { return graph = shared->read[number], true; });
}

std::vector<double> secondsOf(const WorkGraph &graph) {
  std::vector<double> seconds;
  for (const Operation &op : graph.operations)
    if (exchanges(op))
      seconds.push_back(*op.givenSeconds);
  return seconds;
}
bool setSeconds(const std::vector<double> &seconds, WorkGraph &graph) {
  size_t at = 0;
  for (Operation &op : graph.operations)
    if (exchanges(op)) {
      if (at == seconds.size())
        return false;
      op.givenSeconds = seconds[at++];
    }
  return at == seconds.size();
}

void describeStep(JsonFields &f, CertificateStep &step, SharedGraphs *shared) {
  constexpr IntegerRange positive{.min = 1};
  std::vector<double> seconds = secondsOf(step.graph);
  f.field("tensor", step.tensor, positive)
      .field("sequence", step.sequence)
      .field("microbatch", step.microbatch, positive)
      .field("recompute", step.recompute)
      .maybeIf(step.data > 1, "data", step.data, positive)
      .maybeIf(step.experts > 1, "experts", step.experts, positive)
      .maybeIf(step.tables != PlacementProblem::Tables::Whole, "tables", step.tables)
      .field("graph", step.graph, [&](JsonVisitor &v, WorkGraph &graph) { describeGraphOf(v, graph, shared); })
      .visit("seconds", shared, shared, [&](JsonVisitor &v) { visitValue(v, seconds); });
  if (f.reads())
    f.check("seconds", shared ? setSeconds(seconds, step.graph) : seconds.empty(),
            "not one for each communication of the graph");
}

void describeCluster(JsonFields &f, CertificateCluster &cluster, SharedGraphs *shared) {
  f.field("problem", cluster.problem,
          [](JsonVisitor &v, PlacementProblem &problem) {
            describe(v, problem);
            v.check([&](Path at) { return check(problem).empty() || (at.report("not a placement problem"), false); });
          })
      .field("layers", cluster.classOf, IntegerRange{0, static_cast<int64_t>(cluster.problem.classes.size()) - 1})
      .field("structure", cluster.structure,
             [&](JsonVisitor &v, WorkGraph &graph) { describeGraphOf(v, graph, shared); })
      .field("steps", cluster.steps, [&](JsonFields &g, CertificateStep &step) { describeStep(g, step, shared); })
      .field("offloads", cluster.offloads)
      .maybe("memory_budgets", cluster.memoryBudgets, [](JsonFields &g, CertificateCluster::MemoryBudget &budget) {
        g.field("capacity", budget.capacity).field("bytes", budget.bytes);
      });
}

void describeSharedClusters(JsonFields &f, CertificateJob &job) {
  SharedGraphs shared;
  if (f.reads())
    f.field("graphs", shared.read, describeGraph);
  f.field("all", job.clusters,
          [&](JsonFields &g, CertificateCluster &cluster) { describeCluster(g, cluster, &shared); })
      .check("all", !job.clusters.empty(), "no cluster")
      .field("points", job.points, IntegerRange{0, static_cast<int64_t>(job.clusters.size()) - 1})
      .check("points", !job.points.empty(), "no point");
  if (f.writes()) // which are known once the clusters are written
    f.computed("graphs", [&] { return json::Value(std::move(shared.written)); });
  if (f.reads())
    numberSteps(job);
}

} // namespace

void describeGraph(JsonVisitor &v, WorkGraph &graph) {
  v.custom([&] { return toJson(graph); },
           [&](const json::Value &value, Path at) {
             if (!readWorkGraph(value, graph, at))
               return false;
             if (check(graph).empty())
               return true;
             at.report("its operations, values and regions do not fit together");
             return false;
           });
}

void describeClusters(JsonFields &f, CertificateJob &job, size_t points) {
  f.visit("cluster", false, job.points.empty() && !job.clusters.empty(), [&](JsonVisitor &v) {
    v.check([&](Path at) { return points == 1 || (at.report("numbers of clusters are chosen"), false); });
    visitValue(v, f.writes() ? job.clusters.front() : job.clusters.emplace_back(),
               [](JsonFields &g, CertificateCluster &cluster) { describeCluster(g, cluster, nullptr); });
  });
  f.visit("clusters", false, !job.points.empty(), [&](JsonVisitor &v) { visitValue(v, job, describeSharedClusters); });
}

} // namespace accord
