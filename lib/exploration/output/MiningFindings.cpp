// What was found out about a mined design: as CSV and in the JSON document.
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonText.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

json::Value finite(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); }

/// A cell of a CSV file (RFC 4180).
std::string cell(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

json::Array limitsOf(const MiningPlan &plan) {
  json::Array all;
  for (size_t j = 0; j < plan.findings.limits.size(); ++j) {
    json::Array shares;
    for (const LimitShare &one : plan.findings.limits[j])
      shares.push_back(json::Object{{"resource", jsonString(one.resource)}, {"fraction", one.share}});
    json::Object one{{"job", jsonString(plan.best.design->steps.at(j).job)}, {"fractions", std::move(shares)}};
    if (j < plan.findings.delays.size() && !plan.findings.delays[j].empty()) {
      json::Array delays;
      for (const CoreDelay &delay : plan.findings.delays[j])
        delays.push_back(json::Object{{"core", jsonString(delay.core)},
                                      {"operations", static_cast<int64_t>(delay.operations)},
                                      {"seconds", delay.seconds}});
      one["delays"] = std::move(delays);
    }
    all.push_back(std::move(one));
  }
  return all;
}

json::Object chosenOf(const MiningPlan &plan, const std::vector<std::string> &chosen) {
  json::Object all;
  for (size_t p = 0; p < chosen.size(); ++p)
    all[plan.parameters[p].name] = jsonString(chosen[p]);
  return all;
}

json::Array requirementsOf(const MiningPlan &plan) {
  json::Array all;
  for (const RequirementSensitivity &one : plan.findings.requirements) {
    json::Object o{{"requirement", jsonString(one.text)}};
    if (one.used > 0) {
      o["utilization"] = one.used;
      o["usage"] = jsonString(one.figures);
    }
    if (one.relaxed)
      o["relaxed"] = json::Object{{"factor", kRelaxationFactor},
                                  {"value", finite(one.relaxed->value)},
                                  {"bound", finite(one.relaxed->bound)},
                                  {"is_optimal", one.relaxed->isOptimal},
                                  {"chosen", chosenOf(plan, one.chosen)}};
    all.push_back(std::move(o));
  }
  return all;
}

json::Array sensitivityOf(const MiningPlan &plan) {
  json::Array all;
  for (size_t p = 0; p < plan.findings.parameters.size(); ++p) {
    json::Array choices;
    for (const ChoiceSensitivity &one : plan.findings.parameters[p]) {
      json::Object o{{"choice", jsonString(plan.parameters[p].labels[one.choice])}, {"value", finite(one.value)}};
      if (plan.best.result.best && (*plan.best.result.best)[p] == one.choice)
        o["chosen"] = true;
      if (!one.reason.empty())
        o["reason"] = jsonString(one.reason);
      if (one.searched) {
        o["best"] = finite(one.best);
        o["bound"] = finite(one.bound);
        o["is_optimal"] = one.isOptimal;
      }
      choices.push_back(std::move(o));
    }
    json::Object o{{"parameter", jsonString(plan.parameters[p].name)}, {"choices", std::move(choices)}};
    if (p < plan.findings.bottleneckGains.size())
      o["bottleneck_gain"] = plan.findings.bottleneckGains[p];
    all.push_back(std::move(o));
  }
  return all;
}

json::Object frontOf(const MiningPlan &plan) {
  const ParetoFront &front = plan.front->front;
  json::Array designs, costs{"value"};
  for (const std::string &cost : front.costs)
    costs.push_back(cost);
  for (size_t i = 0; i < plan.front->designs.size(); ++i) {
    json::Object design = toJson(plan, plan.front->designs[i]);
    design["value"] = finite(front.points[i].value);
    designs.push_back(std::move(design));
  }
  return json::Object{{"objectives", std::move(costs)},
                      {"epsilon", finite(front.within)},
                      {"epsilon_upper_bound", finite(front.possibly)},
                      {"evaluations", static_cast<int64_t>(front.evaluations)},
                      {"bounds", static_cast<int64_t>(front.bounds)},
                      {"proof", jsonString(front.proof)},
                      {"designs", std::move(designs)}};
}

} // namespace

void addFindings(json::Object &document, const MiningPlan &plan) {
  const MiningFindings &findings = plan.findings;
  if (plan.best.design && !findings.limits.empty())
    document["limits"] = limitsOf(plan);
  if (!findings.requirements.empty())
    document["requirements"] = requirementsOf(plan);
  if (!findings.parameters.empty())
    document["sensitivity"] = sensitivityOf(plan);
  if (plan.front)
    document["pareto_front"] = frontOf(plan);
  if (findings.reference)
    document["reference"] = toJson(plan, *findings.reference);
}

std::string paretoFrontCsv(const MiningPlan &plan) {
  if (!plan.front)
    return "";
  const MinedParetoFront &front = *plan.front;
  std::string text = "design,value";
  if (!front.designs.empty())
    for (const MinedStep &step : front.designs[0].steps)
      text += "," + cell("throughput " + step.job);
  for (const std::string &cost : front.front.costs)
    text += cost == "area" ? ",area_mm2" : ",tdp_W";
  for (const DesignParameter &parameter : plan.parameters)
    text += "," + cell(parameter.name);
  text += "\n";
  for (size_t i = 0; i < front.designs.size(); ++i) {
    const ParetoPoint &point = front.front.points[i];
    text += fmt::format("{},{}", front.designs[i].name, point.value);
    for (const MinedStep &step : front.designs[i].steps)
      text += fmt::format(",{}", step.batch / step.step);
    for (size_t c = 0; c < point.costs.size(); ++c)
      text += fmt::format(",{}", front.front.costs[c] == "area" ? point.costs[c] * 1e6 : point.costs[c]);
    for (const std::string &chosen : front.designs[i].chosen)
      text += "," + cell(chosen);
    text += "\n";
  }
  return text;
}

} // namespace accord
