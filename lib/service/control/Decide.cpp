// What is done next: runs whose time it is are started where their devices are free, others are told to save and end.
#include "lib/service/control/SchedulerState.h"
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <span>

namespace accord::service {

using State = JobRunRecord::State;

constexpr double kAskAgain = 2; ///< seconds after an engine refused something
/// A cycle asks the engine for so many intervals; what is left is asked in the next ones. Else an engine that lists its
/// tasks, and hangs where one is to end, would keep the scheduler from seeing anything.
constexpr double kMaxIntervals = 10;

static std::vector<std::string> nodesOf(const PlannedRun &run, const ClusterNodes &nodes) {
  std::vector<std::string> names;
  for (const jobs::ServerShare &share : run.servers)
    names.push_back(nodes.names[share.server]);
  return names;
}

/// What open runs hold, so that limits are kept whatever a plan thought of runs that end later than it said.
class Held {
public:
  Held(const jobs::JobsRequest &operation, double time) : operation(operation) {
    for (const jobs::JobsRequest::Capacity &capacity : operation.capacities)
      if (capacity.resource == jobs::kPowerResource)
        for (const auto &[from, amount] : capacity.steps)
          if (from <= time)
            maxWatts = amount;
  }

  void add(const std::string &tenant, const std::string &type, int64_t devicesInAll, double watts) {
    devices[{tenant, type}] += devicesInAll, devices[{tenant, ""}] += devicesInAll;
    power += watts;
  }
  bool hasRoom(const std::string &tenant, const std::string &type, int64_t more, double watts) const {
    if (maxWatts >= 0 && power + watts > maxWatts)
      return false;
    for (const jobs::JobsRequest::Tenant &one : operation.tenants)
      for (const auto &[of, quota] : one.quota)
        if (one.name == tenant && (of.empty() || of == type)) {
          const auto held = devices.find({tenant, of});
          if ((held == devices.end() ? 0 : held->second) + more > quota)
            return false;
        }
    return true;
  }

private:
  const jobs::JobsRequest &operation;
  std::map<std::pair<std::string, std::string>, int64_t> devices; ///< by tenant and type; type "": of all
  double power = 0, maxWatts = -1;
};

static double wattsOf(const OpenJob &one, unsigned row) {
  return one.model && row < one.model->table.rows.size() ? one.model->table.rows[row].watts : 0;
}

static bool isSame(const JobRunRecord &run, const PlannedRun &wanted, const std::vector<std::string> &names) {
  auto sorted = [](std::vector<std::string> all) {
    std::ranges::sort(all);
    return all;
  };
  return run.deviceType == wanted.deviceType && run.devices == wanted.devices &&
         run.configuration == wanted.configuration && sorted(run.nodes) == sorted(names);
}

void RunStarter::decide() {
  const auto longest = std::chrono::duration<double>(kMaxIntervals * options.interval);
  askUntil = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(longest);
  askAgain();
  startDue();
}

/// Runs of which the engine may or may not know: it is asked to start them again, or to end them again.
void RunStarter::askAgain() {
  std::vector<OpenJob> unsure;
  std::vector<std::pair<OpenJob, std::string>> lost;
  {
    std::scoped_lock lock(memory);
    std::erase_if(retryAt, [time = now()](const auto &one) { return one.second <= time; });
    std::set<std::string> known;
    for (const EngineTask &task : seen.tasks)
      known.insert(task.name);
    for (const auto &[id, one] : open) {
      if (!one.run)
        continue;
      const bool isKnown = known.contains(one.run->task), isIntended = one.run->state == State::Intended;
      if (retryAt.contains(one.run->task))
        continue;
      const bool waits = (isIntended && !isKnown) || one.run->state == State::Submitted;
      if (waits && !hasItsNodes(*one.run))
        lost.emplace_back(one, "its nodes take no tasks any more");
      else if (isIntended && (!one.cannotModel.empty() || (one.model && one.row == kNoRow)))
        lost.emplace_back(one, "it has no such configuration any more");
      else if ((isIntended && one.model) || (one.run->state == State::Stopping && isKnown))
        unsure.push_back(one);
    }
  }
  for (auto &[one, why] : lost)
    end(std::move(one), why);
  // Where not all could be asked, it goes on behind the last one.
  const auto next = std::ranges::upper_bound(unsure, askedLast, {}, [](const OpenJob &one) { return one.job.id; });
  std::rotate(unsure.begin(), next, unsure.end());
  for (const OpenJob &one : unsure) {
    askedLast = one.job.id;
    if (one.run->state == State::Intended)
      hand(one);
    else
      (void)engine->stop({EngineTask::State::Running, one.run->task, one.run->engineId, one.run->nodes, 0, 0, -1, ""},
                         one.job.submission.notice);
    {
      std::scoped_lock lock(memory);
      retryAt[one.run->task] = now() + kAskAgain;
    }
    if (isLate())
      return;
  }
}

/// Whether all nodes of a run are there, and take tasks.
bool RunStarter::hasItsNodes(const JobRunRecord &run) const {
  return std::ranges::all_of(run.nodes, [&](const std::string &name) {
    const auto server = static_cast<unsigned>(std::ranges::find(nodes.names, name) - nodes.names.begin());
    return server < nodes.names.size() && !std::ranges::count(nodes.away, server);
  });
}

/// Hands an intended run to the engine.
void RunStarter::hand(const OpenJob &one) {
  JobRunRecord run = *one.run;
  std::error_code error;
  std::filesystem::create_directories(fmt::format("{}/{}/traces", options.folder, run.task), error);
  auto id = error ? Result<std::string>(Error{Code::StateFailed, fmt::format("cannot make the folder of task '{}': {}",
                                                                             run.task, error.message())})
                  : engine->submit(requestOf(one, run));
  std::scoped_lock lock(changing);
  if (!id) {
    std::scoped_lock inner(memory);
    retryAt[run.task] = now() + kAskAgain;
    if (auto at = open.find(run.job); at != open.end())
      at->second.trouble = id.error().message;
    return;
  }
  run.engineId = *id, run.state = State::Submitted;
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    auto at = open.find(run.job);
    if (at == open.end() || !at->second.run || at->second.run->task != run.task ||
        at->second.run->state != State::Intended)
      return; // it was told to end meanwhile
    at->second.trouble.clear();
  }
  change.runs.push_back(run);
  commit(std::move(change));
}

