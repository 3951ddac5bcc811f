// When a plan is due, what it is made of, and the threads that make it.
#include "lib/service/control/SchedulerState.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {

using State = JobRunRecord::State;

/// A plan that failed is tried again after so many seconds.
constexpr double kPlanAgain = 5;
constexpr double kPlanPause = 0.2;
constexpr size_t kSettledAtOnce = 50; ///< jobs of a transaction, so that submissions do not wait for it
/// A run that is later than planned by this share of its length, or some periods, makes a plan due.
constexpr double kLateShare = 0.05;
/// Samples of a job that does not say how many there are: it runs on.
constexpr double kUnknownWork = 1e9;

jobs::JobsRequest::Job requestOf(const ServedJob &job, double epoch) {
  const Submission &from = job.submission;
  jobs::JobsRequest::Job made;
  made.name = fmt::format("{}#{}", from.name, job.id);
  made.train = from.main.empty() ? "" : from.train.empty() ? "training" : from.train;
  made.tenant = from.tenant;
  made.samples = job.samples;
  made.arrival = std::max(0.0, job.submitted - epoch);
  auto at = [&](double time) { return time > 0 ? std::max(0.0, time - epoch) : -1; };
  made.deadline = at(from.deadline), made.due = at(from.due), made.latePrice = from.latePrice;
  made.priority = from.priority;
  made.minDevices = from.minDevices, made.maxDevices = from.maxDevices;
  made.elasticity = from.elasticity;
  made.restart = from.restart;
  made.deviceTypes = from.deviceTypes;
  return made;
}

bool isLearned(const Submission &submission) { return submission.main.empty() && submission.measured.empty(); }

double plannedRate(const OpenJob &one) {
  if (!one.model || one.row >= one.model->table.rows.size() || (isLearned(one.job.submission) && one.speeds.empty()))
    return 0;
  return one.model->table.rows[one.row].rate * one.pace;
}

unsigned rowOfRun(const JobRunRecord &run, const jobs::JobTable &table, const std::vector<std::string> &types) {
  unsigned found = kNoRow;
  for (unsigned i = 0; i < table.rows.size(); ++i) {
    const jobs::TableRow &row = table.rows[i];
    if (types[row.type] != run.deviceType || row.devices != run.devices)
      continue;
    if (row.plan == run.plan)
      return i;
    if (found == kNoRow && !row.launch) // one that is launched with another plan is another one
      found = i;
  }
  return found;
}

jobs::JobTable measuredTable(const ServedJob &job, const jobs::Cluster &cluster,
                             const std::map<std::string, double> &speeds, const std::vector<SeenSpeed> &seen) {
  jobs::JobTable table;
  const Submission &from = job.submission;
  table.samples = job.samples;
  auto mayUse = [&](unsigned type, int64_t devices) {
    return devices >= from.minDevices && (from.maxDevices == 0 || devices <= from.maxDevices) &&
           (from.deviceTypes.empty() || std::ranges::count(from.deviceTypes, cluster.types[type]) > 0);
  };
  auto add = [&](unsigned type, int64_t devices, double rate, const char *plan) {
    jobs::TableRow row;
    row.type = type, row.devices = devices, row.rate = rate, row.plan = plan;
    table.rows.push_back(std::move(row));
  };
  const std::vector<int64_t> capacity = cluster.capacity();
  std::vector<std::vector<int64_t>> counts(cluster.types.size());
  for (unsigned type = 0; type < cluster.types.size(); ++type) {
    for (const MeasuredConfiguration &one : from.measured) {
      if (one.deviceType != cluster.types[type] || !mayUse(type, one.devices))
        continue;
      const int64_t largest = cluster.largestServer(type);
      if (one.devices > capacity[type] || (one.devices > largest && one.devices % largest != 0))
        table.reason = fmt::format("{} {} do not fill servers of {}", one.devices, one.deviceType, largest);
      else
        add(type, one.devices, one.rate, "as measured");
    }
    for (int64_t devices : jobs::deviceCounts(cluster, type, from.minDevices, from.maxDevices))
      if (mayUse(type, devices))
        counts[type].push_back(devices);
  }
  if (from.measured.empty()) {
    for (const SeenSpeed &one : learnedSpeeds(cluster, counts, speeds, seen))
      add(std::ranges::find(cluster.types, one.deviceType) - cluster.types.begin(), one.devices, one.rate, "as it ran");
    for (unsigned type = 0; type < cluster.types.size() && seen.empty(); ++type)
      if (!counts[type].empty())
        add(type, counts[type].front(), 1, "not known yet");
  }
  if (table.rows.empty() && table.reason.empty())
    table.reason = from.measured.empty()
                       ? fmt::format("no device type of the cluster has {} devices that it may use", from.minDevices)
                       : "the cluster has none of the devices on which it was measured";
  return table;
}

