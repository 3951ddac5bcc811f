#include "tools/accord/CompilePlacement.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/PlacementJson.h"
#include "lib/emit/PlacementReport.h"
#include "lib/emit/PlacementSummary.h"
#include "lib/emit/PlacementTrace.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/Session.h"
#include "tools/accord/SolveWatch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

bool emitAll(Session &session, const PlacementPlan &plan, const std::string &folder) {
  Diagnostics &diags = session.diagnostics();
  if (std::error_code problem = llvm::sys::fs::create_directories(folder + "/certificate")) {
    diags.error(Code::CannotWrite, {},
                fmt::format("folder '{}' cannot be made: {}", folder, problem.message()));
    return false;
  }
  auto path = [&](llvm::StringRef name) { return folder + "/" + name.str(); };
  bool ok =
      writeFile(diags, path("plan.json"), jsonText(toJson(plan)) + "\n") &&
      writeFile(diags, path(kPlacementCertificate), jsonLine(placementCertificate(plan)) + "\n");
  if (plan.result.plan) {
    PlacementReportOptions report;
    report.sequence = session.sequence();
    ok = ok && writeFile(diags, path("trace.json"), jsonLine(toTrace(plan)) + "\n") &&
         writeFile(diags, path("report.html"), toReport(plan, report));
  }
  return ok && !diags.hasErrors();
}

} // namespace

int compilePlacement(Session &session, const Options &options, const PlanningLimits &limits) {
  auto wrong = [&](const std::string &message) {
    session.diagnostics().error(Code::BadCommandLine, {}, message);
    return session.finish(kWrongInput, "compile");
  };
  auto gap = SolveWatch::gapFrom(limits.gap);
  if (!gap)
    return wrong("--gap: expected a share below 1, as in 2% or 0.02, found '" + limits.gap + "'");
  std::optional<double> seconds;
  if (limits.timeLimit != "none" && !(seconds = SolveWatch::timeFrom(limits.timeLimit)))
    return wrong("--time-limit: expected none or a time, as in '30 s', found '" + limits.timeLimit +
                 "'");
  std::optional<PlacementPlan> plan;
  {
    SolveWatch watch("placing", {true, seconds, true});
    session.search = {*gap, watch.stop(), [&](const SolveProgress &p) { watch.tell(p); }};
    plan = session.placement();
    session.search = {};
  }
  if (!plan)
    return session.finish(kWrongInput, "compile");
  Verification proof = verifyPlacement(*plan);
  for (const Issue &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {},
                                "the placement does not verify: " + finding.message);
  if (!proof.holds())
    return session.finish(kInternal, "compile");
  if (!emitAll(session, *plan, options.output))
    return session.finish(kWrongInput, "compile");
  if (options.json) {
    llvm::outs() << jsonText(toJson(*plan)) << "\n";
  } else {
    SummaryOptions summary;
    summary.sequence = session.sequence();
    if (plan->result.plan)
      summary.report = llvm::StringRef(options.output).rtrim('/').str() + "/report.html";
    llvm::outs() << placementSummary(*plan, summary, TextStyle::of(llvm::outs()));
  }
  return session.finish(plan->result.plan ? kDone : kInfeasible, "compile");
}

} // namespace accord