void RunStarter::startDue() {
  std::vector<std::pair<PlannedRun, OpenJob>> starts;
  std::vector<OpenJob> stops, stranded;
  {
    std::scoped_lock lock(memory);
    std::map<std::string, int64_t> used; // devices of nodes in open runs
    Held held(options.operation, clusterTime());
    for (const auto &[id, one] : open)
      if (one.run) {
        for (const std::string &node : one.run->nodes)
          used[node] += one.run->devicesPerNode;
        held.add(one.job.submission.tenant, one.run->deviceType, one.run->devices, wattsOf(one, one.row));
      }
    std::set<int64_t> known; // open jobs of the plan
    for (const PlannedRun &run : plan ? std::span<const PlannedRun>(plan->runs) : std::span<const PlannedRun>())
      if (open.contains(run.job))
        known.insert(run.job);
    std::map<int64_t, PlannedRun> due;
    std::vector<int64_t> order;
    if (plan)
      for (PlannedRun &run : dueRuns(*plan, clusterTime(), known))
        if (due.emplace(run.job, run).second)
          order.push_back(run.job);
    for (const auto &[id, one] : open)
      if (one.run && one.run->state != State::Stopping) {
        if (waitsForNode(one))
          stranded.push_back(one);
        else if (mayEnd(one, due))
          stops.push_back(one);
      }
    for (int64_t id : order) {
      const OpenJob &one = open.at(id);
      const PlannedRun &run = due.at(id);
      if (run.servers.empty() || !isReady(one))
        continue;
      const int64_t each = run.servers.front().devices;
      const bool isFree = std::ranges::all_of(run.servers, [&](const jobs::ServerShare &share) {
        return share.devices == each && share.server < nodes.names.size() && takesTasks(share.server) &&
               used[nodes.names[share.server]] + each <= nodes.cluster.servers[share.server].devices;
      });
      const std::string &tenant = one.job.submission.tenant;
      const double watts = wattsOf(one, run.row);
      if (!isFree || !held.hasRoom(tenant, run.deviceType, run.devices, watts))
        continue;
      held.add(tenant, run.deviceType, run.devices, watts);
      for (const jobs::ServerShare &share : run.servers)
        used[nodes.names[share.server]] += each;
      starts.emplace_back(run, one);
    }
  }
  for (OpenJob &one : stranded)
    end(one, "a node of it takes no tasks, so it would not start");
  for (OpenJob &one : stops)
    end(one, "the plan has it elsewhere or later");
  for (auto &[run, one] : starts) {
    start(run, one);
    if (isLate())
      return;
  }
}

bool RunStarter::isLate() const { return std::chrono::steady_clock::now() >= askUntil; }

