#include "lib/driver/tasks/ScheduleJobs.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/jobs/JobsPlanner.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/output/TenantQueues.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/verify/PlacementCheck.h"
#include "lib/launch/JobScripts.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/raw_ostream.h"

namespace accord {

static const DocumentEntry
    kDocument("job_schedule", "accord jobs FILE --json",
              "When each job of a `jobs` block runs, on which servers, in which configuration: objectives with their "
              "bounds, use of resources, why jobs wait, conflict and repairs.",
              jobs::jobScheduleSchema);

static int exitOfStatus(jobs::AllocationStatus status) {
  switch (status) {
  case jobs::AllocationStatus::Infeasible:
    return kInfeasible;
  case jobs::AllocationStatus::Unknown:
    return kUnknown;
  case jobs::AllocationStatus::Optimal:
  case jobs::AllocationStatus::Feasible:
    break;
  }
  return kDone;
}

/// What enforces the quotas of tenants on the cluster's own engine; none without tenants.
static Result<AnswerFiles> queuesOf(const JobsPlan &plan) {
  AnswerFiles files;
  if (plan.request.tenants.empty())
    return files;
  ACCORD_TRY(kueue, jobs::kueueText(plan.request, plan.cluster));
  ACCORD_TRY(slurm, jobs::slurmAccountsText(plan.request, plan.cluster));
  files.push_back({"queues/kueue.yaml", std::move(kueue)});
  files.push_back({"queues/slurm_accounts.sh", std::move(slurm)});
  return files;
}

int scheduleJobs(const Options &options, const PlanSearchLimits &limits) {
  auto monitor = SolverMonitor::ofCommand("jobs", "scheduling", limits, options.json, /*picoseconds=*/false);
  if (!monitor)
    return kWrongInput;
  JobsPlanner planner(options);
  if (!planner.prepare() || !planner.build())
    return planner.finish(kWrongInput);
  SearchControl control{monitor->gap(), monitor->stop(),
                        [&](const SolveProgress &progress) { monitor->reportProgress(progress); }};
  planner.solve(control);
  if (planner.plan().schedule.status == jobs::AllocationStatus::Unknown && *monitor->stop())
    endUnanswered("jobs", monitor->reason(), options.json);
  monitor->found();
  const jobs::JobAnswer answer = planner.answer();
  Diagnostics &diags = planner.diagnostics();
  if (auto proved = jobs::verifyJobSchedule(answer.problem, answer.schedule); !proved)
    diags.error(Code::InternalError, {}, "the schedule does not verify: " + proved.error().message);
  if (auto placed = jobs::checkPlacements(answer, /*partial=*/true); !placed)
    diags.error(Code::InternalError, {}, "the servers of jobs do not verify: " + placed.error().message);
  if (diags.hasErrors())
    return planner.finish(kInternal);
  auto queues = queuesOf(planner.plan());
  if (!queues) {
    planner.report(queues.error());
    return planner.finish(kWrongInput);
  }
  AnswerFolder folder(diags, options.output);
  if (!folder.write(jobs::filesOf(answer)).write(launchFiles(answer)).write(*queues).commit())
    return planner.finish(kWrongInput);
  if (options.json)
    llvm::outs() << jsonText(jobs::jobScheduleJson(answer)) << "\n";
  else
    llvm::outs() << jobs::jobScheduleText(answer, llvm::StringRef(options.output).rtrim('/').str(),
                                          TextStyle::of(llvm::outs()));
  return planner.finish(exitOfStatus(answer.schedule.status));
}

} // namespace accord
