// What clients see: jobs, the cluster, past and plan, sentences, metrics.
#include "lib/jobs/problem/JobWords.h"
#include "lib/service/control/SchedulerState.h"
#include "lib/service/problem/ServiceJson.h"
#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace accord::service {
namespace {

using State = JobRunRecord::State;

constexpr double kHour = 3600;

bool maySee(const Caller &by, const std::string &tenant) { return by.tenant.empty() || by.tenant == tenant; }

/// Makes a tenant that is asked for, empty for all, one that the caller may see; false: there is none.
bool narrow(std::string &tenant, const Caller &by) {
  if (tenant.empty())
    tenant = by.tenant;
  return maySee(by, tenant);
}

const char *wordOf(JobRunRecord::Outcome outcome) {
  using Outcome = JobRunRecord::Outcome;
  return outcome == Outcome::Succeeded ? "succeeded"
         : outcome == Outcome::Failed  ? "failed"
         : outcome == Outcome::Stopped ? "stopped"
         : outcome == Outcome::Lost    ? "lost"
         : outcome == Outcome::Refused ? "refused"
                                       : "runs";
}

std::string status(jobs::AllocationStatus status) {
  return status == jobs::AllocationStatus::Optimal      ? "optimal"
         : status == jobs::AllocationStatus::Feasible   ? "feasible"
         : status == jobs::AllocationStatus::Infeasible ? "infeasible"
                                                        : "unknown";
}

std::string label(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c < 32 && c >= 0 ? ' ' : c);
  return out;
}

/// Whether a malleable job runs that is not moved, because it would lose what it did.
bool isHeldFast(const OpenJob &one) {
  return one.run && one.job.submission.elasticity == jobs::Elasticity::Malleable && !one.mayMove();
}

} // namespace

JobView SchedulerViews::viewOf(const ServedJob &job) const {
  JobView view;
  view.job = job;
  view.job.submission.files.clear();
  view.job.progress.history.clear();
  view.restarts = std::max<int64_t>(0, job.runs - 1);
  const auto found = open.find(job.id);
  if (found == open.end()) {
    const double share = job.samples > 0 ? std::min(1.0, job.progress.samples / job.samples) : 0;
    view.share = job.phase == JobPhase::Complete ? 1 : share;
    return view;
  }
  const OpenJob &one = found->second;
  view.job.phase = one.job.phase, view.job.reason = one.job.reason, view.job.progress = one.job.progress;
  view.job.progress.history.clear();
  double done = one.job.progress.samples;
  if (one.run && one.run->state >= State::Running)
    done = std::max(done, one.tracker.samples(now()));
  view.share = one.job.samples > 0 ? std::clamp(done / one.job.samples, 0.0, 1.0) : 0;
  addRun(view, one);
  addTimes(view, one);
  if (!one.run || one.run->state <= State::Submitted)
    view.wait = waitOf(one);
  return view;
}

void SchedulerViews::addRun(JobView &view, const OpenJob &one) const {
  if (!one.run)
    return;
  const JobRunRecord &run = *one.run;
  const double rate = one.tracker.rate().value;
  view.deviceType = run.deviceType, view.devices = run.devices, view.plan = run.plan, view.nodes = run.nodes;
  view.deviation = one.tracker.deviationFrom(one.planned);
  view.goodput = run.state == State::Running ? rate : 0;
}

