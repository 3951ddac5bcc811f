// An engine and a store in memory, in virtual time, that may die in the middle of any call.
#pragma once
#include "lib/service/control/SchedulerProcess.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

namespace accord::testing {

using namespace accord::service;

/// The scheduler dies here: whatever it did not write is lost.
struct Death {};

/// Counts what may be the last thing that a scheduler does.
struct Fate {
  int64_t calls = 0, last = -1; ///< the call after which, or before which, it dies; -1: none
  bool before = false;
  void pass(bool isBefore) {
    if (isBefore)
      ++calls;
    if (calls == last && isBefore == before)
      throw Death();
  }
};

/// Tables in memory, written at once: what a database keeps.
class MemoryStore : public ServiceStore {
public:
  struct Tables {
    std::map<int64_t, ServedJob> jobs;
    std::map<std::pair<int64_t, int64_t>, JobRunRecord> runs;
    std::vector<ServiceEvent> events;
    std::map<std::string, DrainRecord> drained;
    std::map<std::string, TokenRecord> tokens;
    std::map<std::string, std::string> settings;
    std::vector<TuningRecord> tunings;
    bool isFull = false; ///< nothing can be written
    std::mutex lock;
  };
  MemoryStore(std::shared_ptr<Tables> tables, Fate *fate) : tables(std::move(tables)), fate(fate) {}

  Result<void> apply(StoreChange change) override {
    if (fate)
      fate->pass(true);
    {
      std::scoped_lock lock(tables->lock);
      if (tables->isFull)
        return Error{Code::StateFailed, "the disk is full"};
      for (ServedJob &job : change.jobs) {
        if (job.submission.files.empty()) // they stay
          job.submission.files = tables->jobs[job.id].submission.files;
        tables->jobs[job.id] = job;
      }
      for (JobRunRecord &run : change.runs)
        tables->runs[{run.job, run.number}] = run;
      for (ServiceEvent &event : change.events)
        say(event);
      for (DrainRecord &drain : change.drained)
        tables->drained[drain.node] = drain;
      for (const std::string &node : change.undrained)
        tables->drained.erase(node);
      for (TokenRecord &token : change.tokens)
        tables->tokens[token.hash] = token;
      for (auto &[key, value] : change.settings)
        tables->settings[key] = value;
    }
    if (fate)
      fate->pass(false);
    return {};
  }
  Result<std::pair<ServedJob, bool>> addJob(ServedJob job, ServiceEvent event) override {
    std::scoped_lock lock(tables->lock);
    if (tables->isFull)
      return Error{Code::StateFailed, "the disk is full"};
    for (auto &[id, one] : tables->jobs)
      if (!job.submission.key.empty() && one.submission.key == job.submission.key)
        return std::pair(one, false);
    job.id = static_cast<int64_t>(tables->jobs.size()) + 1;
    tables->jobs[job.id] = job;
    event.job = job.id;
    say(event);
    return std::pair(job, true);
  }
  Result<int64_t> addTuning(TuningRecord record) override {
    std::scoped_lock lock(tables->lock);
    record.id = static_cast<int64_t>(tables->tunings.size()) + 1;
    tables->tunings.push_back(record);
    return record.id;
  }
  Result<std::vector<TuningRecord>> tunings(const std::string &, const std::string &, size_t) override {
    std::scoped_lock lock(tables->lock);
    return std::vector<TuningRecord>(tables->tunings.rbegin(), tables->tunings.rend());
  }
  Result<std::optional<TuningRecord>> tuning(int64_t id) override {
    std::scoped_lock lock(tables->lock);
    const bool isThere = id >= 1 && id <= static_cast<int64_t>(tables->tunings.size());
    return isThere ? std::optional(tables->tunings[id - 1]) : std::nullopt;
  }
  Result<std::optional<ServedJob>> job(int64_t id) override {
    std::scoped_lock lock(tables->lock);
    auto found = tables->jobs.find(id);
    return found == tables->jobs.end() ? std::optional<ServedJob>() : std::optional(found->second);
  }
  Result<std::vector<ServedJob>> jobs(const JobFilter &filter) override {
    std::scoped_lock lock(tables->lock);
    std::vector<ServedJob> found;
    for (auto &[id, one] : tables->jobs)
      if (id > filter.after && found.size() < filter.limit &&
          (filter.tenant.empty() || one.submission.tenant == filter.tenant) &&
          one.submission.name.starts_with(filter.prefix))
        found.push_back(one);
    return std::move(found);
  }
  Result<std::vector<ServedJob>> openJobs() override {
    std::scoped_lock lock(tables->lock);
    std::vector<ServedJob> found;
    for (auto &[id, one] : tables->jobs)
      if (!isOver(one.phase))
        found.push_back(one), found.back().submission.files.clear();
    return std::move(found);
  }
  Result<std::vector<JobRunRecord>> runsOf(int64_t job) override {
    return runsWhere([&](const JobRunRecord &run) { return run.job == job; });
  }
  Result<std::vector<JobRunRecord>> openRuns() override {
    return runsWhere([&](const JobRunRecord &run) { return run.state != JobRunRecord::State::Ended; });
  }
  Result<std::vector<NamedRun>> runsBetween(const RunFilter &filter) override {
    std::vector<NamedRun> found;
    auto runs = runsWhere([&](const auto &run) { return filter.job == 0 || run.job == filter.job; });
    for (JobRunRecord &run : *runs)
      found.push_back({std::move(run), "", ""});
    return std::move(found);
  }
  Result<std::vector<ServiceEvent>> events(int64_t after, const std::string &, size_t) override {
    std::scoped_lock lock(tables->lock);
    return std::vector<ServiceEvent>(tables->events.begin() + std::min<int64_t>(after, tables->events.size()),
                                     tables->events.end());
  }
  Result<int64_t> lastEvent() override {
    std::scoped_lock lock(tables->lock);
    return static_cast<int64_t>(tables->events.size());
  }
  Result<std::vector<ServiceEvent>> eventsOf(int64_t, size_t) override { return std::vector<ServiceEvent>(); }
  Result<std::vector<DrainRecord>> drained() override {
    std::scoped_lock lock(tables->lock);
    std::vector<DrainRecord> found;
    for (auto &[node, one] : tables->drained)
      found.push_back(one);
    return std::move(found);
  }
  Result<std::vector<TokenRecord>> tokens() override {
    std::scoped_lock lock(tables->lock);
    std::vector<TokenRecord> found;
    for (auto &[hash, one] : tables->tokens)
      found.push_back(one);
    return std::move(found);
  }
  Result<std::map<std::string, std::string>> settings() override {
    std::scoped_lock lock(tables->lock);
    return tables->settings;
  }
  Result<std::map<JobPhase, int64_t>> counts() override {
    std::scoped_lock lock(tables->lock);
    std::map<JobPhase, int64_t> counts;
    for (auto &[id, one] : tables->jobs)
      ++counts[one.phase];
    return std::move(counts);
  }
  Result<void> prune(double) override { return {}; }
  Result<void> backup(const std::string &) override { return {}; }
  Result<std::vector<std::string>> check() override { return std::vector<std::string>(); }

private:
  void say(ServiceEvent &event) {
    event.number = static_cast<int64_t>(tables->events.size()) + 1;
    tables->events.push_back(event);
  }
  template <class Test> Result<std::vector<JobRunRecord>> runsWhere(Test test) {
    std::scoped_lock lock(tables->lock);
    std::vector<JobRunRecord> found;
    for (auto &[key, one] : tables->runs)
      if (test(one))
        found.push_back(one);
    return std::move(found);
  }

