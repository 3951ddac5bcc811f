#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/output/MemberStatisticsJson.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <cmath>
#include <numeric>

namespace json = llvm::json;
namespace accord {

SearchStatus statusOf(const EnsemblePlan &plan) {
  bool excluded =
      llvm::all_of(plan.result.sizes, [](const MembersOfSize &one) { return one.proven && std::isinf(one.bound); });
  return statusOf(plan.result.best.has_value(), plan.result.gap(plan.problem.objective), excluded);
}

namespace {

constexpr IntegerRange kIndex{0, 1 << 20}, kAny{0, INT64_MAX}, kPositive{.min = 1};
const Words kUnits{{"s", "J", "B", "$"}}; // by objective

void describeFinite(JsonVisitor &v, double &number) { v.numberOrNull(number); }

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

void describeCost(JsonFields &f, MemberCost &cost) {
  f.field("alternative", cost.text)
      .field("devices", cost.devices, kPositive)
      .field("step_time_ps", cost.time)
      .field("state_bytes", cost.state)
      .field("activation_bytes", cost.activations)
      .field("energy_J", cost.joules);
}

void describeMembers(JsonFields &f, EnsemblePlan &plan) {
  describeIndexed(f, "members", plan.problem.kinds, [&](JsonFields &g, size_t k) {
    MemberProblem::Kind &kind = plan.problem.kinds[k];
    if (!g.writes()) {
      plan.statistics.memberErrors.resize(plan.problem.kinds.size());
      plan.request.kinds.resize(plan.problem.kinds.size());
      plan.reasons.resize(plan.problem.kinds.size());
    }
    g.field("name", kind.name).field("call", plan.request.kinds[k].call);
    describeRate(g, plan.statistics.memberErrors[k]);
    describeIndexed(g, "on", kind.alternatives, [&](JsonFields &h, size_t d) {
      if (!h.writes())
        plan.reasons[k].resize(kind.alternatives.size());
      h.computed("device", [&] { return plan.problem.devices[d].name; })
          .about("why it does not run there")
          .maybe("reason", plan.reasons[k][d])
          .field("alternatives", kind.alternatives[d], describeCost);
    });
  });
}

void describeDevice(JsonFields &f, MemberProblem::Device &device) {
  f.field("name", device.name)
      .field("count", device.count, kPositive)
      .field("memory_bytes", device.memory)
      .field("price_per_hour", device.pricePerHour);
}

void describeGuarantee(JsonFields &f, GuaranteeText &text) {
  f.field("bound", text.bound)
      .field("formula", text.formula)
      .field("basis", text.basis)
      .field("value", text.value, describeShare)
      .field("single", text.single, describeShare)
      .field("inputs", text.inputs)
      .field("assumptions", text.assumptions)
      .field("bounds", text.bounds, [](JsonFields &g, std::pair<std::string, Rational> &one) {
        g.field("bound", one.first).field("value", one.second, describeShare);
      });
}

void describeMember(JsonFields &f, PlacedMember &member) {
  f.field("member", member.kind, kIndex)
      .field("device", member.device, kIndex)
      .field("alternative", member.alternative, kIndex)
      .field("number", member.first);
}

void describeSize(JsonFields &f, MembersOfSize &size, const EnsemblePlan &plan, std::optional<GuaranteeText> &text) {
  bool feasible = size.best.has_value(), shown = size.shown();
  MemberChoice choice = shown ? *size.shown() : MemberChoice();
  f.field("size", size.size, IntegerRange{1, kMaxEnsembleMembers})
      .about("the requirement")
      .field("feasible", feasible)
      .field("ensembles", size.ensembles)
      .field("proven", size.proven)
      .about("ps, bytes, J or $; null: no ensemble keeps the requirement")
      .field("bound", size.bound, describeFinite)
      .about("by kind of member")
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
      .maybe("guarantee", text, describeGuarantee);
  if (f.reads() && shown)
    (feasible ? size.best : size.minErrorChoice) = std::move(choice);
}

/// What people read at the top of the file, if an ensemble was chosen.
void describeObjective(JsonFields &f, EnsemblePlan &plan, bool isChosen) {
  ReportedObjective shown = f.writes() && isChosen ? plan.objective() : ReportedObjective();
  std::string_view unit = kUnits.words[llvm::to_underlying(plan.problem.objective)];
  const bool required = f.reads() && isChosen;
  f.visit("objective", required, isChosen, [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.field("name", shown.name)
          .field("value", shown.value)
          .computed("unit", [&] { return std::string(unit); }, kUnits);
    });
  });
  f.visit("bound", required, isChosen, [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.field("value", shown.bound, describeFinite)
          .computed(
              "unit", [&] { return std::string(unit); }, kUnits)
          .computed("proof", [] { return std::string("all ensembles of the sizes, placed by branch and bound"); });
    });
  });
  f.visit("gap", required, isChosen, [&](JsonVisitor &v) { v.number(shown.gap); });
  if (required)
    plan.reported = std::move(shown);
}

void describeFailure(JsonFields &f, EnsemblePlan::FailureCase &failure) {
  f.field("devices", failure.devices)
      .about("by kind of member")
      .field("quorum", failure.quorum, kIndex)
      .field("error", failure.error, describeShare);
}