void SchedulerViews::addTimes(JobView &view, const OpenJob &one) const {
  const double time = now();
  const bool isKnown = !isLearned(one.job.submission) || !one.speeds.empty(); // else the plan guesses
  if (plan) {
    if (auto end = plan->ends.find(one.job.id); end != plan->ends.end() && isKnown) {
      const auto planned =
          std::ranges::find_if(plan->runs, [&](const PlannedRun &run) { return run.job == one.job.id && run.isLast; });
      const double early = planned != plan->runs.end() ? planned->end - planned->expectedEnd : 0;
      view.plannedEnd = epoch + end->second - early;
      view.timeLeft = std::max(0.0, view.plannedEnd - time);
    }
    if (auto run = std::ranges::find(plan->runs, one.job.id, &PlannedRun::job); run != plan->runs.end())
      view.plannedStart = epoch + run->expectedBegin;
  }
  if (one.run && one.run->state == State::Running) {
    const Interval left = one.tracker.timeLeft(time);
    // Of a job that runs to its end as it is, its own speed says it best.
    if (left.value >= 0 && one.tracker.hasReports() && !hasLaterRuns(one.job.id))
      view.timeLeft = left.value, view.timeLeftLow = left.low, view.timeLeftHigh = left.high;
  }
  if (view.timeLeft < 0 || view.timeLeftLow >= 0)
    return;
  const Interval rate = one.tracker.rate();
  constexpr double kUnknown = 1.25;
  view.timeLeftLow = view.timeLeft * (rate.high > 0 ? rate.value / rate.high : 1 / kUnknown);
  view.timeLeftHigh = view.timeLeft * (rate.low > 0 ? rate.value / rate.low : kUnknown);
}

/// Why a job does not run, one sentence.
std::string SchedulerViews::waitOf(const OpenJob &one) const {
  if (one.run && one.run->state == State::Intended)
    return one.trouble;
  if (one.run) {
    const auto task = std::ranges::find(seen.tasks, one.run->task, &EngineTask::name);
    const bool isSaid = task != seen.tasks.end() && task->state == EngineTask::State::Waiting && !task->reason.empty();
    return isSaid ? fmt::format("{} lets it wait: {}", engine->kind(), task->reason) : "";
  }
  if (plan)
    if (auto wait = plan->waits.find(one.job.id); wait != plan->waits.end())
      return wait->second;
  if (!one.cannotModel.empty())
    return "it has no configuration: " + one.cannotModel;
  if (one.job.phase == JobPhase::Modelling)
    return "its configurations are being priced";
  if (one.notBefore > now())
    return fmt::format("it failed, and runs again in {}", jobs::timeText(one.notBefore - now()));
  if (!planHealth.empty())
    return "no plan could be made: " + planHealth;
  return plan ? "it begins as soon as its devices are free" : "there is no plan yet";
}

bool SchedulerViews::hasLaterRuns(int64_t job) const {
  return plan && std::ranges::count(plan->runs, job, &PlannedRun::job) > 1;
}

Result<JobView> SchedulerViews::job(const Caller &by, int64_t id) const {
  ACCORD_TRY(found, store->job(id));
  if (!found || !maySee(by, found->submission.tenant))
    return Error{Code::NotServed, fmt::format("there is no job {}", id)};
  std::scoped_lock lock(memory);
  JobView view = viewOf(*found);
  view.history = std::move(found->progress.history);
  if (const auto one = open.find(id); one != open.end() && one->second.run && one->second.run->started > 0) {
    view.history.push_back({one->second.run->started, one->second.run->samplesAtStart});
    view.history.insert(view.history.end(), one->second.tracker.history().begin(), one->second.tracker.history().end());
  }
  return view;
}

Result<std::vector<JobView>> SchedulerViews::jobs(const Caller &by, const JobFilter &filter) const {
  JobFilter own = filter;
  if (!narrow(own.tenant, by))
    return std::vector<JobView>();
  ACCORD_TRY(found, store->jobs(own));
  std::vector<JobView> views;
  std::scoped_lock lock(memory);
  for (const ServedJob &job : found)
    views.push_back(viewOf(job));
  return std::move(views);
}

