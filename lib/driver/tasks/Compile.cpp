#include "lib/driver/tasks/Compile.h"
#include "lib/compilation/Planning.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/PlacementFile.h"
#include "lib/driver/PowerCap.h"
#include "lib/driver/Session.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/tasks/Latency.h"
#include "lib/latency/build/PlacementLatencyModel.h"
#include "lib/latency/forms/Print.h"
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementMlir.h"
#include "lib/placement/output/PlacementSummary.h"
#include "lib/planning/output/Certificate.h"
#include "lib/planning/output/PlanFolder.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Report.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/verify/Verify.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "passes/Pipelines.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

bool emitAll(Session &session, const Plan &plan, const Options &options) {
  Diagnostics &diags = session.diagnostics();
  auto model = latencyModel(session, plan, /*needed=*/false);
  AnswerFolder answer(diags, options.output);
  answer.write(filesOf(plan, model ? printJavaScript(*model) : ""));
  if (!answer)
    return false;
  std::vector<std::string> unproved;
  ProofSearchOptions proof;
  proof.stop = session.search.stop;
  if (auto issue = writeCertificate(answer.path(), plan, proof, unproved)) {
    diags.error(Code::CannotWrite, {}, issue->message);
    return false;
  }
  for (const std::string &sentence : unproved)
    standardError() << fmt::format("accord: {}\n", sentence);
  answer.write("plan.mlir", session.planMlir());
  if (auto cores = toCoresPage(plan))
    answer.write("microarchitecture.html", *cores);
  if (model)
    answer.write(filesOf(*model));
  return !diags.hasErrors() && answer.commit();
}

/// What a device of the session's best plan draws; negative without one.
double plannedWatts(Session &session) {
  if (session.cluster()) {
    auto placed = session.placement();
    return placed ? deviceWatts(*placed) : -1;
  }
  auto plan = session.plan();
  return plan ? deviceWatts(*plan) : -1;
}

/// `--until`: the module after a phase, which `accord-opt` continues from.
int printModule(Session &session, const std::string &until) {
  std::optional<PipelinePhase> phase = phaseNamed(until);
  if (!phase) {
    session.diagnostics().error(Code::BadCommandLine, {},
                                fmt::format("--until: there is no phase '{}'; there are train, simplify, shard, cost, "
                                            "place, schedule and emit",
                                            until));
    return session.finish(kWrongInput, "compile");
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = session.requestModule();
  Planning planning;
  if (!module || !session.runPhases(*module, PipelinePhase::Train, *phase, planning))
    return session.finish(kWrongInput, "compile");
  module->print(standardOutput(), mlir::OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  standardOutput() << "\n";
  return session.finish(kDone, "compile");
}

/// A0707 says why there is none, unless the answer was asked for before it could be made.
std::optional<LatencyModel> placementModel(Session &session, const PlacementPlan &plan, SolverMonitor &monitor) {
  auto made = placementLatencyModel(plan, {.stop = monitor.stop()});
  if (made)
    return std::move(*made);
  if (!*monitor.stop())
    session.diagnostics().warning(Code::NoLatencyModel, {}, "no latency model for this plan: " + made.error().message);
  return std::nullopt;
}

} // namespace

int answerPlacement(Session &session, const Options &options, SolverMonitor &monitor, llvm::StringRef command,
                    llvm::function_ref<void(PlacementPlan &)> complete) {
  std::optional<PlacementPlan> plan;
  searchUnder(monitor, session, [&] { plan = session.placement(); });
  if (!plan && *monitor.stop() && !session.diagnostics().hasErrors())
    return finishUnanswered(command, monitor.reason(), options.json);
  if (!plan)
    return session.finish(kWrongInput, command);
  complete(*plan);
  warnAboveCap(session, deviceWatts(*plan));
  // Plan and worth whole, of the bound what is proved at once; all of it is for `accord verify`.
  PlacementProof brief;
  if (statusOf(*plan) != SearchStatus::Infeasible) // which is the proof
    brief.effort /= 20, brief.stop = monitor.stop();
  Verification proof = verifyPlacement(*plan, brief);
  for (const Error &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {}, "the placement does not verify: " + finding.message);
  if (!proof.holds())
    return session.finish(kInternal, command);
  std::optional<LatencyModel> model;
  if (plan->result.plan && !*monitor.stop())
    model = placementModel(session, *plan, monitor);
  AnswerFolder answer(session.diagnostics(), options.output);
  answer.write(filesOf(*plan, model ? printJavaScript(*model) : "")).write("plan.mlir", planMlir(*plan) + "\n");
  if (model)
    answer.write(filesOf(*model));
  if (session.diagnostics().hasErrors() || !answer.commit())
    return session.finish(kWrongInput, command);
  if (options.json) {
    standardOutput() << jsonText(toJson(*plan)) << "\n";
  } else {
    SummaryOptions summary;
    summary.sequence = session.sequence();
    if (plan->result.plan)
      summary.report = llvm::StringRef(options.output).rtrim('/').str() + "/report.html";
    standardOutput() << placementSummary(*plan, summary, TextStyle::of(standardOutput()));
  }
  return session.finish(exitOf(statusOf(*plan)), command);
}

int compile(Options options, const PlanSearchLimits &limits) {
  options.elaborate.clusters = options.elaborate.placement = true;
  auto monitor = SolverMonitor::ofCommand("compile", "planning", limits, options.json);
  if (!monitor)
    return kWrongInput;
  options.powerClock = clockUnderCap(options, plannedWatts);
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "compile");
  if (!options.until.empty())
    return printModule(session, options.until);
  if (session.cluster())
    return answerPlacement(session, options, *monitor, "compile", [](PlacementPlan &) {});
  auto plan = planUnder(*monitor, session);
  if (!plan)
    return session.finish(kWrongInput, "compile");
  Verification proof = verify(*plan);
  if (!proof.holds()) {
    for (const Error &finding : proof.findings)
      session.diagnostics().error(Code::InternalError, {}, "the plan does not verify: " + finding.message);
    return session.finish(kInternal, "compile");
  }
  warnAboveCap(session, deviceWatts(*plan));
  plan->whatIf = whatIfTable(*plan, session.request());
  plan->sequence = session.sequence().value_or(0);
  plan->architecture = session.architecture();
  if (!emitAll(session, *plan, options))
    return session.finish(kWrongInput, "compile");
  if (options.json) {
    standardOutput() << jsonText(toJson(*plan)) << "\n";
  } else {
    SummaryOptions summary;
    summary.sequence = session.sequence();
    summary.report = llvm::StringRef(options.output).rtrim('/').str() + "/report.html";
    standardOutput() << compileSummary(*plan, summary, TextStyle::of(standardOutput()));
  }
  return session.finish(exitOf(statusOf(*plan)), "compile");
}

} // namespace accord