  const std::shared_ptr<Tables> tables;
  Fate *const fate;
};

/// Nodes and tasks in virtual time. A task does `rate` samples a second from its start on, says so in its file, saves
/// when it is told to, and ends when its work is done.
struct SimulatedCluster {
  struct Task {
    EngineTask is;
    TaskRequest asked;
    double work = 0, done = 0, rate = 1, endAt = -1; ///< `endAt`: it is ended then
    bool reports = true, saves = true;               ///< whether it says how far it is, and that it saved
    bool isHeld = false;
    double said = 0;
  };
  double time = 1.7e9;
  std::vector<EngineNode> nodes;
  std::map<std::string, Task> tasks;
  std::map<std::string, int> starts; ///< of each name
  std::set<std::string> forgotten;
  std::function<double(const TaskRequest &)> rate = [](const TaskRequest &) { return 1.0; };
  std::function<bool(const TaskRequest &)> fails = [](const TaskRequest &) { return false; };
  int failCode = 1;
  bool report = true, save = true; ///< of tasks that come: `reports`, `saves`
  /// What guards say of nodes of a task that fails.
  std::function<std::map<std::string, std::string>(const TaskRequest &)> refusals = [](const TaskRequest &) {
    return std::map<std::string, std::string>();
  };
  double behind = 0;                  ///< seconds by which it says too early when tasks began and ended
  std::vector<std::string> conflicts; ///< what must never happen