void describeAnswer(JsonFields &f, DeliveredAnswer &answer) {
  f.about("by kind of device: share of answers for which no vote arrives in time")
      .field("undelivered", answer.undelivered, describeShare)
      .about("by kind of device: share of votes that are wrong on their way")
      .field("corrupted", answer.corrupted, describeShare)
      .about("by kind of member")
      .field("weights", answer.weights, IntegerRange{1, 1 << 20})
      .about("weight of votes without which there is no answer")
      .field("quorum", answer.quorum, kPositive)
      .about("share of wrong answers, at most")
      .field("wrong", answer.wrong, describeShare)
      .about("share of questions without an answer")
      .field("none", answer.none, describeShare)
      .maybe("certificate", answer.certificate);
}

void describeConflict(JsonVisitor &v, std::string &conflict) {
  v.fixedArray(1, "expected one conflict",
               [&](size_t, JsonVisitor &one) { one.object([&](JsonFields &f) { f.field("constraint", conflict); }); });
}

void describePlan(JsonFields &f, EnsemblePlan &plan) {
  using enum MemberObjective;
  const bool isChosen = f.reads() ? f.has("best") : f.writes() && plan.chosen();
  size_t best = plan.result.best.value_or(0);
  SearchStatus status = f.writes() ? statusOf(plan) : SearchStatus::Unknown;
  f.constant("command", "vote", "no answer of accord vote")
      .field("status", status)
      .check("status", isChosen == (status == SearchStatus::Optimal || status == SearchStatus::Feasible),
             "does not agree with best")
      .when("status", "optimal", {"objective", "bound", "gap", "best"})
      .when("status", "feasible", {"objective", "bound", "gap", "best"})
      .when("status", "infeasible", {})
      .when("status", "unknown", {})
      .field("version", plan.version)
      .field("ensemble", plan.name)
      .field("training", plan.train)
      .about("an exact fraction: 0.25, 1/3")
      .field("confidence", plan.confidence, describeShare)
      .about("limits of samples that hold together")
      .field("tests", plan.tests, kPositive)
      .about("devices that may fail")
      .field("device_failures", plan.problem.deviceFailures, kIndex)
      .field("metric", plan.problem.objective, [](JsonVisitor &v, MemberObjective &objective) {
        v.oneOf(objective, {StepTime, Energy, Memory, Price}, "no objective of ensembles");
      });
  describeObjective(f, plan, isChosen);
  describeMembers(f, plan);
  f.field("devices", plan.problem.devices, describeDevice).field("error_statistics", plan.statistics);
  describeIndexed(f, "sizes", plan.result.sizes, [&](JsonFields &g, size_t i) {
    if (!g.writes())
      plan.guarantees.resize(plan.result.sizes.size());
    std::optional<GuaranteeText> none;
    describeSize(g, plan.result.sizes[i], plan, i < plan.guarantees.size() ? plan.guarantees[i] : none);
  });
  f.about("bound of all sizes")
      .field("lower_bound", plan.result.bound, describeFinite)
      .field(
          "rejected", plan.result.rejected,
          [](JsonFields &g, RejectedMembers &one) {
            g.about("by kind of member").field("members", one.counts, kIndex).field("error", one.error, describeShare);
          })
      .field("certificates", plan.certificates,
             [](JsonFields &g, EnsembleCertificate &one) {
               g.about("by kind of member")
                   .field("members", one.counts, kIndex)
                   .about("what proves a guarantee")
                   .field("certificate", one.certificate);
             })
      .field("failures", plan.failures, describeFailure)
      .about("of inputs of one true class, how often the chosen vote is wrong at most")
      .field("classes", plan.classes,
             [](JsonFields &g, EnsemblePlan::ClassError &one) {
               g.field("class", one.name)
                   .field("samples", one.samples, kAny)
                   .field("wrong", one.wrong, kAny)
                   .field("error", one.limit, describeShare);
             })
      .field("more_data", plan.moreData)
      .field("assumptions", plan.assumptions)
      .maybeIf(!plan.conflict.empty(), "conflict", plan.conflict, describeConflict)
      .maybe("answer", plan.answer, describeAnswer)
      .maybe("requirement", plan.problem.max, describeShare)
      .about("index into sizes")
      .maybeIf(isChosen, "best", best, kIndex);
  if (f.reads() && isChosen)
    plan.result.best = best;
  if (f.reads())
    f.check("status", status == SearchStatus::Infeasible ? statusOf(plan) == status : true,
            "a size is left open: its searches were not complete");
}

} // namespace

json::Value toJson(const EnsemblePlan &plan) { return toDocument(plan, describePlan); }
json::Value voteSchema() { return schemaOf<EnsemblePlan>(describePlan); }

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
  if (const auto &answer = plan.answer) {
    const size_t devices = plan.problem.devices.size();
    wrong |= !plan.chosen() || answer->undelivered.size() != devices || answer->corrupted.size() != devices ||
             answer->weights.size() != kinds;
  }
  if (wrong)
    path.report("a member of no kind");
  return !wrong;
}

} // namespace accord