/// Whether tasks may start on a server. What was drained in this cycle is not yet away.
bool RunStarter::takesTasks(unsigned server) const {
  return !std::ranges::count(nodes.away, server) && !drained.contains(nodes.names[server]);
}

/// Whether the engine keeps a task waiting for a node that takes none: it went after the task was handed in.
bool RunStarter::waitsForNode(const OpenJob &one) const {
  return one.run->state == State::Submitted && std::ranges::any_of(one.run->nodes, [&](const std::string &node) {
           const auto found = std::ranges::find(nodes.names, node);
           return found != nodes.names.end() && !takesTasks(static_cast<unsigned>(found - nodes.names.begin()));
         });
}

/// Whether a run is to end: a malleable job that the plan has otherwise now.
bool RunStarter::mayEnd(const OpenJob &one, const std::map<int64_t, PlannedRun> &due) const {
  if (!plan || !one.mayMove() || one.run->state == State::Intended)
    return false;
  const bool isPlanned = std::ranges::count(plan->ids, one.job.id) > 0;
  // A plan of before it began says nothing of it.
  if (!isPlanned || static_cast<double>(plan->at) + epoch + 1 < one.run->intended)
    return false;
  const auto wanted = due.find(one.job.id);
  if (wanted == due.end())
    return true; // it pauses
  // Behind its planned end it is late, and goes on until there is a new plan.
  return !isSame(*one.run, wanted->second, nodesOf(wanted->second, nodes));
}

/// Whether a job waits for nothing but its devices.
bool RunStarter::isReady(const OpenJob &one) const {
  return !one.run && one.job.phase == JobPhase::Queued && one.notBefore <= now() && areComplete(one);
}

bool RunStarter::areComplete(const OpenJob &one) const {
  return std::ranges::none_of(one.job.submission.after, [&](int64_t id) { return open.contains(id); });
}

/// Writes down that a job runs, and asks the engine for it.
void RunStarter::start(const PlannedRun &planned, OpenJob one) {
  JobRunRecord run;
  run.job = one.job.id, run.number = one.job.runs + 1;
  // A state that was restored from a copy begins to count where it did before: what has a folder has had its task.
  std::error_code none;
  while (std::filesystem::exists(fmt::format("{}/{}", options.folder, taskName(run.job, run.number)), none))
    ++run.number;
  run.task = taskName(run.job, run.number);
  run.deviceType = planned.deviceType, run.devices = planned.devices;
  run.devicesPerNode = planned.servers.front().devices;
  run.configuration = planned.configuration, run.plan = planned.plan;
  run.nodes = nodesOf(planned, nodes);
  run.planned = epoch + planned.begin, run.plannedEnd = epoch + planned.end;
  run.intended = now();
  run.samplesAtStart = one.job.progress.saved;
  StoreChange change;
  change.runs.push_back(run);
  {
    std::scoped_lock lock(changing);
    {
      std::scoped_lock inner(memory);
      auto at = open.find(run.job);
      if (at == open.end() || at->second.run || at->second.job.phase != JobPhase::Queued)
        return; // cancelled meanwhile
      one.job = at->second.job;
    }
    one.job.phase = JobPhase::Running, one.job.runs = run.number;
    change.jobs.push_back(one.job);
    if (!commit(std::move(change)))
      return;
    std::scoped_lock inner(memory);
    OpenJob &at = open[run.job];
    at.read = 0, at.isSpeedSeen = at.isByEngine = false;
    at.trace = {}, at.traceRead.clear(), at.sourceTrouble.clear(), at.lookAt = at.lookPause = 0;
    at.row = at.model ? rowOfRun(run, at.model->table, nodes.cluster.types) : kNoRow;
    at.planned = plannedRate(at);
    at.tracker = ProgressTracker(at.job.samples, run.samplesAtStart, 0, at.planned);
    one = at;
  }
  hand(one);
}

/// Tells a run to save and end.
void RunStarter::end(OpenJob one, const std::string &why) {
  {
    std::scoped_lock lock(changing);
    StoreChange change;
    {
      std::scoped_lock inner(memory);
      auto at = open.find(one.job.id);
      if (at == open.end() || !at->second.run || at->second.run->task != one.run->task ||
          at->second.run->state == State::Stopping)
        return;
      one = at->second;
    }
    one.run->state = State::Stopping, one.run->stopping = now(), one.run->reason = why;
    one.job.phase = JobPhase::Stopping;
    change.runs.push_back(*one.run);
    change.jobs.push_back(one.job);
    change.events.push_back(
        event("stopping", &one.job,
              fmt::format("job {} '{}' is told to save and end: {}", one.job.id, one.job.submission.name, why)));
    if (!commit(std::move(change)))
      return;
  }
  if (isLate())
    return; // it is asked again
  (void)engine->stop({EngineTask::State::Running, one.run->task, one.run->engineId, one.run->nodes, 0, 0, -1, ""},
                     one.job.submission.notice);
}