  void advance(double seconds) {
    time += seconds;
    for (auto &[name, task] : tasks) {
      if (isOver(task.is.state))
        continue;
      if (task.is.state == EngineTask::State::Waiting) {
        if (hasRoom(task)) {
          task.is.state = EngineTask::State::Running, task.is.started = time - behind, task.is.nodes = task.asked.nodes;
          ++starts[name];
        }
        continue;
      }
      const double ran = std::max(0.0, std::min(seconds, time - task.is.started));
      task.done = std::min(task.work, task.done + ran * task.rate);
      say(task);
      if (fails(task.asked))
        end(task, EngineTask::State::Failed, failCode);
      else if (task.done >= task.work)
        end(task, EngineTask::State::Succeeded, 0);
      else if (task.endAt >= 0 && time >= task.endAt)
        end(task, EngineTask::State::Stopped, 143);
    }
  }
  void end(Task &task, EngineTask::State state, int exitCode) {
    task.is.state = state, task.is.ended = time - behind, task.is.exitCode = exitCode;
    if (state == EngineTask::State::Failed)
      task.is.refusals = refusals(task.asked);
  }
  void setNode(const std::string &name, EngineNode::State state) {
    for (EngineNode &node : nodes)
      if (node.name == name)
        node.state = state;
    if (state == EngineNode::State::Down)
      for (auto &[task, one] : tasks)
        if (one.is.state == EngineTask::State::Running && std::ranges::count(one.is.nodes, name) > 0)
          end(one, EngineTask::State::Lost, -1);
  }
  int64_t used(const std::string &node) const {
    int64_t sum = 0;
    for (const auto &[name, task] : tasks)
      if (task.is.state == EngineTask::State::Running && std::ranges::count(task.is.nodes, node) > 0)
        sum += task.asked.devicesPerNode;
    return sum;
  }

private:
  bool hasRoom(const Task &task) {
    if (task.isHeld)
      return false;
    for (const std::string &name : task.asked.nodes) {
      const auto node = std::ranges::find(nodes, name, &EngineNode::name);
      if (node == nodes.end() || node->state != EngineNode::State::Up ||
          used(name) + task.asked.devicesPerNode > node->devices)
        return false;
    }
    return true;
  }
  static void say(Task &task) {
    if (!task.reports)
      return;
    std::ofstream file(task.asked.folder + "/progress", std::ios::app);
    file << fmt::format("{{\"samples\": {:.6f}", task.done);
    file << (task.saves ? fmt::format(", \"saved\": {:.6f}}}\n", task.done) : "}\n");
  }
};

class SimulatedEngine : public Engine {
public:
  SimulatedEngine(SimulatedCluster &cluster, Fate *fate) : cluster(cluster), fate(fate) {}
  std::string kind() const override { return "simulated"; }
  Result<std::vector<EngineNode>> nodes() override {
    if (isDown)
      return Error{Code::EngineFailed, "it does not answer"};
    return cluster.nodes;
  }
  Result<std::vector<EngineTask>> tasks() override {
    if (isDown)
      return Error{Code::EngineFailed, "it does not answer"};
    std::vector<EngineTask> found;
    for (auto &[name, task] : cluster.tasks)
      if (!cluster.forgotten.contains(name))
        found.push_back(task.is);
    return std::move(found);
  }
  Result<std::string> submit(const TaskRequest &asked) override {
    if (fate)
      fate->pass(true);
    if (isDown)
      return Error{Code::EngineFailed, "it does not answer"};
    auto [at, isNew] = cluster.tasks.emplace(asked.name, SimulatedCluster::Task());
    if (isNew) {
      SimulatedCluster::Task &task = at->second;
      task.is.name = asked.name, task.is.id = std::to_string(cluster.tasks.size());
      task.asked = asked;
      for (const auto &[name, value] : asked.environment) {
        if (name == "ACCORD_SAMPLES")
          task.work = std::stod(value);
        if (name == "ACCORD_SAMPLES_DONE")
          task.done = std::stod(value);
      }
      task.rate = cluster.rate(asked), task.reports = cluster.report, task.saves = cluster.save;
      for (auto &[name, other] : cluster.tasks)
        if (name != asked.name && other.asked.job == asked.job && !isOver(other.is.state))
          cluster.conflicts.push_back(fmt::format("{} and {} at once", name, asked.name));
    }
    at->second.isHeld = holdsAfter-- == 0;
    if (fate)
      fate->pass(false);
    if (breaksAfter-- == 0 || at->second.isHeld)
      return Error{Code::EngineFailed, "timed out"};
    return at->second.is.id;
  }
  Result<void> stop(const EngineTask &task, double notice) override {
    onStop(task.name);
    if (fate)
      fate->pass(true);
    if (isDown)
      return Error{Code::EngineFailed, "it does not answer"};
    if (auto at = cluster.tasks.find(task.name); at != cluster.tasks.end() && !isOver(at->second.is.state)) {
      if (at->second.is.state == EngineTask::State::Waiting)
        cluster.end(at->second, EngineTask::State::Stopped, -1);
      else if (at->second.endAt < 0)
        at->second.endAt = cluster.time + std::min(notice, 1.0); // it saves and ends by itself
    }
    if (fate)
      fate->pass(false);
    return {};
  }
  Result<void> setDrained(const std::string &node, bool drained, const std::string &) override {
    onDrain();
    for (EngineNode &one : cluster.nodes)
      if (one.name == node && one.state != EngineNode::State::Down)
        one.state = drained ? EngineNode::State::Drained : EngineNode::State::Up;
    return {};
  }
  Result<void> forget(const EngineTask &task) override {
    if (fate)
      fate->pass(true);
    if (isOver(task.state))
      cluster.forgotten.insert(task.name);
    return {};
  }

  std::function<void()> onDrain = [] {};
  std::function<void(const std::string &)> onStop = [](const std::string &) {};
  bool isDown = false;
  int breaksAfter = -1; ///< the n-th submission is done, and an error is returned
  int holdsAfter = -1;  ///< the n-th submission is done by half: its task waits until it is handed in again

private:
  SimulatedCluster &cluster;
  Fate *const fate;
};

} // namespace accord::testing
