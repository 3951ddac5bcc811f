#include "tools/accord/CompilePlacement.h"
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementSummary.h"
#include "lib/support/documents/JsonText.h"
#include "tools/accord/PlacementFile.h"
#include "tools/accord/Session.h"
#include "tools/accord/SolverMonitor.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

int compilePlacement(Session &session, const Options &options, const PlanSearchLimits &limits) {
  auto parsedLimits = SolverMonitor::parsedLimits(limits.gap, limits.timeLimit);
  if (auto *message = std::get_if<std::string>(&parsedLimits)) {
    session.diagnostics().error(Code::BadCommandLine, {}, *message);
    return session.finish(kWrongInput, "compile");
  }
  auto [gap, seconds] = std::get<SolverMonitor::ParsedLimits>(parsedLimits);
  std::optional<PlacementPlan> plan;
  {
    SolverMonitor watch("placing", {true, seconds, true});
    session.search = {gap, watch.stop(), [&](const SolveProgress &p) { watch.reportProgress(p); }};
    plan = session.placement();
    session.search = {};
  }
  if (!plan)
    return session.finish(kWrongInput, "compile");
  // Plan and worth whole, of the bound what is proved at once; all of it is for `accord verify`.
  PlacementProof brief;
  brief.effort /= 20;
  Verification proof = verifyPlacement(*plan, brief);
  for (const Error &finding : proof.findings)
    session.diagnostics().error(Code::InternalError, {}, "the placement does not verify: " + finding.message);
  if (!proof.holds())
    return session.finish(kInternal, "compile");
  PlacementReportOptions report;
  report.sequence = session.sequence();
  if (auto error = writePlacement(options.output, *plan, report)) {
    session.report(*error);
    return session.finish(kWrongInput, "compile");
  }
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
