#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/JsonLists.h"
#include <cmath>
#include <fmt/format.h>

using llvm::json::Array;
using llvm::json::Object;

namespace json = llvm::json;
namespace accord {
namespace {

json::Value fraction(const Rational &rational) { return rational.print(); }
/// Infinite: null.
json::Value finite(double number) { return std::isfinite(number) ? json::Value(number) : json::Value(nullptr); }

Array counts(const std::vector<unsigned> &of) { return ids({of.begin(), of.end()}); }

void addRate(Object &to, const ErrorRate &rate) {
  if (rate.samples < 0)
    return;
  to["rate"] = fraction(rate.rate);
  if (rate.samples > 0)
    to["samples"] = rate.samples;
}

Array members(const EnsemblePlan &plan) {
  Array all;
  for (size_t k = 0; k < plan.problem.kinds.size(); ++k) {
    Object kind{{"name", jsonString(plan.problem.kinds[k].name)}};
    if (k < plan.request.kinds.size())
      kind["call"] = jsonString(plan.request.kinds[k].call);
    addRate(kind, plan.statistics.memberErrors[k]);
    Array devices;
    for (size_t d = 0; d < plan.problem.devices.size(); ++d) {
      Array alternatives;
      for (size_t w = 0; w < plan.problem.kinds[k].alternatives[d].size(); ++w) {
        const MemberCost &cost = plan.problem.kinds[k].alternatives[d][w];
        alternatives.push_back(Object{{"alternative", jsonString(plan.alternatives[k][d][w])},
                                      {"devices", cost.devices},
                                      {"step_time_ps", cost.time},
                                      {"state_bytes", cost.state},
                                      {"activation_bytes", cost.activations},
                                      {"energy_J", cost.joules}});
      }
      Object on{{"device", jsonString(plan.problem.devices[d].name)}, {"alternatives", std::move(alternatives)}};
      if (!plan.reasons[k][d].empty())
        on["reason"] = jsonString(plan.reasons[k][d]);
      devices.push_back(std::move(on));
    }
    kind["on"] = std::move(devices);
    all.push_back(std::move(kind));
  }
  return all;
}

Object basis(const MemberStatistics &statistics) {
  Object object{{"independent", statistics.independent}};
  Array joint;
  for (const auto &[kinds, rate] : statistics.jointErrors) {
    Object one{{"members", counts(kinds)}};
    addRate(one, rate);
    joint.push_back(std::move(one));
  }
  object["joint"] = std::move(joint);
  if (statistics.table.kinds.empty())
    return object;
  Array patterns;
  for (const auto &[pattern, votes] : statistics.table.votes)
    patterns.push_back(Array{static_cast<int64_t>(pattern), votes});
  object["votes"] = Object{{"members", counts(statistics.table.kinds)},
                           {"samples", statistics.table.samples},
                           {"patterns", std::move(patterns)}};
  return object;
}

Object guarantee(const GuaranteeText &text) {
  return Object{{"bound", text.bound},
                {"formula", text.formula},
                {"basis", text.basis},
                {"value", fraction(text.value)},
                {"single", fraction(text.single)},
                {"inputs", strings(text.inputs)},
                {"assumptions", strings(text.assumptions)},
                {"bounds", list(text.bounds, [](const auto &one) {
                   return Object{{"bound", one.first}, {"value", fraction(one.second)}};
                 })}};
}

Array sizes(const EnsemblePlan &plan) {
  Array all;
  for (size_t i = 0; i < plan.result.sizes.size(); ++i) {
    const MembersOfSize &of = plan.result.sizes[i];
    Object size{{"size", of.size},
                {"feasible", of.best.has_value()},
                {"ensembles", static_cast<int64_t>(of.ensembles)},
                {"proven", of.proven},
                {"bound", finite(of.bound)}};
    if (const MemberChoice *shown = of.shown()) {
      size["members"] = counts(shown->counts);
      size["text"] = jsonString(membersText(plan.problem, shown->counts));
      size["error"] = fraction(shown->error);
      size["error_after_failures"] = fraction(shown->errorAfterFailures);
      size["step_time_ps"] = shown->time;
      size["energy_J"] = shown->joules;
      size["memory_bytes"] = shown->memory;
      size["price"] = shown->price;
      size["placement"] = list(shown->members, [](const PlacedMember &member) {
        return Object{{"member", member.kind},
                      {"device", member.device},
                      {"alternative", member.alternative},
                      {"number", member.first}};
      });
    }
    if (i < plan.guarantees.size() && plan.guarantees[i])
      size["guarantee"] = guarantee(*plan.guarantees[i]);
    all.push_back(std::move(size));
  }
  return all;
}

const char *unitOf(MemberObjective objective) {
  switch (objective) {
  case MemberObjective::StepTime:
    return "s";
  case MemberObjective::Energy:
    return "J";
  case MemberObjective::Memory:
    return "B";
  case MemberObjective::Price:
    return "$";
  }
  return "";
}

} // namespace

std::string membersText(const MemberProblem &problem, const std::vector<unsigned> &counts) {
  std::string text;
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[k], problem.kinds[k].name);
  return text;
}