/// The row of the run, and of one that an earlier life began the speed, which its plan said.
static void findRow(OpenJob &one, const jobs::Cluster &on) {
  one.row = rowOfRun(*one.run, one.model->table, on.types);
  if (one.planned > 0)
    return;
  one.planned = plannedRate(one);
  one.tracker.setPlanned(one.planned);
}

/// Prices the configurations of the first job that waits for that; false if none does.
bool PlanMaker::modelNext() {
  ServedJob job;
  jobs::Cluster on;
  std::vector<SeenSpeed> seenSpeeds;
  uint64_t of = 0;
  {
    std::scoped_lock lock(memory);
    if (toModel.empty() || nodes.cluster.servers.empty())
      return false;
    const OpenJob &next = open.at(*toModel.begin());
    toModel.erase(toModel.begin()); // what becomes known meanwhile has it priced once more
    job = next.job, on = nodes.cluster, seenSpeeds = next.speeds, of = generation;
  }
  Result<ModelledJob, Errors> made;
  if (!job.submission.main.empty() && modeller) { // texts of files are not kept in memory
    auto stored = store->job(job.id);
    if (!stored || !*stored) {
      std::scoped_lock lock(memory);
      if (open.contains(job.id))
        toModel.insert(job.id); // tried again
      return false;
    }
    job.submission.files = std::move((*stored)->submission.files);
  }
  if (job.submission.main.empty() || !modeller)
    made = ModelledJob{service::requestOf(job, epoch), measuredTable(job, on, options.speeds, seenSpeeds), {}};
  else
    tables.run([&] { made = modeller->model(job, on); });
  if (made)
    for (jobs::TableRow &row : made->table.rows)
      if (const auto watts = options.watts.find(on.types[row.type]); row.watts <= 0 && watts != options.watts.end())
        row.watts = watts->second * static_cast<double>(row.devices);
  std::scoped_lock lock(memory);
  auto at = open.find(job.id);
  // It is over, the nodes are others, or more is known.
  if (at == open.end() || of != generation || toModel.contains(job.id))
    return true;
  if (made) {
    made->request = service::requestOf(at->second.job, epoch);
    at->second.isStale = false;
    at->second.model = std::make_shared<const ModelledJob>(std::move(*made));
    if (at->second.run)
      findRow(at->second, on);
  } else {
    const Error &error = made.error().front();
    at->second.cannotModel = error.location.file.empty()
                                 ? error.message
                                 : fmt::format("{}:{}:{}: {}", error.location.file, error.location.line,
                                               error.location.column, error.message);
  }
  needPlan(fmt::format("job {} came", job.id));
  return true;
}

/// Writes down of some jobs, from a number on, that they were priced, or cannot be. Returns from where to go on;
/// nothing: that was all.
std::optional<int64_t> PlanMaker::settleModels(int64_t from) {
  std::scoped_lock lock(changing);
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    for (auto at = open.lower_bound(from); at != open.end() && change.jobs.size() < kSettledAtOnce; ++at) {
      const auto &[id, one] = *at;
      if (one.job.phase != JobPhase::Modelling || (!one.model && one.cannotModel.empty()))
        continue;
      ServedJob job = one.job;
      if (one.model) {
        job.phase = JobPhase::Queued;
        if (job.samples <= 0)
          job.samples = one.model->table.samples;
      } else {
        job.phase = JobPhase::Failed, job.ended = now(), job.reason = one.cannotModel;
        change.events.push_back(event(
            "failed", &job, fmt::format("job {} '{}' cannot be planned: {}", id, job.submission.name, job.reason)));
      }
      change.jobs.push_back(std::move(job));
    }
  }
  if (change.jobs.size() < kSettledAtOnce)
    return (void)commit(std::move(change)), std::nullopt;
  const int64_t next = change.jobs.back().id + 1;
  return commit(std::move(change)) ? std::optional(next) : std::nullopt;
}

namespace {

/// Devices of each server that the runs which were planned with leave.
class RunRoom {
public:
  RunRoom(const ClusterNodes &nodes, const std::vector<EngineNode> &seen) : nodes(nodes), isOut(nodes.names.size()) {
    for (unsigned server = 0; server < nodes.names.size(); ++server) {
      serverOf.emplace(nodes.names[server], server);
      const auto said = std::ranges::find(seen, nodes.names[server], &EngineNode::name);
      const bool isDown = said == seen.end() || said->state == EngineNode::State::Down;
      left.push_back(isDown ? 0 : nodes.cluster.servers[server].devices);
    }
    isIn = isOut;
  }

