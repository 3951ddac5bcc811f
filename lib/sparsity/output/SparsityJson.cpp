#include "lib/sparsity/output/DataflowJson.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonLists.h"

namespace json = llvm::json;
namespace accord {
namespace {

/// A number, or null where nothing is limited.
void describeLimit(JsonVisitor &v, int64_t &value) {
  v.integerOrNull(value, SelectionProblem::kUnlimited, {.min = -1});
}
constexpr IntegerRange kIndex{0, 1 << 24};

void describeOption(JsonFields &f, SelectionOption &option) {
  f.field("label", option.label)
      .field("time_ps", option.picoseconds)
      .field("energy_pJ", option.picojoules)
      .field("bytes", option.bytes)
      .field("loss", option.loss)
      .field("sparse", option.sparse);
}

void describeOperation(JsonFields &f, SelectionOperation &op) {
  f.field("name", op.name)
      .field("stage", op.stage, IntegerRange{0, 1 << 20})
      .field("options", op.options, describeOption);
}

void describeRule(JsonFields &f, SelectionRule &rule) {
  f.field("options", rule.options, [](JsonVisitor &v, std::pair<unsigned, unsigned> &option) {
     std::vector<unsigned> both{option.first, option.second};
     visitValue(v, both, kIndex);
     v.check([&](json::Path at) {
       if (both.size() != 2)
         return at.report("expected an operation and an option"), false;
       option = {both[0], both[1]};
       return true;
     });
   }).field("max", rule.max);
}

void describeProblem(JsonFields &f, SelectionProblem &problem) {
  using enum SelectionObjective;
  std::string objective = name(problem.objective);
  f.field("objective", objective);
  bool known = false;
  for (auto one : {Time, Energy, Memory, SlowestStage})
    if (objective == name(one)) {
      known = true;
      if (f.reads())
        problem.objective = one;
    }
  f.check("objective", known, "unknown objective")
      .field("loss_budget", problem.lossBudget, describeLimit)
      .field("byte_budget", problem.byteBudget, describeLimit)
      .field("operations", problem.operations, describeOperation)
      .field("groups", problem.groups, kIndex)
      .field("rules", problem.rules, describeRule);
}

void describeResult(JsonFields &f, SelectionResult &result) {
  f.field("feasible", result.feasible)
      .field("choice", result.choice, kIndex)
      .field("time_ps", result.sums.picoseconds)
      .field("energy_pJ", result.sums.picojoules)
      .field("bytes", result.sums.bytes)
      .field("loss", result.sums.loss)
      .field("slowest_ps", result.sums.slowest)
      .field("value", result.value)
      .field("bound", result.bound, describeLimit)
      .field("states", result.states);
}

json::Value toJson(const PruneOption &option) {
  return json::Object{{"label", jsonString(option.label)},
                      {"sparsity", jsonString(option.sparsity)},
                      {"format", jsonString(option.format)},
                      {"encoding", jsonString(option.encoding)},
                      {"time_s", option.seconds},
                      {"time_quantile_s", option.quantile},
                      {"forward_s", option.forward},
                      {"data_gradient_s", option.dataGradient},
                      {"weight_gradient_s", option.weightGradient},
                      {"update_s", option.update},
                      {"gradient_sync_s", option.exchange},
                      {"energy_J", option.joules},
                      {"energy_quantile_J", option.quantileJoules},
                      {"bytes", option.bytes},
                      {"metadata_bytes", option.metadata},
                      {"bound", jsonString(option.bound)},
                      {"loss", option.loss.print()}};
}

json::Value toJson(const PrunePlan &plan) {
  SparsitySums sums = sumsOf(plan);
  json::Array layers;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const PruneLayer &layer = plan.layers[i];
    layers.push_back(json::Object{{"name", jsonString(layer.name)},
                                  {"parameter", jsonString(layer.parameter)},
                                  {"executions", layer.executions},
                                  {"uses", jsonString(layer.uses)},
                                  {"chosen", plan.result.choice[i]},
                                  {"options", list(layer.options, [](const PruneOption &o) { return toJson(o); })}});
  }
  return json::Object{{"layers", std::move(layers)},        {"time_s", sums.seconds},
                      {"time_quantile_s", sums.quantile},   {"energy_J", sums.joules},
                      {"state_bytes", sums.bytes},          {"dense_time_s", sums.denseSeconds},
                      {"dense_energy_J", sums.denseJoules}, {"dense_state_bytes", sums.denseBytes},
                      {"other_time_s", plan.otherSeconds}};
}

} // namespace

SparsitySums sumsOf(const PrunePlan &plan) {
  SparsitySums sums;
  sums.seconds = sums.quantile = sums.denseSeconds = plan.otherSeconds;
  sums.joules = sums.denseJoules = plan.otherJoules;
  sums.bytes = sums.denseBytes = plan.otherBytes;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const PruneOption &chosen = plan.chosen(i), &dense = plan.layers[i].options.front();
    sums.seconds += chosen.seconds, sums.quantile += chosen.quantile;
    sums.joules += chosen.joules, sums.bytes += chosen.bytes;
    sums.denseSeconds += dense.seconds, sums.denseJoules += dense.joules;
    sums.denseBytes += dense.bytes;
  }
  return sums;
}

json::Value toJson(const SparsityPlan &plan) {
  json::Object document{
      {"command", "prune"},
      {"version", plan.version},
      {"status", "done"},
      {"training", jsonString(plan.training)},
      {"model", jsonString(plan.model)},
      {"machine", jsonString(plan.machine)},
      {"objective", plan.objective},
      {"batch", plan.batch},
      {"microbatch", plan.microbatch},
      {"confidence", plan.confidence},
      {"gap", plan.selection().gap()},
      {"proven", plan.selection().proven()},
      {"assumptions", strings(plan.assumptions)},
      {"excluded_options",
       list(plan.excludedOptions(), [](const Rejection &rejection) { return jsonString(rejection.error.message); })},
  };
  if (plan.step) {
    document["step"] = toJson(*plan.step);
    document["problem"] = toDocument(plan.step->problem, describeProblem);
    document["answer"] = toDocument(plan.step->result, describeResult);
  }
  if (plan.pipeline)
    document["pipeline"] = toJson(plan.pipeline->problem, plan.pipeline->result);
  if (const auto &report = plan.accuracy) {
    json::Object accuracy{{"metric", jsonString(report->metric)}, {"guaranteed", report->guaranteed},
                          {"min_accuracy", report->min.print()},  {"min_accuracy_fraction", report->min.toDouble()},
                          {"confidence", report->confidence},     {"basis", jsonString(report->level)},
                          {"inputs", strings(report->inputs)},    {"assumptions", strings(report->assumptions)}};
    if (report->required)
      accuracy["required"] = report->required->print();
    document["accuracy"] = std::move(accuracy);
  }
  return json::Value(std::move(document));
}

bool readSelection(const json::Value &value, SelectionProblem &problem, SelectionResult &result, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    path.report("expected object");
    return false;
  }
  for (const char *key : {"problem", "answer"})
    if (!object->get(key)) {
      path.field(key).report("missing value");
      return false;
    }
  return readDocument(*object->get("problem"), problem, path.field("problem"), describeProblem) &&
         readDocument(*object->get("answer"), result, path.field("answer"), describeResult);
}

} // namespace accord