json::Value toJson(const EnsemblePlan &plan) {
  const MemberObjective objective = plan.problem.objective;
  double scale = objective == MemberObjective::StepTime ? 1e-12 : 1;
  const MemberChoice *chosen = plan.chosen();
  Object document{{"command", "vote"},
                  {"version", plan.version},
                  {"status", chosen ? "done" : "infeasible"},
                  {"ensemble", jsonString(plan.name)},
                  {"training", jsonString(plan.train)},
                  {"confidence", fraction(plan.confidence)},
                  {"tests", plan.tests},
                  {"device_failures", plan.problem.deviceFailures},
                  {"metric", name(objective)},
                  {"members", members(plan)},
                  {"devices", list(plan.problem.devices,
                                   [](const MemberProblem::Device &device) {
                                     return Object{{"name", jsonString(device.name)},
                                                   {"count", device.count},
                                                   {"memory_bytes", device.memory},
                                                   {"price_per_hour", device.pricePerHour}};
                                   })},
                  {"error_statistics", basis(plan.statistics)},
                  {"sizes", sizes(plan)},
                  {"lower_bound", finite(plan.result.bound)},
                  {"rejected", list(plan.result.rejected,
                                    [](const RejectedMembers &one) {
                                      return Object{{"members", counts(one.counts)}, {"error", fraction(one.error)}};
                                    })},
                  {"certificates", list(plan.certificates,
                                        [](const EnsembleCertificate &one) {
                                          return Object{{"members", counts(one.counts)},
                                                        {"certificate", toJson(one.certificate)}};
                                        })},
                  {"failures", list(plan.failures,
                                    [](const EnsemblePlan::FailureCase &failure) {
                                      return Object{{"devices", strings(failure.devices)},
                                                    {"quorum", counts(failure.quorum)},
                                                    {"error", fraction(failure.error)}};
                                    })},
                  {"more_data", strings(plan.moreData)},
                  {"assumptions", strings(plan.assumptions)}};
  if (plan.problem.max)
    document["requirement"] = fraction(*plan.problem.max);
  if (!plan.conflict.empty())
    document["conflict"] = Array{Object{{"constraint", jsonString(plan.conflict)}}};
  if (!chosen)
    return document;
  document["best"] = static_cast<int64_t>(*plan.result.best);
  document["objective"] =
      Object{{"name", name(objective)}, {"value", valueOf(*chosen, objective) * scale}, {"unit", unitOf(objective)}};
  document["bound"] = Object{{"value", finite(plan.result.bound * scale)},
                             {"unit", unitOf(objective)},
                             {"proof", "all ensembles of the sizes, placed by branch and bound"}};
  document["gap"] = plan.result.gap(objective);
  return document;
}

} // namespace accord
