#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonText.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

json::Value finite(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); }

json::Object searched(const MiningResult &result) {
  json::Array convergence;
  for (const ConvergencePoint &moment : result.convergence) {
    json::Object one{{"evaluations", static_cast<int64_t>(moment.evaluations)},
                     {"bounds", static_cast<int64_t>(moment.bounds)},
                     {"incumbent", finite(moment.incumbent)},
                     {"bound", finite(moment.bound)}};
    if (result.seconds > 0)
      one["processor_s"] = moment.seconds;
    convergence.push_back(std::move(one));
  }
  json::Object o{{"strategy", result.strategy},
                 {"evaluations", static_cast<int64_t>(result.evaluations)},
                 {"bounds", static_cast<int64_t>(result.bounds)},
                 {"value", finite(result.value)},
                 {"bound", finite(result.bound)},
                 {"gap", finite(result.gap())},
                 {"proof", result.proof},
                 {"is_optimal", result.isOptimal},
                 {"convergence", std::move(convergence)}};
  if (result.seconds > 0)
    o["processor_s"] = result.seconds;
  return o;
}

json::Object placed(const MinedPlacement &placement) {
  json::Object recomputePolicies;
  for (const auto &[policy, layers] : placement.recomputePolicies)
    recomputePolicies[policy] = layers;
  return json::Object{{"devices", placement.devices},
                      {"tensor_parallel", placement.tensor},
                      {"sequence_parallel", placement.sequence},
                      {"pipeline_parallel", placement.pipeline},
                      {"data_parallel", placement.data},
                      {"zero", placement.zero},
                      {"schedule", placement.schedule},
                      {"virtual_stages", placement.virtualStages},
                      {"microbatch", placement.microbatch},
                      {"microbatches", placement.microbatches},
                      {"recompute", std::move(recomputePolicies)}};
}

json::Object answered(const MiningPlan &plan, const MinedAnswer &answer) {
  json::Object o{{"search", searched(answer.result)}};
  if (answer.design)
    o["design"] = toJson(plan, *answer.design);
  return o;
}

} // namespace

json::Object toJson(const MiningPlan &plan, const MinedDesign &design) {
  json::Object chosen;
  for (size_t i = 0; i < design.chosen.size(); ++i)
    chosen[plan.parameters[i].name] = jsonString(design.chosen[i]);
  json::Array steps;
  for (const MinedStep &step : design.steps) {
    json::Object one{{"job", jsonString(step.job)},
                     {"alternative", jsonString(step.alternative)},
                     {"batch", step.batch},
                     {"step_time_s", step.step},
                     {"throughput", static_cast<double>(step.batch) / step.step},
                     {"energy_J", step.joules},
                     {"memory_bytes", step.bytes},
                     {"value", finite(step.value)}};
    if (step.ownBest > 0)
      one["individual_best"] = step.ownBest;
    if (step.weight != 1)
      one["weight"] = step.weight;
    if (step.placement)
      one["placement"] = placed(*step.placement);
    steps.push_back(std::move(one));
  }
  json::Object o{{"name", jsonString(design.name)}, {"chosen", std::move(chosen)}, {"steps", std::move(steps)}};
  if (design.machine.area.value > 0)
    o["area_mm2"] = design.machine.area.squareMillimetres();
  if (design.machine.tdp.value > 0)
    o["tdp_W"] = design.machine.tdp.value;
  return o;
}

json::Value toJson(const MiningPlan &plan) {
  const MiningResult &result = plan.best.result;
  json::Array parameters, requirements, assumptions, own, compared;
  for (const DesignParameter &parameter : plan.parameters) {
    json::Array values;
    for (const std::string &value : parameter.labels)
      values.push_back(jsonString(value));
    parameters.push_back(json::Object{{"name", jsonString(parameter.name)}, {"values", std::move(values)}});
  }
  for (const std::string &text : plan.requirements)
    requirements.push_back(jsonString(text));
  for (const std::string &text : plan.assumptions)
    assumptions.push_back(jsonString(text));
  for (const MinedAnswer &answer : plan.own)
    own.push_back(answered(plan, answer));
  for (const MinedAnswer &answer : plan.compared)
    compared.push_back(answered(plan, answer));
  bool ratio = plan.aggregation == "minimax_regret";
  std::string unit = ratio                        ? ""
                     : plan.metric == "tdp_time"  ? "W s"
                     : plan.metric == "energy"    ? "J"
                     : plan.metric == "area_time" ? "m2 s"
                     : plan.metric != "step_time" ? plan.unit
                                                  : "s";
  std::string metric = ratio ? "minimax_regret of " + plan.metric : plan.metric;
  json::Object o = answered(plan, plan.best);
  o["schema"] = 2;
  o["command"] = "mine";
  o["version"] = plan.version;
  o["status"] = plan.best.design ? "done" : "infeasible";
  o["objective"] = json::Object{{"name", jsonString(metric)}, {"value", finite(result.value)}, {"unit", unit}};
  o["bound"] = json::Object{{"value", finite(result.bound)}, {"unit", unit}, {"proof", jsonString(result.proof)}};
  o["gap"] = result.bound > 0 ? finite(result.gap()) : json::Value(nullptr);
  o["space"] = json::Object{{"name", jsonString(plan.space)},
                            {"designs", plan.size},
                            {"parameters", std::move(parameters)},
                            {"requirements", std::move(requirements)}};
  if (!plan.conflict.empty())
    o["conflict"] = json::Array{json::Object{{"constraint", jsonString(plan.conflict)},
                                             {"file", jsonString(plan.conflictAt.file)},
                                             {"line", plan.conflictAt.line}}};
  if (!own.empty())
    o["individual"] = std::move(own);
  if (!compared.empty()) {
    o["compared"] = std::move(compared);
    o["compared_by"] = plan.comparedByTime ? "time" : "evaluations";
  }
  addStages(o, plan);
  addFindings(o, plan);
  o["assumptions"] = std::move(assumptions);
  return o;
}

std::string convergenceCsv(const MiningPlan &plan) {
  bool timed = plan.comparedByTime;
  std::string text = "search,strategy,evaluations,bounds,incumbent,bound";
  text += timed ? ",processor_s\n" : "\n";
  auto add = [&](const std::string &search, const MiningResult &result) {
    for (const ConvergencePoint &moment : result.convergence)
      text += fmt::format("{},{},{},{},{},{}{}\n", search, result.strategy, moment.evaluations, moment.bounds,
                          std::isfinite(moment.incumbent) ? fmt::format("{}", moment.incumbent) : "", moment.bound,
                          timed ? fmt::format(",{}", moment.seconds) : "");
  };
  add(plan.own.empty() ? "best" : "common", plan.best.result);
  for (const MinedAnswer &answer : plan.own)
    add(answer.design ? answer.design->name : "individual", answer.result);
  for (const MinedAnswer &answer : plan.compared)
    add("compared", answer.result);
  return text;
}

} // namespace accord