Result<std::vector<std::string>> SchedulerViews::explain(const Caller &by, int64_t id) const {
  ACCORD_TRY(view, job(by, id));
  ACCORD_TRY(runs, store->runsOf(id));
  const ServedJob &of = view.job;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("job {} '{}' of {} is {}{}", id, of.submission.name,
                              of.submission.tenant.empty() ? "nobody in particular" : of.submission.tenant,
                              nameOf(of.phase), of.reason.empty() ? "" : ": " + of.reason));
  if (of.samples > 0)
    lines.push_back(fmt::format("{:.1f} % of its {:.6g} samples are done", 100 * view.share, of.samples));
  if (!view.deviceType.empty())
    lines.push_back(fmt::format("it {} on {} {} ({}) of {}", view.wait.empty() ? "runs" : "is to run", view.devices,
                                view.deviceType, view.plan.empty() ? "no plan" : view.plan,
                                fmt::join(view.nodes, ", ")));
  if (!view.wait.empty())
    lines.push_back(view.wait);
  if (view.timeLeft >= 0)
    lines.push_back(fmt::format("it will be complete in {} ({} to {})", jobs::timeText(view.timeLeft),
                                jobs::timeText(view.timeLeftLow), jobs::timeText(view.timeLeftHigh)));
  {
    std::scoped_lock lock(memory);
    if (const auto found = open.find(id); found != open.end() && found->second.model) {
      const ModelledJob &model = *found->second.model;
      for (const jobs::TableRow &row : model.table.rows)
        if (lines.size() < 40)
          lines.push_back(fmt::format("it could run on {} {}: {:.4g} samples a second{}", row.devices,
                                      row.type < nodes.cluster.types.size() ? nodes.cluster.types[row.type] : "devices",
                                      row.rate * found->second.pace, row.plan.empty() ? "" : ", " + row.plan));
      if (!found->second.sourceTrouble.empty())
        lines.push_back("what it exports cannot be read: " + found->second.sourceTrouble);
      for (const std::string &text : model.assumptions)
        lines.push_back("assumed: " + text);
    }
    if (const auto found = open.find(id); found != open.end() && isHeldFast(found->second))
      lines.push_back(found->second.hasLostWork
                          ? "it is not moved any more: when it was told to save, it kept nothing"
                          : "it is not moved: it has not said how far it is, so that what it did may be lost");
    if (plan && !isOver(of.phase)) {
      lines.push_back(fmt::format("the plan was made because {}, in {:.2f} s", lastReason, planSeconds));
      for (const std::string &text : plan->dropped)
        lines.push_back(text);
    }
  }
  for (const JobRunRecord &run : runs)
    lines.push_back(fmt::format("run {}: {} {} on {}, {}{}", run.number, run.devices, run.deviceType,
                                fmt::join(run.nodes, ", "), wordOf(run.outcome),
                                run.reason.empty() ? "" : ": " + run.reason));
  return std::move(lines);
}

Result<std::vector<TuningRecord>> SchedulerViews::tunings(const Caller &by, const std::string &name,
                                                          size_t limit) const {
  return store->tunings(by.tenant, name, limit);
}

Result<TuningRecord> SchedulerViews::tuning(const Caller &by, int64_t id) const {
  ACCORD_TRY(found, store->tuning(id));
  if (!found || !maySee(by, found->tenant))
    return Error{Code::NotServed, fmt::format("there is no tuning {}", id)};
  return std::move(*found);
}

Result<std::vector<RunView>> SchedulerViews::runs(const Caller &by, const RunFilter &filter) const {
  RunFilter own = filter;
  if (!narrow(own.tenant, by))
    return std::vector<RunView>();
  ACCORD_TRY(past, store->runsBetween(own));
  std::vector<RunView> views;
  for (const auto &[run, name, tenant] : past)
    views.push_back({run.job, run.number, name, tenant, run.deviceType, run.configuration, run.devices, run.nodes,
                     run.started > 0 ? run.started : run.intended, run.ended, wordOf(run.outcome), run.exitCode});
  std::scoped_lock lock(memory);
  for (const PlannedRun &run : plan ? std::span<const PlannedRun>(plan->runs) : std::span<const PlannedRun>()) {
    const auto found = open.find(run.job);
    if (found == open.end() || found->second.run || views.size() >= own.limit || epoch + run.expectedBegin > own.until)
      continue;
    const Submission &of = found->second.job.submission;
    if ((own.job > 0 && run.job != own.job) || (!own.tenant.empty() && of.tenant != own.tenant))
      continue;
    RunView view{run.job, 0, of.name, of.tenant, run.deviceType, run.configuration, run.devices, {}, 0, 0, "planned"};
    view.start = std::max(now(), epoch + run.expectedBegin), view.end = epoch + run.expectedEnd;
    for (const jobs::ServerShare &share : run.servers)
      view.nodes.push_back(nodes.names[share.server]);
    views.push_back(std::move(view));
  }
  return std::move(views);
}

