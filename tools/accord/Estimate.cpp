// accord estimate: what each operation costs on a machine, without planning.
#include "lib/cost/Estimate.h"
#include "lib/analysis/Liveness.h"
#include "lib/emit/JsonText.h"
#include "tools/accord/Commands.h"
#include "tools/accord/Session.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

namespace accord {
namespace {

int estimateCommand(const Options &options) {
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "estimate");
  // The smallest micro-batch that is offered: an estimate chooses nothing.
  const TrainingJob &job = session.job();
  int64_t microbatch = 0;
  for (int64_t size : job.microbatches)
    if (job.batch % size == 0 && (!microbatch || size < microbatch))
      microbatch = size;
  if (!microbatch)
    microbatch = job.batch;
  auto work = session.workAt(microbatch, job.batch / microbatch);
  if (!work)
    return session.finish(kWrongInput, "estimate");
  auto plan = session.planFor(std::move(*work));
  if (!plan)
    return session.finish(kWrongInput, "estimate");
  EstimateTotals totals = sumEstimate(plan->graph, plan->costs);
  totals.memoryBytes = plan->memory.peak;
  plan->costs.assumptions.insert(plan->costs.assumptions.end(), job.assumptions.begin(),
                                 job.assumptions.end());
  session.account(*plan, totals);
  totals.loading = session.loadingOf(*plan, plan->costs.assumptions);
  if (session.diagnostics().hasErrors())
    return session.finish(kWrongInput, "estimate");
  if (options.json)
    llvm::outs() << jsonText(toEstimateJson(plan->graph, plan->machine, plan->costs, totals))
                 << "\n";
  else
    llvm::outs() << estimateTable(plan->graph, plan->machine, plan->costs, totals,
                                  TextStyle::of(llvm::outs()));
  return session.finish(kDone, "estimate");
}

} // namespace

void addEstimate(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("estimate", "What each operation of a training step costs on a machine");
  addProgramOptions(*command, *options);
  command->footer("Example: accord estimate gpt2.dnn --target a100_80g --json");
  command->callback([options, &status] { status = estimateCommand(*options); });
}

} // namespace accord
