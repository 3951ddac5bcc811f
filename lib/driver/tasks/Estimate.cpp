#include "lib/driver/tasks/Estimate.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/PowerCap.h"
#include "lib/driver/Session.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

std::optional<Plan> estimatedPlan(Session &session) {
  const TrainingJob &job = session.job();
  int64_t microbatch = session.smallestMicrobatch();
  int64_t batch = session.batchOfDevice();
  if (!microbatch) {
    session.diagnostics().error(Code::BatchNotDivisible, job.microbatchAt,
                                fmt::format("no micro-batch size in the search space divides the {} samples "
                                            "of a device",
                                            batch));
    return std::nullopt;
  }
  auto work = session.graphs().workAt(microbatch, batch / microbatch);
  return work ? session.planFor(std::move(*work)) : std::nullopt;
}

int estimateStep(Options options, const std::string &html) {
  options.elaborate.clusters = true;
  options.powerClock = clockUnderCap(options, [](Session &session) {
    auto plan = estimatedPlan(session);
    return plan ? deviceWatts(*plan) : -1;
  });
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "estimate");
  auto plan = estimatedPlan(session);
  if (!plan)
    return session.finish(kWrongInput, "estimate");
  const TrainingJob &job = session.job();
  EstimateTotals totals = sumEstimate(plan->graph, plan->costs);
  totals.memoryBytes = plan->memory.peak;
  llvm::append_range(plan->costs.assumptions, job.assumptions);
  session.account(*plan, totals);
  totals.dataLoading = session.dataLoaderOf(*plan, plan->costs.assumptions);
  if (session.diagnostics().hasErrors())
    return session.finish(kWrongInput, "estimate");
  std::optional<ClusterShare> share;
  if (const auto &cluster = session.cluster()) {
    const Degrees &degrees = job.degrees;
    llvm::append_range(plan->costs.assumptions, cluster->assumptions);
    share = {cluster->name, cluster->fabric.devices(),         degrees.tensor, degrees.sequence ? degrees.tensor : 1,
             degrees.data,  degrees.expert ? degrees.data : 1, degrees.context};
  }
  const llvm::json::Value document = toEstimateJson(plan->graph, plan->machine, plan->costs, totals, share);
  if (!html.empty() && !writePage(html, estimateReport(document), options.json, "estimate"))
    return kWrongInput;
  if (options.json)
    standardOutput() << jsonText(document) << "\n";
  else {
    if (share)
      plan->machine.name +=
          fmt::format(", one of {} devices ({} tensor{} x {} data) of {}", share->tensor * share->context * share->data,
                      share->tensor, share->context > 1 ? fmt::format(" x {} context", share->context) : "",
                      share->data, share->name);
    standardOutput() << estimateTable(plan->graph, plan->machine, plan->costs, totals, TextStyle::of(standardOutput()));
  }
  return session.finish(kDone, "estimate");
}

} // namespace accord
