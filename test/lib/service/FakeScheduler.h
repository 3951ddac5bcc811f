// A scheduler in memory, for tests of who asks it: jobs are queued for ever, events are kept, tokens are as they were
// made.
#pragma once
#include "lib/service/control/Scheduler.h"
#include "lib/service/problem/ServiceJson.h"
#include <atomic>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>

namespace accord::service {

class FakeScheduler final : public Scheduler {
public:
  FakeScheduler() {
    tokens["root-token"] = {"root", "", Role::Operator};
    tokens["alice-token"] = {"alice", "vision", Role::Submitter};
    tokens["bob-token"] = {"bob", "speech", Role::Submitter};
    tokens["viewer-token"] = {"viewer", "vision", Role::Viewer};
  }

  std::optional<Caller> callerOf(const std::string &token) const override {
    std::scoped_lock lock(mutex);
    ++asked;
    if (token.empty())
      return isOpen ? std::optional(Caller{"local", "", Role::Operator}) : std::nullopt;
    auto found = tokens.find(token);
    return found == tokens.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::string> makeToken(const Caller &by, const Caller &of, double) override {
    if (by.role != Role::Operator)
      return notAllowed("operator");
    std::scoped_lock lock(mutex);
    std::string token = fmt::format("made-{}", ++made);
    tokens[token] = of;
    return token;
  }
  Result<void> revokeToken(const Caller &by, const std::string &name) override {
    if (by.role != Role::Operator)
      return notAllowed("operator");
    std::scoped_lock lock(mutex);
    if (std::erase_if(tokens, [&](const auto &one) { return one.second.name == name; }) == 0)
      return Error{Code::NotServed, fmt::format("there is no token '{}'", name)};
    return {};
  }

  Result<std::pair<int64_t, bool>, Errors> submit(const Caller &by, const Submission &submission) override {
    if (by.role == Role::Viewer)
      return notAllowed("submitter");
    std::string tenant = submission.tenant.empty() ? by.tenant : submission.tenant;
    if (!by.tenant.empty() && tenant != by.tenant)
      return notAllowed("operator");
    std::scoped_lock lock(mutex);
    if (fails > 0) {
      --fails;
      return Errors{{Code::StateFailed, "the disk is full"}};
    }
    if (!submission.key.empty())
      for (const ServedJob &job : all)
        if (job.submission.key == submission.key && job.submission.tenant == tenant)
          return std::make_pair(job.id, false);
    ServedJob job;
    job.id = static_cast<int64_t>(all.size()) + 1;
    job.submission = submission;
    job.submission.tenant = tenant;
    job.phase = JobPhase::Queued;
    job.submitted = 1.7e9 + static_cast<double>(job.id);
    job.samples = submission.samples;
    job.user = by.name;
    all.push_back(job);
    addEvent("submitted", job.id, tenant, by.name);
    return std::make_pair(job.id, true);
  }
  Result<void> cancel(const Caller &by, int64_t id, const std::string &reason) override {
    std::scoped_lock lock(mutex);
    ServedJob *job = find(by, id);
    if (!job)
      return Error{Code::NotServed, fmt::format("there is no job '{}'", id)};
    if (by.role == Role::Viewer)
      return notAllowed("submitter");
    if (isOver(job->phase))
      return Error{Code::WrongServiceRequest, fmt::format("job '{}' is over", id)};
    job->phase = JobPhase::Cancelled, job->reason = reason;
    addEvent("cancelled", id, job->submission.tenant, by.name);
    return {};
  }
  Result<int64_t> keepTuning(const Caller &by, TuningRecord record) override {
    if (by.role == Role::Viewer)
      return notAllowed("submitter");
    std::scoped_lock lock(mutex);
    record.id = static_cast<int64_t>(kept.size()) + 1, record.user = by.name;
    kept.push_back(std::move(record));
    return kept.back().id;
  }
  Result<std::vector<TuningRecord>> tunings(const Caller &, const std::string &name, size_t limit) const override {
    std::scoped_lock lock(mutex);
    std::vector<TuningRecord> found;
    for (const TuningRecord &one : kept)
      if (found.size() < limit && (name.empty() || one.name == name))
        found.push_back(one), found.back().document.clear();
    return found;
  }
  Result<TuningRecord> tuning(const Caller &, int64_t id) const override {
    std::scoped_lock lock(mutex);
    if (id > static_cast<int64_t>(kept.size()))
      return Error{Code::NotServed, fmt::format("there is no tuning {}", id)};
    return kept[static_cast<size_t>(id) - 1];
  }
  Result<void> drain(const Caller &by, const std::string &node, bool drained, const std::string &reason) override {
    if (by.role != Role::Operator)
      return notAllowed("operator");
    std::scoped_lock lock(mutex);
    if (node != "node1")
      return Error{Code::NotServed, fmt::format("there is no node '{}'", node)};
    isDrained = drained;
    drainReason = reason;
    addEvent("drained", 0, "", by.name);
    return {};
  }
  Result<void> report(const std::string &taskToken, const ProgressReport &report) override {
    std::scoped_lock lock(mutex);
    if (taskToken != "task-token")
      return Error{Code::NotAllowed, "the token is of no task that runs"};
    reports.push_back(report);
    return {};
  }

  Result<JobView> job(const Caller &by, int64_t id) const override {
    std::scoped_lock lock(mutex);
    const ServedJob *job = find(by, id);
    if (!job)
      return Error{Code::NotServed, fmt::format("there is no job '{}'", id)};
    return viewOf(*job);
  }
  Result<std::vector<JobView>> jobs(const Caller &by, const JobFilter &filter) const override {
    std::scoped_lock lock(mutex);
    std::vector<JobView> views;
    for (size_t i = 0; i < all.size() && views.size() < filter.limit; ++i) {
      const ServedJob &job = filter.newestFirst ? all[all.size() - 1 - i] : all[i];
      bool isPhase = filter.phases.empty();
      for (JobPhase phase : filter.phases)
        isPhase |= phase == job.phase;
      bool isPage = filter.after == 0 || (filter.newestFirst ? job.id < filter.after : job.id > filter.after);
      if (isPhase && isPage && isVisible(by, job) && (filter.name.empty() || job.submission.name == filter.name) &&
          job.submission.name.starts_with(filter.prefix) &&
          (filter.tenant.empty() || job.submission.tenant == filter.tenant))
        views.push_back(viewOf(job));
    }
    return views;
  }
  Result<std::vector<std::string>> explain(const Caller &by, int64_t id) const override {
    std::scoped_lock lock(mutex);
    if (!find(by, id))
      return Error{Code::NotServed, fmt::format("there is no job '{}'", id)};
    return std::vector<std::string>{"The job waits for devices.", "It was submitted once."};
  }
  Result<std::vector<RunView>> runs(const Caller &by, const RunFilter &filter) const override {
    std::scoped_lock lock(mutex);
    std::vector<RunView> views;
    for (const ServedJob &job : all)
      if (views.size() < filter.limit && isVisible(by, job) && (filter.job == 0 || job.id == filter.job) &&
          job.submitted >= filter.from && job.submitted <= filter.until)
        views.push_back({.job = job.id,
                         .run = 1,
                         .name = job.submission.name,
                         .tenant = job.submission.tenant,
                         .deviceType = "a100_80g",
                         .configuration = "8 x a100_80g",
                         .devices = 8,
                         .nodes = {"node1"},
                         .start = job.submitted,
                         .end = 0,
                         .outcome = "runs"});
    return views;
  }
  ClusterView cluster(const Caller &) const override {
    std::scoped_lock lock(mutex);
    ClusterView view;
    view.name = "lab";
    view.engine = "local";
    view.time = 1.7e9;
    view.types.push_back({.name = "a100_80g", .devices = 8, .up = 8, .used = 4, .price = 1.5});
    view.nodes.push_back({.name = "node1",
                          .deviceType = "a100_80g",
                          .state = isDrained ? "drained" : "up",
                          .reason = drainReason,
                          .devices = 8,
                          .used = 4,
                          .jobs = {1}});
    view.tenants.push_back({.name = "vision", .weight = 2, .running = 1, .queued = 3, .devices = 4, .deviceHours = 7});
    view.phases["queued"] = static_cast<int64_t>(all.size());
    view.planStatus = "feasible";
    view.planGap = 0.02;
    view.objective = "weighted completion";
    return view;
  }
  Result<std::vector<ServiceEvent>> events(const Caller &by, int64_t after, size_t limit,
                                           std::chrono::milliseconds wait) const override {
    std::unique_lock lock(mutex);
    ++eventCalls;
    std::vector<ServiceEvent> found;
    auto collect = [&] {
      for (size_t i = std::max<int64_t>(0, after - pruned); i < log.size() && found.size() < limit; ++i)
        if (by.tenant.empty() || log[i].tenant.empty() || log[i].tenant == by.tenant)
          found.push_back(log[i]);
      return !found.empty();
    };
    if (!collect() && wait.count() > 0)
      changed.wait_for(lock, wait, collect);
    return found;
  }
  std::string metrics() const override { return "# HELP accord_jobs Jobs.\n# TYPE accord_jobs gauge\naccord_jobs 1\n"; }
  void audit(const std::string &kind, const std::string &who, const std::string &text) override {
    std::scoped_lock lock(mutex);
    audits.push_back(kind + " " + who + " " + text);
  }

  /// Adds an event of a tenant; of all if it is empty.
  void happen(const std::string &kind, const std::string &tenant) {
    std::scoped_lock lock(mutex);
    addEvent(kind, 0, tenant, "");
  }
  std::vector<std::string> auditLines() const {
    std::scoped_lock lock(mutex);
    return audits;
  }
  size_t jobCount() const {
    std::scoped_lock lock(mutex);
    return all.size();
  }

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable int64_t asked = 0, eventCalls = 0;
  std::map<std::string, Caller> tokens;
  std::vector<ServedJob> all;
  std::vector<TuningRecord> kept;
  std::vector<ServiceEvent> log; ///< the first has number `pruned` + 1
  std::vector<ProgressReport> reports;
  std::vector<std::string> audits;
  int64_t made = 0, pruned = 0, fails = 0;
  bool isDrained = false, isOpen = false;
  std::string drainReason;

private:
  static Error notAllowed(const std::string &role) {
    return {Code::NotAllowed, fmt::format("this needs the role '{}'", role)};
  }
  static bool isVisible(const Caller &by, const ServedJob &job) {
    return by.tenant.empty() || by.tenant == job.submission.tenant;
  }
  ServedJob *find(const Caller &by, int64_t id) { return const_cast<ServedJob *>(std::as_const(*this).find(by, id)); }
  const ServedJob *find(const Caller &by, int64_t id) const {
    if (id < 1 || id > static_cast<int64_t>(all.size()) || !isVisible(by, all[id - 1]))
      return nullptr;
    return &all[id - 1];
  }
  static JobView viewOf(const ServedJob &job) {
    JobView view;
    view.job = job;
    view.wait = isOver(job.phase) ? "" : "It waits for devices.";
    view.timeLeft = 3600;
    view.timeLeftLow = 3000;
    view.timeLeftHigh = 4000;
    view.deviation = -0.1;
    view.plannedStart = 1.8e9;
    view.plannedEnd = 1.9e9;
    return view;
  }
  void addEvent(const std::string &kind, int64_t job, const std::string &tenant, const std::string &who) {
    ServiceEvent event;
    event.number = pruned + static_cast<int64_t>(log.size()) + 1;
    event.time = 1.7e9;
    event.kind = kind;
    event.job = job;
    event.tenant = tenant;
    event.who = who;
    event.text = fmt::format("{} number {}.", kind, event.number);
    log.push_back(event);
    changed.notify_all();
  }
};

} // namespace accord::service