  /// Where a run is, if its nodes are what they were when it began. If not, it cannot be planned with.
  std::optional<jobs::JobPlacement> place(const JobRunRecord &run) {
    jobs::JobPlacement servers;
    for (const std::string &node : run.nodes)
      if (auto found = serverOf.find(node); found != serverOf.end())
        servers.push_back({found->second, static_cast<unsigned>(run.devicesPerNode)});
    const bool fits = servers.size() == run.nodes.size() && std::ranges::all_of(servers, [&](const auto &share) {
                        return nodes.cluster.types[nodes.cluster.servers[share.server].type] == run.deviceType &&
                               left[share.server] >= share.devices;
                      });
    for (const jobs::ServerShare &share : servers) {
      (fits ? isIn : isOut)[share.server] = true;
      if (fits)
        left[share.server] -= share.devices;
    }
    return fits ? std::optional(std::move(servers)) : std::nullopt;
  }
  /// Servers that have only runs that cannot be planned with: nothing else is planned there.
  std::vector<unsigned> taken() const {
    std::vector<unsigned> servers;
    for (unsigned server = 0; server < isOut.size(); ++server)
      if (isOut[server] && !isIn[server] && !std::ranges::count(nodes.away, server))
        servers.push_back(server);
    return servers;
  }

private:
  const ClusterNodes &nodes;
  std::map<std::string, unsigned> serverOf;
  std::vector<int64_t> left;
  std::vector<bool> isOut, isIn;
};

} // namespace

PlannerInput PlanMaker::plannerInput() const {
  PlannerInput input;
  input.operation = options.operation;
  input.cluster = nodes.cluster;
  input.at = static_cast<int64_t>(std::ceil(std::min<double>(clusterTime(), jobs::kMaxSeconds)));
  for (unsigned server : nodes.away)
    input.outages.push_back({server, input.at + secondsThatStay(nodes.names[server]), jobs::kForGood});
  RunRoom room(nodes, seen.nodes);
  for (const auto &[id, one] : open) {
    std::optional<jobs::JobPlacement> at;
    if (one.run && one.run->state != State::Stopping && !(at = room.place(*one.run)))
      continue;
    if (!one.model)
      continue;
    PlannerJob job;
    job.id = id, job.model = one.model;
    job.work = one.model->table.samples > 0 ? one.model->table.samples : kUnknownWork;
    job.notBefore = one.notBefore > 0 ? one.notBefore - epoch : 0;
    for (int64_t before : one.job.submission.after)
      if (open.contains(before))
        job.after.push_back(before);
    job.state.pace = std::clamp(one.pace, 1e-6, 1e6);
    job.state.done = one.run ? std::max(one.run->samplesAtStart, one.tracker.samples(now())) : one.job.progress.saved;
    job.state.done = std::min(job.state.done, job.work * (1 - 1e-6));
    job.state.starts = one.job.runs;
    if (one.run && one.run->state != State::Stopping) {
      const JobRunRecord &run = *one.run;
      job.state.running = true, job.mayMove = one.mayMove();
      job.state.deviceType = run.deviceType, job.state.devices = run.devices;
      job.state.configuration = run.configuration, job.state.plan = run.plan;
      job.state.servers = std::move(*at);
      const double begins = (run.started > 0 ? run.started : now()) + std::max(0.0, one.job.submission.restart);
      job.state.begun = std::max<int64_t>(0, static_cast<int64_t>(begins - epoch));
      job.state.restarting = std::max<int64_t>(0, job.state.begun - input.at);
    }
    input.jobs.push_back(std::move(job));
  }
  for (unsigned server : room.taken())
    input.outages.push_back({server, input.at, jobs::kForGood});
  return input;
}

/// How long a node that takes no tasks goes on with those that it has and that cannot move; 0: it is down.
int64_t PlanMaker::secondsThatStay(const std::string &node) const {
  const auto found = std::ranges::find(seen.nodes, node, &EngineNode::name);
  if (found == seen.nodes.end() || found->state == EngineNode::State::Down)
    return 0;
  double longest = 0;
  for (const auto &[id, one] : open)
    if (one.run && !one.mayMove() && std::ranges::count(one.run->nodes, node) > 0) {
      const Interval left = one.tracker.timeLeft(now());
      const auto end = plan ? plan->ends.find(id) : decltype(plan->ends.end()){};
      const bool isPlanned = plan && end != plan->ends.end();
      longest = std::max({longest, left.value, isPlanned ? end->second - clusterTime() : 0});
    }
  longest = std::min<double>(longest, jobs::kMaxSeconds);
  return longest > 0 ? static_cast<int64_t>(std::ceil(longest)) + (plan ? 2 * plan->slot : 2) : 0;
}

/// Whether a run takes longer than its plan says, so that what comes after it has to be planned anew.
bool PlanMaker::isLate(const OpenJob &one) const {
  if (!one.run || !plan || one.run->state == State::Stopping)
    return false;
  const auto end = plan->ends.find(one.job.id);
  if (end == plan->ends.end())
    return false;
  const double allowed =
      std::max(static_cast<double>(plan->slot), kLateShare * (end->second - static_cast<double>(plan->at)));
  return clusterTime() > end->second + allowed;
}

