#include "lib/partitioning/output/LayerPlanCertificate.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonText.h"

namespace accord {
namespace {

/// Of a plan whose layers are read before.
struct PlanDocument {
  LayerPlan plan;
  std::string source; ///< the file that the layers were read from
  bool allowReplicas = true;
  size_t layers = 0;
};

void describeStage(JsonFields &f, LayerStage &stage, size_t layers) {
  f.field("layers", stage.layers, IntegerRange{0, static_cast<int64_t>(layers) - 1})
      .check("layers", !stage.layers.empty(), "expected at least one")
      .field("configurations", stage.configuration)
      .field("tensor", stage.tensor, IntegerRange{1, 4096})
      .field("data", stage.data, IntegerRange{1, 4096})
      .field("load_s", stage.load)
      .field("latency_s", stage.latency)
      .field("remains_s", stage.remains)
      .field("memory_bytes", stage.memory);
}

void describePlan(JsonFields &f, PlanDocument &document) {
  LayerPlan &plan = document.plan;
  f.constant("kind", "layer_planning", "expected layer_planning")
      .field("source", document.source)
      .field("allow_replicas", document.allowReplicas)
      .field("status", plan.status,
             [](JsonVisitor &v, LayerPlan::Status &status) {
               v.oneOf(status, {"feasible", "infeasible", "unknown"}, "unknown status");
             })
      .field("objective", plan.objective,
             [](JsonVisitor &v, PipelineObjective &objective) {
               v.oneOf(objective, {"load", "latency", "makespan"}, "unknown objective");
             })
      .field("stages", plan.stages, [&](JsonFields &g, LayerStage &stage) { describeStage(g, stage, document.layers); })
      .field("value_s", plan.value)
      .field("bound_s", plan.bound)
      .field("proof", plan.proof)
      .maybe("stopped", plan.stopped)
      .maybe("min_memory_bytes", plan.minMemory)
      .field("stages_tried", plan.stagesTried);
}

} // namespace

AnswerFiles filesOf(const LayerPlanAnswer &answer) {
  PlanDocument document{answer.plan, answer.graph.location.file, answer.allowReplicas, answer.graph.layers.size()};
  return {{"stages.json", jsonText(layerPlanJson(answer.graph, answer.plan)) + "\n"},
          {"report.html", layerPlanReport(answer.graph, answer.plan)},
          {kLayerProblemCertificate, profiledLayersJson(answer.graph)},
          {kLayerPlanCertificate, jsonText(toDocument(document, describePlan)) + "\n"}};
}

Result<LayerPlanAnswer, Errors> layerPlanFromCertificate(const std::string &layers, const std::string &plan,
                                                         const std::string &folder) {
  auto graph = readProfiledLayers(layers, folder + "/" + kLayerProblemCertificate);
  if (!graph)
    return graph.error();
  std::string path = folder + "/" + kLayerPlanCertificate;
  size_t count = graph->layers.size();
  auto document = readJsonDocument<PlanDocument>(
      plan, path, "plan", [&](const llvm::json::Value &value, PlanDocument &read, llvm::json::Path at) {
        read.layers = count;
        return readDocument(value, read, at, describePlan);
      });
  if (!document)
    return Errors{placedError(document.takeError(), path, Code::BadPlan)};
  LayerPlanAnswer answer{std::move(*graph), std::move(document->plan), document->allowReplicas};
  answer.graph.location.file = document->source;
  return answer;
}

} // namespace accord