TaskRequest RunStarter::requestOf(const OpenJob &one, const JobRunRecord &run) const {
  const Submission &from = one.job.submission;
  TaskRequest task;
  task.name = run.task, task.job = run.job, task.run = run.number, task.tenant = from.tenant;
  task.nodes = run.nodes, task.deviceType = run.deviceType, task.devicesPerNode = run.devicesPerNode;
  task.command = from.command, task.start = from.start, task.directory = from.directory;
  task.folder = fmt::format("{}/{}", options.folder, run.task);
  task.notice = from.notice;
  const jobs::TableRow *row =
      one.model && one.row < one.model->table.rows.size() ? &one.model->table.rows[one.row] : nullptr;
  const jobs::LaunchPlan *launch = row ? row->launch.get() : nullptr;
  LaunchLayout &layout = task.layout;
  layout.nodes = static_cast<int64_t>(run.nodes.size()), layout.perNode = run.devicesPerNode;
  layout.pools.push_back({run.deviceType, layout.nodes, layout.perNode, launch ? launch->memory : 0});
  layout.job = run.task;
  layout.title = sanitized(launch ? launch->title : fmt::format("{}, {}", from.name, run.configuration));
  if (launch)
    layout.environment = launch->environment;
  auto set = [&](const char *name, const std::string &value) { layout.environment.emplace_back(name, value); };
  set("ACCORD_JOB", std::to_string(run.job));
  set("ACCORD_NAME", sanitized(from.name));
  set("ACCORD_RUN", std::to_string(run.number));
  set("ACCORD_DEVICES_PER_NODE", std::to_string(run.devicesPerNode));
  set("ACCORD_NODES", std::to_string(run.nodes.size()));
  set("ACCORD_DEVICE_TYPE", sanitized(run.deviceType));
  set("ACCORD_PROGRESS", task.folder + "/progress");
  set("ACCORD_TRACES", task.folder + "/traces");
  set("ACCORD_NOTICE", fmt::format("{:.0f}", from.notice));
  set("ACCORD_SAMPLES_DONE", fmt::format("{:.0f}", run.samplesAtStart));
  if (one.job.samples > 0)
    set("ACCORD_SAMPLES", fmt::format("{:.0f}", std::ceil(one.job.samples)));
  if (!url.empty()) {
    set("ACCORD_SERVER", url);
    set("ACCORD_TASK_TOKEN", tokenOfTask(run.task));
  }
  task.environment = layout.environment;
  for (const auto &[name, value] : from.environment)
    if (name != "PYTHONPATH" || options.pythonPath.empty())
      task.environment.emplace_back(name, value);
  if (!options.pythonPath.empty()) {
    const auto own = from.environment.find("PYTHONPATH");
    const bool isStated = own != from.environment.end() && !own->second.empty();
    task.environment.emplace_back("PYTHONPATH", options.pythonPath + (isStated ? ":" + own->second : ""));
  }
  BatchOptions &batch = task.batch;
  batch.comment = fmt::format("job {} '{}', run {}", run.job, from.name, run.number);
  batch.deviceType = engineType(run.deviceType);
  batch.notice = static_cast<int64_t>(std::ceil(from.notice));
  batch.exclusive = false;
  batch.torchrun = from.start != Start::Plain;
  batch.coresPerDevice = launch ? launch->coresPerDevice : 0;
  if (launch && launch->withoutMegatron.empty()) {
    MegatronArguments megatron;
    megatron.arguments = launch->megatron;
    if (one.job.samples > 0)
      megatron.arguments.push_back(fmt::format("--train-samples {:.0f}", std::ceil(one.job.samples)));
    batch.megatron = std::make_shared<const MegatronArguments>(std::move(megatron));
  } else {
    batch.withoutMegatron = launch ? launch->withoutMegatron : "the job has no description of its training";
  }
  return task;
}

std::string RunStarter::engineType(const std::string &type) const {
  std::scoped_lock lock(memory);
  const auto found = std::ranges::find(nodes.cluster.types, type);
  return found == nodes.cluster.types.end() ? type : nodes.engineTypes[found - nodes.cluster.types.begin()];
}

} // namespace accord::service