ClusterView SchedulerViews::cluster(const Caller &by) const {
  ClusterView view;
  auto counts = store->counts();
  std::scoped_lock lock(memory);
  view.name = options.cluster, view.engine = engine->kind(), view.time = now();
  view.isHealthy = seen.isHealthy && storeHealth.empty();
  view.health = !seen.isHealthy ? seen.health : storeHealth;
  addNodes(view);
  addTenants(view, by);
  if (!by.tenant.empty()) // whose jobs others have is not said
    for (NodeView &node : view.nodes)
      std::erase_if(node.jobs, [&](int64_t id) { return open.at(id).job.submission.tenant != by.tenant; });
  if (counts)
    for (const auto &[phase, count] : *counts)
      view.phases[std::string(nameOf(phase))] = count;
  view.planned = planned, view.planSeconds = planSeconds;
  if (plan && plan->answer) {
    const jobs::JobAnswer &answer = *plan->answer;
    view.planStatus = status(answer.schedule.status);
    if (!answer.problem.objectives.empty() && !answer.schedule.values.empty()) {
      view.objective = jobs::wordsOf(answer.problem.objectives.front());
      if (!answer.schedule.proofs.empty())
        view.planGap = jobs::gapOf(answer.schedule.values.front(), answer.schedule.proofs.front().bound);
    }
  }
  return view;
}

/// Device types and nodes, with what is in use of them.
void SchedulerViews::addNodes(ClusterView &view) const {
  for (size_t type = 0; type < nodes.cluster.types.size(); ++type) {
    TypeView one;
    one.name = nodes.cluster.types[type];
    one.price = plan && type < plan->prices.size() ? plan->prices[type] : 0;
    view.types.push_back(std::move(one));
  }
  std::map<std::string, NodeView> byName;
  for (unsigned server = 0; server < nodes.names.size(); ++server) {
    const unsigned type = nodes.cluster.servers[server].type;
    NodeView node;
    node.name = nodes.names[server], node.deviceType = nodes.cluster.types[type];
    node.devices = nodes.cluster.servers[server].devices;
    const auto said = std::ranges::find(seen.nodes, node.name, &EngineNode::name);
    const bool isDown = said != seen.nodes.end() && said->state == EngineNode::State::Down;
    const bool isAway = std::ranges::count(nodes.away, server) > 0;
    node.state = isDown ? "down" : isAway ? "drained" : "up";
    if (const auto drain = drained.find(node.name); drain != drained.end())
      node.reason = drain->second.reason;
    else if (said != seen.nodes.end())
      node.reason = said->reason;
    view.types[type].devices += node.devices, view.types[type].up += isAway ? 0 : node.devices;
    byName[node.name] = std::move(node);
  }
  for (const auto &[id, one] : open)
    if (one.run)
      for (const std::string &name : one.run->nodes)
        if (auto node = byName.find(name); node != byName.end()) {
          node->second.used += one.run->devicesPerNode;
          node->second.jobs.push_back(id);
          for (TypeView &type : view.types)
            type.used += type.name == node->second.deviceType ? one.run->devicesPerNode : 0;
        }
  for (const std::string &name : nodes.names)
    view.nodes.push_back(std::move(byName[name]));
}

