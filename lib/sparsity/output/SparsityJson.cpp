#include "lib/sparsity/output/DataflowJson.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/StrictFields.h"

namespace json = llvm::json;
namespace accord {
namespace {

constexpr int64_t kLargest = int64_t(1) << 61;

json::Value limit(int64_t value) {
  return value == SelectionProblem::kUnlimited ? json::Value(nullptr) : json::Value(value);
}

json::Value toJson(const SelectionProblem &problem) {
  return json::Object{
      {"objective", name(problem.objective)},
      {"loss_budget", limit(problem.lossBudget)},
      {"byte_budget", limit(problem.byteBudget)},
      {"operations", list(problem.operations,
                          [](const SelectionOperation &op) {
                            return json::Object{{"name", jsonString(op.name)},
                                                {"stage", op.stage},
                                                {"options", list(op.options, [](const SelectionOption &option) {
                                                   return json::Object{{"label", jsonString(option.label)},
                                                                       {"time_ps", option.picoseconds},
                                                                       {"energy_pJ", option.picojoules},
                                                                       {"bytes", option.bytes},
                                                                       {"loss", option.loss},
                                                                       {"sparse", option.sparse}};
                                                 })}};
                          })},
      {"groups", list(problem.groups, [](const std::vector<unsigned> &group) { return ids(group); })},
      {"rules", list(problem.rules, [](const SelectionRule &rule) {
         return json::Object{
             {"options",
              list(rule.options, [](const auto &option) { return json::Array{option.first, option.second}; })},
             {"max", rule.max}};
       })}};
}

json::Value toJson(const SelectionResult &result) {
  return json::Object{{"feasible", result.feasible},        {"choice", ids(result.choice)},
                      {"time_ps", result.sums.picoseconds}, {"energy_pJ", result.sums.picojoules},
                      {"bytes", result.sums.bytes},         {"loss", result.sums.loss},
                      {"slowest_ps", result.sums.slowest},  {"value", result.value},
                      {"bound", limit(result.bound)},       {"states", static_cast<int64_t>(result.states)}};
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

/// A number, or null where nothing is limited.
bool readLimit(const json::Value &value, json::Path path, int64_t &out) {
  if (value.getAsNull()) {
    out = SelectionProblem::kUnlimited;
    return true;
  }
  return StrictFields::readInteger(value, path, out, -1, kLargest);
}

bool readId(const json::Value &value, json::Path path, unsigned &out) {
  int64_t read = 0;
  bool ok = StrictFields::readInteger(value, path, read, 0, 1 << 24);
  out = read;
  return ok;
}

bool readOption(const json::Value &value, json::Path path, SelectionOption &option) {
  return StrictFields(value, path)
      .text("label", option.label)
      .integer("time_ps", option.picoseconds)
      .integer("energy_pJ", option.picojoules)
      .integer("bytes", option.bytes)
      .integer("loss", option.loss)
      .flag("sparse", option.sparse)
      .end();
}

bool readOperation(const json::Value &value, json::Path path, SelectionOperation &op) {
  return StrictFields(value, path)
      .text("name", op.name)
      .integer("stage", op.stage, 0, 1 << 20)
      .list("options", op.options, readOption)
      .end();
}

bool readRule(const json::Value &value, json::Path path, SelectionRule &rule) {
  return StrictFields(value, path)
      .list("options", rule.options,
            [](const json::Value &v, json::Path p, std::pair<unsigned, unsigned> &option) {
              std::vector<unsigned> both;
              if (!StrictFields::readList(v, p, both, readId))
                return false;
              if (both.size() != 2) {
                p.report("expected an operation and an option");
                return false;
              }
              option = {both[0], both[1]};
              return true;
            })
      .integer("max", rule.max)
      .end();
}

bool readProblem(const json::Value &value, json::Path path, SelectionProblem &problem) {
  std::string objective;
  bool known = false;
  StrictFields fields(value, path);
  fields.text("objective", objective);
  for (auto one : {SelectionObjective::Time, SelectionObjective::Energy, SelectionObjective::Memory,
                   SelectionObjective::SlowestStage})
    if (objective == name(one))
      problem.objective = one, known = true;
  return fields.check("objective", known, "unknown objective")
      .read("loss_budget", [&](const json::Value &v, json::Path p) { return readLimit(v, p, problem.lossBudget); })
      .read("byte_budget", [&](const json::Value &v, json::Path p) { return readLimit(v, p, problem.byteBudget); })
      .list("operations", problem.operations, readOperation)
      .list("groups", problem.groups,
            [](const json::Value &v, json::Path p, std::vector<unsigned> &group) {
              return StrictFields::readList(v, p, group, readId);
            })
      .list("rules", problem.rules, readRule)
      .end();
}

bool readResult(const json::Value &value, json::Path path, SelectionResult &result) {
  int64_t states = 0;
  bool ok = StrictFields(value, path)
                .flag("feasible", result.feasible)
                .list("choice", result.choice, readId)
                .integer("time_ps", result.sums.picoseconds)
                .integer("energy_pJ", result.sums.picojoules)
                .integer("bytes", result.sums.bytes)
                .integer("loss", result.sums.loss)
                .integer("slowest_ps", result.sums.slowest)
                .integer("value", result.value)
                .read("bound", [&](const json::Value &v, json::Path p) { return readLimit(v, p, result.bound); })
                .integer("states", states)
                .end();
  result.states = states;
  return ok;
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
    document["problem"] = toJson(plan.step->problem);
    document["answer"] = toJson(plan.step->result);
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
  return readProblem(*object->get("problem"), path.field("problem"), problem) &&
         readResult(*object->get("answer"), path.field("answer"), result);
}

} // namespace accord
