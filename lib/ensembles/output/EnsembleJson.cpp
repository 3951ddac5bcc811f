#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/JsonLists.h"
#include <fmt/format.h>
#include <numeric>

using llvm::json::Object;

namespace json = llvm::json;
namespace accord {
namespace {

constexpr IntegerRange kIndex{0, 1 << 20}, kAny{0, INT64_MAX}, kPositive{.min = 1};

void describeShare(JsonVisitor &v, Rational &share) {
  v.custom([&] { return share.print(); },
           [&](const json::Value &value, json::Path path) {
             if (auto text = value.getAsString()) {
               auto [above, below] = text->split('/');
               auto n = Rational::parse(above), d = below.empty() ? Rational(1) : Rational::parse(below);
               if (n && d && d->sign() > 0 && n->sign() >= 0 && *n <= *d)
                 return share = *n / *d, true;
             }
             return path.report("expected a fraction of 0 to 1"), false;
           });
}
void describeFinite(JsonVisitor &v, double &number) { v.numberOrNull(number); }

/// A rate that may be missing: then it is not known.
void describeRate(JsonFields &f, ErrorRate &rate) {
  if (f.reads())
    rate = {1, -1};
  f.visit("rate", false, rate.samples >= 0, [&](JsonVisitor &v) {
    describeShare(v, rate.rate);
    if (f.reads())
      rate.samples = 0;
  });
  f.maybeIf(rate.samples > 0, "samples", rate.samples, IntegerRange{0, int64_t(1) << 40});
}

/// A list of objects that several lists have to do with, by their index.
template <typename T>
void describeIndexed(JsonFields &f, llvm::StringLiteral key, std::vector<T> &items,
                     llvm::function_ref<void(JsonFields &, size_t)> item) {
  f.visit(key, true, true, [&](JsonVisitor &v) {
    v.array(
        items.size(), "expected array", [&](size_t size) { return items.resize(size), true; },
        [&](size_t i, JsonVisitor &one) { one.object([&](JsonFields &g) { item(g, i); }); });
  });
}

void describeMembers(JsonFields &f, EnsemblePlan &plan) {
  auto describeCost = [&](JsonFields &g, MemberCost &cost, const std::string &text) {
    g.computed("alternative", [&] { return text; })
        .field("devices", cost.devices, kPositive)
        .field("step_time_ps", cost.time)
        .field("state_bytes", cost.state)
        .field("activation_bytes", cost.activations)
        .field("energy_J", cost.joules);
  };
  describeIndexed(f, "members", plan.problem.kinds, [&](JsonFields &g, size_t k) {
    MemberProblem::Kind &kind = plan.problem.kinds[k];
    if (g.reads())
      plan.statistics.memberErrors.resize(plan.problem.kinds.size());
    g.field("name", kind.name).computedIf(k < plan.request.kinds.size(), "call", [&] {
      return plan.request.kinds[k].call;
    });
    describeRate(g, plan.statistics.memberErrors[k]);
    describeIndexed(g, "on", kind.alternatives, [&](JsonFields &h, size_t d) {
      h.computed("device", [&] {
         return plan.problem.devices[d].name;
       }).computedIf(h.writes() && !plan.reasons[k][d].empty(), "reason", [&] { return plan.reasons[k][d]; });
      std::vector<MemberCost> &costs = kind.alternatives[d];
      describeIndexed(h, "alternatives", costs, [&](JsonFields &i, size_t w) {
        describeCost(i, costs[w], i.writes() ? plan.alternatives[k][d][w] : "");
      });
    });
  });
}

void describeDevice(JsonFields &f, MemberProblem::Device &device) {
  f.field("name", device.name)
      .field("count", device.count, kPositive)
      .field("memory_bytes", device.memory)
      .field("price_per_hour", device.pricePerHour);
}

void describeVotes(JsonVisitor &v, VoteTable &table) {
  std::vector<std::vector<int64_t>> patterns;
  for (auto [pattern, votes] : table.votes)
    patterns.push_back({static_cast<int64_t>(pattern), votes});
  v.object([&](JsonFields &f) {
    f.field("members", table.kinds, kIndex).field("samples", table.samples).field("patterns", patterns, kAny);
  });
  v.check([&](json::Path at) {
    int64_t left = table.samples;
    size_t members = table.kinds.size();
    for (const std::vector<int64_t> &one : patterns) {
      if (one.size() != 2 || members > kMaxEnsembleMembers || one[0] >> members || one[1] > left) {
        at.report("expected patterns of at most 63 members and numbers of votes "
                  "that add up to the samples");
        return false;
      }
      table.votes[one[0]] += one[1];
      left -= one[1];
    }
    return true;
  });
}

void describeStatistics(JsonFields &f, MemberStatistics &statistics) {
  std::vector<std::pair<std::vector<unsigned>, ErrorRate>> joint(statistics.jointErrors.begin(),
                                                                 statistics.jointErrors.end());
  f.field("independent", statistics.independent)
      .field("joint", joint,
             [](JsonFields &g, std::pair<std::vector<unsigned>, ErrorRate> &one) {
               g.field("members", one.first, kIndex);
               describeRate(g, one.second);
             })
      .maybeIf(!statistics.table.kinds.empty(), "votes", statistics.table, describeVotes);
  if (f.reads())
    for (auto &[kinds, rate] : joint)
      statistics.jointErrors[kinds] = rate;
}

Object guarantee(const GuaranteeText &text) {
  return Object{{"bound", text.bound},
                {"formula", text.formula},
                {"basis", text.basis},
                {"value", text.value.print()},
                {"single", text.single.print()},
                {"inputs", strings(text.inputs)},
                {"assumptions", strings(text.assumptions)},
                {"bounds", list(text.bounds, [](const auto &one) {
                   return Object{{"bound", one.first}, {"value", one.second.print()}};
                 })}};
}

void describeMember(JsonFields &f, PlacedMember &member) {
  f.field("member", member.kind, kIndex)
      .field("device", member.device, kIndex)
      .field("alternative", member.alternative, kIndex)
      .field("number", member.first);
}

void describeSize(JsonFields &f, MembersOfSize &size, const EnsemblePlan &plan,
                  const std::optional<GuaranteeText> &text) {
  bool feasible = size.best.has_value(), shown = size.shown();
  MemberChoice choice = shown ? *size.shown() : MemberChoice();
  f.field("size", size.size, IntegerRange{1, kMaxEnsembleMembers})
      .field("feasible", feasible)
      .field("ensembles", size.ensembles)
      .field("proven", size.proven)
      .field("bound", size.bound, describeFinite)
      .visit("members", false, shown, [&](JsonVisitor &v) {
        shown = true;
        visitValue(v, choice.counts, kIndex);
      });
  f.maybeIf(shown, "error", choice.error, describeShare)
      .maybeIf(shown, "error_after_failures", choice.errorAfterFailures, describeShare)
      .maybeIf(shown, "step_time_ps", choice.time, kAny)
      .maybeIf(shown, "energy_J", choice.joules)
      .maybeIf(shown, "memory_bytes", choice.memory, kAny)
      .maybeIf(shown, "price", choice.price)
      .maybeIf(shown, "placement", choice.members, describeMember)
      .computedIf(shown, "text", [&] { return membersText(plan.problem, choice.counts); })
      .computedIf(text.has_value(), "guarantee", [&] { return json::Value(guarantee(*text)); });
  if (f.reads() && shown)
    (feasible ? size.best : size.minErrorChoice) = std::move(choice);
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

std::optional<MemberObjective> objectiveOf(llvm::StringRef word) {
  using enum MemberObjective;
  for (MemberObjective objective : {StepTime, Energy, Memory, Price})
    if (word == name(objective))
      return objective;
  return std::nullopt;
}

/// What is chosen, for people.
void describeChoice(JsonFields &f, const EnsemblePlan &plan) {
  const MemberObjective objective = plan.problem.objective;
  const double scale = objective == MemberObjective::StepTime ? 1e-12 : 1;
  const MemberChoice *chosen = plan.chosen();
  auto finite = [](double number) { return std::isfinite(number) ? json::Value(number) : json::Value(nullptr); };
  f.computedIf(true, "command", [] { return std::string("vote"); })
      .computedIf(true, "status", [&] { return std::string(chosen ? "done" : "infeasible"); })
      .computedIf(chosen, "objective",
                  [&] {
                    return json::Value(Object{{"name", name(objective)},
                                              {"value", valueOf(*chosen, objective) * scale},
                                              {"unit", unitOf(objective)}});
                  })
      .computedIf(chosen, "bound",
                  [&] {
                    return json::Value(Object{{"value", finite(plan.result.bound * scale)},
                                              {"unit", unitOf(objective)},
                                              {"proof", "all ensembles of the sizes, placed by branch and bound"}});
                  })
      .computedIf(chosen, "gap", [&] { return plan.result.gap(objective); })
      .computedIf(true, "more_data", [&] { return plan.moreData; })
      .computedIf(true, "assumptions", [&] { return plan.assumptions; })
      .computedIf(true, "failures",
                  [&] {
                    return json::Value(list(plan.failures, [](const EnsemblePlan::FailureCase &failure) {
                      return Object{{"devices", strings(failure.devices)},
                                    {"quorum", ids({failure.quorum.begin(), failure.quorum.end()})},
                                    {"error", failure.error.print()}};
                    }));
                  })
      .computedIf(!plan.conflict.empty(), "conflict",
                  [&] { return json::Value(json::Array{Object{{"constraint", jsonString(plan.conflict)}}}); });
}

void describePlan(JsonFields &f, EnsemblePlan &plan) {
  std::string metric = name(plan.problem.objective);
  bool isChosen = f.writes() && plan.chosen();
  int64_t best = isChosen ? static_cast<int64_t>(*plan.result.best) : -1;
  describeChoice(f, plan);
  f.field("version", plan.version)
      .field("ensemble", plan.name)
      .field("training", plan.train)
      .field("confidence", plan.confidence, describeShare)
      .field("tests", plan.tests, kPositive)
      .field("device_failures", plan.problem.deviceFailures, kIndex)
      .field("metric", metric);
  describeMembers(f, plan);
  f.field("devices", plan.problem.devices, describeDevice)
      .field("error_statistics", plan.statistics, describeStatistics);
  describeIndexed(f, "sizes", plan.result.sizes, [&](JsonFields &g, size_t i) {
    describeSize(g, plan.result.sizes[i], plan, i < plan.guarantees.size() ? plan.guarantees[i] : std::nullopt);
  });
  f.field("lower_bound", plan.result.bound, describeFinite)
      .field("rejected", plan.result.rejected,
             [](JsonFields &g, RejectedMembers &one) {
               g.field("members", one.counts, kIndex).field("error", one.error, describeShare);
             })
      .field("certificates", plan.certificates,
             [](JsonFields &g, EnsembleCertificate &one) {
               g.field("members", one.counts, kIndex).field("certificate", one.certificate, describeCertificate);
             })
      .maybe("requirement", plan.problem.max, describeShare)
      .maybeIf(isChosen, "best", best, kIndex)
      .check("metric", objectiveOf(metric).has_value(), "no objective of ensembles");
  if (!f.reads())
    return;
  plan.problem.objective = objectiveOf(metric).value_or(MemberObjective::StepTime);
  if (best >= 0)
    plan.result.best = static_cast<size_t>(best);
}

} // namespace

std::string membersText(const MemberProblem &problem, const std::vector<unsigned> &counts) {
  std::string text;
  for (size_t k = 0; k < counts.size(); ++k)
    if (counts[k])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[k], problem.kinds[k].name);
  return text;
}

json::Value toJson(const EnsemblePlan &plan) { return toDocument(plan, describePlan); }

bool readEnsemble(const json::Value &value, EnsemblePlan &plan, json::Path path) {
  if (!readDocument(value, plan, path, describePlan))
    return false;
  const size_t kinds = plan.problem.kinds.size();
  for (const MembersOfSize &size : plan.result.sizes)
    plan.problem.sizes.push_back(size.size);
  plan.statistics.anyOfKind = plan.problem.deviceFailures > 0;
  auto unknown = [&](const std::vector<unsigned> &of) {
    return llvm::any_of(of, [&](unsigned kind) { return kind >= kinds; });
  };
  bool wrong = unknown(plan.statistics.table.kinds);
  for (const auto &[set, rate] : plan.statistics.jointErrors)
    wrong |= unknown(set);
  for (const EnsembleCertificate &certificate : plan.certificates)
    wrong |= certificate.counts.size() != kinds ||
             std::accumulate(certificate.counts.begin(), certificate.counts.end(), uint64_t{0}) > kMaxEnsembleMembers ||
             certificate.certificate.statistics.memberErrors.size() > kMaxEnsembleMembers;
  if (wrong)
    path.report("a member of no kind");
  return !wrong;
}

} // namespace accord