void SchedulerViews::addTenants(ClusterView &view, const Caller &by) const {
  std::map<std::string, TenantView> tenants;
  for (const jobs::JobsRequest::Tenant &tenant : options.operation.tenants)
    tenants[tenant.name] = {.name = tenant.name, .weight = tenant.weight, .quota = tenant.quota};
  for (const auto &[id, one] : open) {
    TenantView &of = tenants[one.job.submission.tenant];
    of.name = one.job.submission.tenant;
    ++(one.run ? of.running : of.queued);
    of.devices += one.run ? one.run->devices : 0;
  }
  for (auto &[name, tenant] : tenants) {
    if (const auto used = deviceSeconds.find(name); used != deviceSeconds.end())
      tenant.deviceHours = used->second / kHour;
    if (maySee(by, name))
      view.tenants.push_back(tenant);
  }
}

Result<std::vector<ServiceEvent>> SchedulerViews::events(const Caller &by, int64_t after, size_t limit,
                                                         std::chrono::milliseconds wait) const {
  const auto until = std::chrono::steady_clock::now() + wait;
  for (;;) {
    int64_t last = 0;
    {
      std::unique_lock lock(memory);
      changed.wait_until(lock, until, [&] { return lastEvent > after; });
      last = lastEvent;
    }
    ACCORD_TRY(found, store->events(after, by.tenant, limit));
    if (!found.empty() || std::chrono::steady_clock::now() >= until)
      return std::move(found);
    after = std::max(after, last); // those were of others
  }
}

std::string SchedulerViews::metrics() const {
  const ClusterView view = cluster({"", "", Role::Operator});
  std::string text;
  auto family = [&](const char *name, const char *type, const char *help) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  };
  family("accord_jobs", "gauge", "Jobs by phase.");
  for (const auto &[phase, count] : view.phases)
    text += fmt::format("accord_jobs{{phase=\"{}\"}} {}\n", phase, count);
  family("accord_devices", "gauge", "Devices by type and state.");
  for (const TypeView &type : view.types)
    text += fmt::format(
        "accord_devices{{type=\"{0}\",state=\"up\"}} {1}\naccord_devices{{type=\"{0}\",state=\"used\"}} {2}\n",
        label(type.name), type.up, type.used);
  family("accord_engine_up", "gauge", "Whether the engine answers.");
  text += fmt::format("accord_engine_up {}\n", view.isHealthy ? 1 : 0);
  family("accord_plan_seconds", "gauge", "Seconds that the last plan took.");
  text += fmt::format("accord_plan_seconds {:.6f}\n", view.planSeconds);
  family("accord_plan_gap_ratio", "gauge", "How far from optimal the first objective of the plan may be.");
  text += fmt::format("accord_plan_gap_ratio {:.6f}\n", view.planGap);
  std::vector<JobView> running;
  {
    std::scoped_lock lock(memory);
    for (const auto &[id, one] : open)
      if (one.run)
        running.push_back(viewOf(one.job));
  }
  auto each = [&](const char *name, const char *help, auto value) {
    family(name, "gauge", help);
    for (const JobView &one : running)
      text += fmt::format("{}{{job=\"{}\",name=\"{}\",tenant=\"{}\"}} {:.6g}\n", name, one.job.id,
                          label(one.job.submission.name), label(one.job.submission.tenant), value(one));
  };
  each("accord_job_progress_ratio", "Share of its work that a job has done.",
       [](const JobView &one) { return one.share; });
  each("accord_job_goodput_samples_per_second", "Samples a second.", [](const JobView &one) { return one.goodput; });
  each("accord_job_batch_size", "Samples of a step, as reported.",
       [](const JobView &one) { return one.job.progress.batch; });
  each("accord_job_noise_scale", "Gradient noise in samples, as reported.",
       [](const JobView &one) { return one.job.progress.noise; });
  each("accord_job_restarts_total", "Runs of a job beyond the first.",
       [](const JobView &one) { return static_cast<double>(one.restarts); });
  each("accord_job_eta_seconds", "Seconds until a job is complete.", [](const JobView &one) { return one.timeLeft; });
  each("accord_job_plan_deviation_ratio", "Speed of a job against its plan, less 1.",
       [](const JobView &one) { return one.deviation; });
  return text;
}

} // namespace accord::service
