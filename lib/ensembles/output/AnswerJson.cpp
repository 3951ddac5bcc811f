#include "lib/ensembles/output/Answer.h"
#include "lib/ensembles/output/MemberStatisticsJson.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/support/documents/FractionText.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <cmath>

namespace json = llvm::json;
namespace accord {

SearchStatus statusOf(const AnswerPlan &plan) {
  const AnswerResult &result = plan.result;
  if (!result.best)
    return statusOf(false, 0, result.isComplete);
  const double value = valueOf(*result.best, plan.problem.objective);
  return statusOf(true, value > 0 ? std::max(0.0, 1 - result.bound / value) : 0, false);
}

namespace {

constexpr IntegerRange kIndex{0, 1 << 20}, kTime{0, int64_t(1) << 60}, kPositive{.min = 1};
const Words kUnits{{"J", "ps", ""}}; // by objective

void describeLatency(JsonFields &f, TimeQuantile &one) {
  f.field("share", one.share, describeShare).field("time_ps", one.time, kTime);
}

void describeRun(JsonFields &f, MemberRun &run) {
  f.field("possible", run.isPossible)
      .about("quantiles; none: it takes no time")
      .field("latency", run.latency, describeLatency)
      .about("for one input")
      .field("energy_J", run.joules)
      .field("memory_bytes", run.memory)
      .about("share of votes that bit errors make wrong")
      .field("corrupted", run.corrupted, describeShare);
}

void describeAnsweringDevice(JsonFields &f, AnsweringDevice &on) {
  f.field("device", on.device, kIndex)
      .field("number", on.number)
      .field("level", on.level, kIndex)
      .about("kinds of its members")
      .field("members", on.kinds, kIndex);
}

void describeClaim(JsonFields &f, AnswerClaim &claim) {
  f.about("of the devices that answer, those that failed")
      .field("failed", claim.failed, kIndex)
      .about("votes that are there by then count")
      .field("time_ps", claim.time, kTime)
      .field("certificate", claim.certificate);
}

void describeProblem(JsonFields &f, AnswerProblem &problem) {
  using enum AnswerObjective;
  f.field("metric", problem.objective, [](JsonVisitor &v, AnswerObjective &objective) {
    v.oneOf(objective, {Energy, Latency, Error}, "no objective of answers");
  });
  f.field("members", problem.kinds,
          [](JsonFields &g, AnswerProblem::Kind &kind) {
            g.field("name", kind.name).about("of its vote").field("weight", kind.weight, IntegerRange{1, 1 << 20});
          })
      .field("devices", problem.devices,
             [](JsonFields &g, AnswerProblem::Device &device) {
               g.field("name", device.name)
                   .field("count", device.count, kPositive)
                   .about("of one; 0: enough")
                   .field("memory_bytes", device.memory)
                   .about("share of questions that a device does not answer at all")
                   .field("undelivered", device.lost, describeShare)
                   .about("share of votes that are wrong on their way")
                   .field("corrupted", device.corrupted, describeShare)
                   .about("how long its votes are on their way: quantiles")
                   .field("network", device.network, describeLatency)
                   .about("at which it may run, such as voltages")
                   .field("levels", device.levels);
             })
      .about("what a member takes, by kind of member, kind of device and level")
      .field("runs", problem.runs, describeRun)
      .field("size_min", problem.minSize, kPositive)
      .field("size_max", problem.maxSize, kPositive)
      .field("members_per_device", problem.membersPerDevice, kPositive)
      .about("from a question on; 0: no vote takes any time")
      .field("timeout_ps", problem.timeout, kTime)
      .about("devices that may fail")
      .field("device_failures", problem.deviceFailures)
      .about("what is required of it; where it is missing, any may be chosen")
      .maybe("quorum_required", problem.quorum, kPositive)
      .about("share of wrong answers, at most")
      .maybe("answer_error_required", problem.maxWrong, describeShare)
      .about("share of questions without an answer, at most")
      .maybe("no_answer_required", problem.maxNone, describeShare)
      .about("so many questions are answered, or known to have no answer, within a time")
      .field("latency_required", problem.limits, [](JsonFields &g, LatencyLimit &limit) {
        g.field("share", limit.share, describeShare).field("time_ps", limit.time, kTime);
      });
}

void describeChoice(JsonFields &f, AnswerChoice &choice) {
  f.field("placement", choice.devices, describeAnsweringDevice)
      .about("weight of votes without which there is no answer")
      .field("quorum", choice.quorum, kPositive)
      .about("of all members, for one input")
      .field("energy_J", choice.joules)
      .about("share of wrong answers, at most")
      .field("wrong", choice.wrong, describeShare)
      .about("share of questions without an answer, at most")
      .field("none", choice.none, describeShare)
      .about("after the worst failure of devices that is asked for")
      .field("wrong_after_failures", choice.wrongAfter, describeShare)
      .field("none_after_failures", choice.noneAfter, describeShare)
      .about("by lognormal latencies: no bound")
      .field("wrong_estimate", choice.wrongEstimate)
      .field("none_estimate", choice.noneEstimate)
      .about("until so many questions are answered, or known to have no answer: at most, for `quorum_ps` until the "
             "quorum is there")
      .field("times", choice.times, [](JsonFields &g, AnswerTime &time) {
        g.field("share", time.share, describeShare)
            .field("decided_ps", time.decided, kTime)
            .field("quorum_ps", time.quorum, kTime)
            .about("by lognormal latencies: no bound")
            .field("quorum_estimate_s", time.quorumEstimate);
      });
}

void describeConflict(JsonVisitor &v, std::string &conflict) {
  v.fixedArray(1, "expected one conflict",
               [&](size_t, JsonVisitor &one) { one.object([&](JsonFields &f) { f.field("constraint", conflict); }); });
}

void describeAnswerPlan(JsonFields &f, AnswerPlan &plan) {
  const bool isChosen = f.reads() ? f.has("best") : f.writes() && plan.result.best;
  SearchStatus status = f.writes() ? statusOf(plan) : SearchStatus::Unknown;
  AnswerResult &result = plan.result;
  f.constant("command", "vote", "no answer of accord vote")
      .field("status", status)
      .check("status", isChosen == (status == SearchStatus::Optimal || status == SearchStatus::Feasible),
             "does not agree with best")
      .when("status", "optimal", {"best"})
      .when("status", "feasible", {"best"})
      .when("status", "infeasible", {})
      .when("status", "unknown", {})
      .field("version", plan.version)
      .field("ensemble", plan.name)
      .field("training", plan.train)
      .about("an exact fraction: 0.25, 1/3")
      .field("confidence", plan.confidence, describeShare)
      .about("limits of samples that hold together")
      .field("tests", plan.tests, kPositive);
  describeProblem(f, plan.problem);
  f.about("of each kind of member alone")
      .field("member_errors", plan.statistics.memberErrors, describeRate)
      .field("error_statistics", plan.statistics)
      .about("no placement that keeps what is required is below: J, ps or a share; null: there is none")
      .field("bound", result.bound, [](JsonVisitor &v, double &bound) { v.numberOrNull(bound); })
      .about("of all sizes, equal devices taken for one")
      .field("placements", result.placements)
      .about("bounds on answers that were computed")
      .field("evaluated", result.evaluated)
      .about("nothing is left that could be better")
      .field("complete", result.isComplete)
      .maybe("best", result.best, describeChoice)
      .about("what proves that answers are as is said")
      .field("certificates", result.claims, describeClaim)
      .about("placements with a smaller objective whose answers are not as required")
      .field("rejections", result.numRejected)
      .about("the first of them")
      .field(
          "rejected", result.rejected,
          [](JsonFields &g, RejectedAnswer &one) {
            g.field("placement", one.devices, describeAnsweringDevice).field("certificate", one.claim, describeClaim);
          })
      .about("devices that do nothing, and why")
      .field("idle", result.idle,
             [](JsonFields &g, IdleDevice &one) {
               g.field("device", one.device, kIndex).field("count", one.count, kPositive).field("reason", one.reason);
             })
      .field("assumptions", plan.assumptions)
      .maybeIf(!plan.conflict.empty(), "conflict", plan.conflict, describeConflict);
  if (f.reads())
    f.check("status", status == statusOf(plan), "is not that of what was found");
}

} // namespace

json::Value toJson(const AnswerPlan &plan) { return toDocument(plan, describeAnswerPlan); }
json::Value answerSchema() { return schemaOf<AnswerPlan>(describeAnswerPlan); }

bool readAnswerPlan(const json::Value &value, AnswerPlan &plan, json::Path path) {
  if (!readDocument(value, plan, path, describeAnswerPlan))
    return false;
  const size_t kinds = plan.problem.kinds.size(), devices = plan.problem.devices.size();
  auto isKnown = [&](const std::vector<unsigned> &of) {
    return llvm::all_of(of, [&](unsigned kind) { return kind < kinds; });
  };
  auto arePlaced = [&](const std::vector<AnsweringDevice> &placement) {
    return llvm::all_of(placement, [&](const AnsweringDevice &on) {
      return on.device < devices && on.level < plan.problem.devices[on.device].levels.size() && isKnown(on.kinds) &&
             !on.kinds.empty();
    });
  };
  bool good = plan.statistics.memberErrors.size() == kinds && isKnown(plan.statistics.table.kinds) &&
              llvm::all_of(plan.statistics.jointErrors, [&](const auto &entry) { return isKnown(entry.first); });
  if (plan.result.best)
    good = good && arePlaced(plan.result.best->devices);
  for (const RejectedAnswer &one : plan.result.rejected)
    good = good && arePlaced(one.devices);
  for (const IdleDevice &one : plan.result.idle)
    good = good && one.device < devices;
  for (const auto &byDevice : plan.problem.runs)
    good = good && byDevice.size() == devices;
  good = good && plan.problem.runs.size() == kinds;
  if (!good)
    path.report("a member or a device of no kind");
  return good;
}

AnswerFiles filesOf(const AnswerPlan &plan) { return {{kAnswerFile, jsonText(toJson(plan)) + "\n"}}; }

} // namespace accord