void PlanMaker::planIfNeeded() {
  for (std::optional<int64_t> from = 0; from;)
    from = settleModels(*from);
  cancelOrphans();
  {
    std::scoped_lock lock(memory);
    for (const auto &[id, one] : open) {
      if (isLate(one))
        needPlan(fmt::format("job {} is late", id));
      const double may = one.notBefore - epoch; // a plan of the moment has none that may not run yet
      if (plan && !one.run && one.notBefore > 0 && may > static_cast<double>(plan->at) && may <= clusterTime())
        needPlan(fmt::format("job {} may run again", id));
    }
    if (planReason.empty() && plan && now() - planned > options.replanAfter)
      needPlan("the plan is old");
    if (!options.isInline || planReason.empty() || nodes.cluster.servers.empty())
      return changed.notify_all();
  }
  planNow();
}

/// Jobs that come after one that failed or was cancelled never run.
void PlanMaker::cancelOrphans() {
  std::scoped_lock lock(changing);
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    for (const auto &[id, one] : open)
      for (int64_t before : one.job.submission.after)
        if (auto over = ended.find(before);
            over != ended.end() && over->second != JobPhase::Complete && isOver(over->second) && !one.run) {
          ServedJob job = one.job;
          job.phase = JobPhase::Cancelled, job.ended = now();
          job.reason = fmt::format("job {}, which it comes after, is not complete and never will be", before);
          change.events.push_back(event(
              "cancelled", &job, fmt::format("job {} '{}' is cancelled: {}", id, job.submission.name, job.reason)));
          change.jobs.push_back(std::move(job));
          break;
        }
  }
  commit(std::move(change));
}

/// Makes a plan of what is known now.
void PlanMaker::planNow() {
  PlannerInput input;
  std::shared_ptr<const ClusterPlan> before;
  uint64_t of = 0;
  {
    std::scoped_lock lock(memory);
    of = generation;
    input = plannerInput(), before = plan;
    lastReason = planReason;
    planReason.clear();
  }
  const auto began = std::chrono::steady_clock::now();
  PlannerOptions how = options.planner;
  std::atomic<bool> stop = false;
  how.limits.stop = &stop;
  std::condition_variable ready;
  std::mutex waits;
  bool isDone = false;
  std::thread alarm([&] {
    std::unique_lock lock(waits);
    if (!ready.wait_for(lock, std::chrono::duration<double>(options.planLimit), [&] { return isDone; }))
      stop = true;
  });
  Result<ClusterPlan, Errors> made;
  plans.run([&] { made = planCluster(input, how, before.get()); });
  {
    std::scoped_lock lock(waits);
    isDone = true;
  }
  ready.notify_all();
  alarm.join();
  takePlan(std::move(made), of, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

void PlanMaker::takePlan(Result<ClusterPlan, Errors> made, uint64_t of, double seconds) {
  std::shared_ptr<const ClusterPlan> old; // ends when nothing is locked any more
  std::scoped_lock lock(changing);
  StoreChange change;
  {
    std::scoped_lock inner(memory);
    if (of != generation)
      return needPlan("the nodes of the cluster changed"); // its servers are others
    planSeconds = seconds, planned = now();
    planAgainAt = planned + std::max(kPlanPause, seconds); // no more than half of the time is spent on plans
    if (!made) {
      planHealth = made.error().front().message;
      planAgainAt = now() + kPlanAgain;
      needPlan("the last plan failed: " + planHealth);
      return;
    }
    planHealth.clear();
    const std::vector<std::string> before = plan ? plan->dropped : std::vector<std::string>();
    for (const std::string &text : made->dropped)
      if (!std::ranges::count(before, text))
        change.events.push_back(event("planned", nullptr, text));
    plan = std::make_shared<const ClusterPlan>(std::move(*made));
    isUrgent = true;
  }
  changed.notify_all();
  commit(std::move(change));
}

/// A thread that prices jobs, or makes plans, when there is something to do.
void PlanMaker::work(const std::atomic<bool> &stop, bool models) {
  while (!stop) {
    {
      std::unique_lock lock(memory);
      auto isDue = [&] {
        if (stop || nodes.cluster.servers.empty())
          return bool(stop);
        if (models)
          return !toModel.empty();
        return !planReason.empty() && now() >= planAgainAt;
      };
      if (!changed.wait_for(lock, std::chrono::milliseconds(500), isDue) || stop)
        continue;
    }
    if (models) {
      if (!modelNext()) // the disk does not answer
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    } else {
      planNow();
    }
  }
}

} // namespace accord::service
