#include "lib/driver/tasks/ScheduleJobs.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/jobs/JobsPlanner.h"
#include "lib/driver/jobs/RunningPlanFiles.h"
#include "lib/driver/simulation/JobEvents.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/jobs/output/TenantQueues.h"
#include "lib/jobs/schedule/RunningState.h"
#include "lib/launch/JobScripts.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

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

/// The events of a file, each of which has changed `state`.
static Result<std::vector<jobs::JobEvent>> applyEvents(const std::string &file, JobsPlanner &planner,
                                                       jobs::RunningState &state) {
  auto text = llvm::MemoryBuffer::getFile(file);
  if (!text)
    return Error{Code::CannotRead, fmt::format("cannot read '{}': {}", file, text.getError().message())};
  planner.diagnostics().sources().add(file, (*text)->getBuffer().str());
  ACCORD_TRY(events, readJobEventsFile((*text)->getBuffer(), file));
  for (size_t i = 0; i < events.size(); ++i)
    if (auto applied = jobs::applyEvent(state, events[i], planner.plan().cluster); !applied)
      return placedAtEvent(applied.error(), (*text)->getBuffer(), file, i);
  return events;
}

/// Reads the plan that runs, and what happened. False after errors.
static bool readRunning(const GoOnOptions &options, JobsPlanner &planner) {
  auto fail = [&](const Error &error) {
    planner.diagnostics().error(error.code, {}, error.message).suggest(error.suggestion);
    return false;
  };
  auto plan = provedJobs(llvm::StringRef(options.after).rtrim('/').str());
  if (!plan) {
    for (const Error &error : plan.error())
      planner.report(error);
    return false;
  }
  const std::string certificate = llvm::StringRef(options.after).rtrim('/').str() + "/" + jobs::kJobsCertificate;
  if (auto text = llvm::MemoryBuffer::getFile(certificate))
    planner.diagnostics().sources().add(certificate, (*text)->getBuffer().str());
  const auto at = readSeconds(options.at);
  if (!at || *at != std::floor(*at))
    return fail({Code::BadCommandLine,
                 fmt::format("--at: expected a time of whole seconds, as in 3h or 90 min, found '{}'", options.at)});
  RunningPlan running;
  running.plan = std::move(*plan);
  auto state = jobs::stateAt(running.plan, static_cast<int64_t>(*at));
  if (!state)
    return fail(state.error());
  running.planned = running.state = std::move(*state);
  if (!options.events.empty()) {
    auto events = applyEvents(options.events, planner, running.state);
    if (!events)
      return fail(events.error());
    running.events = std::move(*events);
  }
  planner.goOn(std::move(running));
  return true;
}

int scheduleJobs(const Options &options, const PlanSearchLimits &limits, const GoOnOptions &goOn) {
  auto monitor = SolverMonitor::ofCommand("jobs", "scheduling", limits, options.json, /*picoseconds=*/false);
  if (!monitor)
    return kWrongInput;
  JobsPlanner planner(options);
  if (!planner.prepare() || (!goOn.after.empty() && !readRunning(goOn, planner)) || !planner.build())
    return planner.finish(kWrongInput);
  SearchControl control{monitor->gap(), monitor->stop(),
                        [&](const SolveProgress &progress) { monitor->reportProgress(progress); }};
  planner.solve(control);
  if (planner.plan().schedule.status == jobs::AllocationStatus::Unknown && *monitor->stop())
    return finishUnanswered("jobs", monitor->reason(), options.json);
  monitor->found();
  const jobs::JobAnswer answer = planner.answer();
  Diagnostics &diags = planner.diagnostics();
  for (const Error &finding : findingsOf(answer))
    diags.error(Code::InternalError, {}, "the answer does not verify: " + finding.message);
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
    standardOutput() << jsonText(jobs::jobScheduleJson(answer)) << "\n";
  else
    standardOutput() << jobs::jobScheduleText(answer, llvm::StringRef(options.output).rtrim('/').str(),
                                              TextStyle::of(standardOutput()));
  return planner.finish(exitOfStatus(answer.schedule.status));
}

} // namespace accord
