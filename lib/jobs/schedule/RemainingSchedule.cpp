#include "lib/jobs/schedule/RemainingSchedule.h"
#include "lib/jobs/problem/JobWords.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::jobs {
namespace {

/// Work that was whole is not rounded up because a quotient was not exact.
constexpr double kExact = 1 - 1e-12;
constexpr double kMicro = 1e6;

Steps stepsFrom(const Steps &steps, double at) {
  Steps left;
  for (const auto &[time, amount] : steps)
    if (time <= at)
      left.assign(1, {0, amount});
    else
      left.emplace_back(time - at, amount);
  return left;
}

class Remainder {
public:
  Remainder(const JobsRequest &block, const Cluster &cluster, const std::vector<JobTable> &tables,
            const RunningState &state)
      : block(block), cluster(cluster), tables(tables), state(state), at(static_cast<double>(state.at)) {
    for (const JobState &job : state.jobs)
      states.emplace(job.name, &job);
  }

  Result<RemainingSchedule, Errors> run() {
    ACCORD_TRY(whole, buildJobSchedule(block, cluster, tables));
    full = std::move(whole);
    for (size_t p = 0; p < full.parts.size(); ++p)
      lastPart.resize(full.parts[p].job), lastPart.push_back(p);
    if (block.horizon > 0 && block.horizon <= at)
      return Errors{{Code::WrongJobsBlock,
                     fmt::format("the horizon of {} is over at {}", timeText(block.horizon), timeText(at)),
                     block.location}};
    times();
    for (size_t j = 0; j < block.jobs.size(); ++j)
      addJob(j);
    forgetCompleted();
    ACCORD_TRY(left, buildJobSchedule(out.request, cluster, out.tables));
    out.built = std::move(left);
    for (size_t part = 0; part < out.built.parts.size(); ++part)
      setPart(part);
    for (size_t i = 0; i < out.built.problem.limits.size(); ++i)
      setLimit(i);
    setTail();
    if (!asksForTenants)
      for (size_t p = 0; p < full.parts.size(); ++p)
        if (completionOf(full.parts[p].job) >= 0)
          out.completedWeight += static_cast<int64_t>(static_cast<double>(full.problem.jobs[p].weight) *
                                                      out.built.weightScale / full.weightScale);
    if (auto checked = checkJobScheduleProblem(out.built.problem); !checked)
      return Errors{{checked.error().code, checked.error().message, block.location}};
    return std::move(out);
  }

private:
  void times() {
    out.request = block;
    JobsRequest &left = out.request;
    left.jobs.clear();
    if (left.slot <= 0)
      left.slot = static_cast<double>(state.slot > 0 ? state.slot : full.problem.slot);
    if (left.horizon > 0)
      left.horizon = roundedHorizon() - at;
    for (JobsRequest::Capacity &capacity : left.capacities)
      capacity.steps = stepsFrom(capacity.steps, at);
    std::erase_if(left.maintenances, [&](const auto &one) { return one.until <= at; });
    for (JobsRequest::Maintenance &one : left.maintenances)
      one.from = std::max(0.0, one.from - at), one.until -= at;
    for (const ServerAway &one : state.outages)
      if (one.server < cluster.servers.size() && one.until > state.at)
        left.maintenances.push_back({cluster.types[cluster.servers[one.server].type],
                                     0,
                                     static_cast<double>(std::max<int64_t>(0, one.from - state.at)),
                                     static_cast<double>(one.until - state.at),
                                     block.location,
                                     {one.server}});
    asksForTenants = std::any_of(left.objectives.begin(), left.objectives.end(),
                                 [](const auto &one) { return one.measure == JobMeasure::Group; }) ||
                     std::any_of(left.limits.begin(), left.limits.end(),
                                 [](const auto &one) { return one.measure == JobMeasure::Group; });
  }
  /// The end of the block's last period.
  double roundedHorizon() const { return static_cast<double>(full.problem.slot * full.problem.slots); }

  const JobState *find(size_t j) const {
    const auto found = states.find(block.jobs[j].name);
    return found == states.end() ? nullptr : found->second;
  }
  /// When a job is complete, -1: it is not. A block may ask for less work than was done.
  int64_t completionOf(size_t j) const {
    const JobState *now = find(j);
    if (!now)
      return -1;
    const bool isDone = tables[j].samples > 0 && now->done >= tables[j].samples;
    return now->completion >= 0 ? now->completion : isDone ? state.at : -1;
  }

  void addJob(size_t j) {
    const JobState *now = find(j);
    if (completionOf(j) >= 0 && !asksForTenants)
      return;
    JobsRequest::Job job = block.jobs[j];
    JobTable table = tables[j];
    const double done = completionOf(j) >= 0 ? table.samples : now ? std::min(now->done, table.samples) : 0;
    if (done > 0) {
      for (Steps *steps : {&job.phases, &job.batches.noise})
        *steps = stepsBehind(*steps, done / table.samples);
      table.samples = (table.samples - done) * kExact;
    }
    if (now && now->done > 0) // what it trains stays the same
      std::erase_if(table.rows, [&](const TableRow &row) { return row.choice != now->choice; });
    if (now)
      for (TableRow &row : table.rows)
        row.rate *= now->pace, row.lowRate *= now->pace, row.step /= now->pace;
    job.arrival = now && now->running ? 0 : std::max(0.0, job.arrival - at);
    if (job.deadline >= 0)
      job.deadline = completionOf(j) >= 0 ? -1 : std::max(0.0, job.deadline - at);
    if (job.due >= 0)
      job.due = completionOf(j) >= 0 ? -1 : std::max(0.0, job.due - at);
    job.optional &= completionOf(j) < 0;
    ofBlock.push_back(j);
    out.request.jobs.push_back(std::move(job));
    out.tables.push_back(std::move(table));
  }

  /// Steps behind a share of the work, as shares of what is left.
  static Steps stepsBehind(const Steps &steps, double done) {
    Steps left;
    for (const auto &[share, factor] : steps)
      if (share <= done)
        left.assign(1, {0, factor});
      else if (done < 1)
        left.emplace_back((share - done) / (1 - done), factor);
    return left;
  }

  void forgetCompleted() {
    std::set<std::string> there;
    for (const JobsRequest::Job &job : out.request.jobs)
      there.insert(job.name);
    for (JobsRequest::Job &job : out.request.jobs)
      std::erase_if(job.after, [&](const std::string &name) { return !there.contains(name); });
  }

  /// The part of the whole block's problem that a part is the rest of: its last parts are the same.
  const ScheduledJob &wholePart(const ScheduledPart &part) const {
    const size_t j = ofBlock[part.job];
    return full.problem.jobs[lastPart[j] - (part.phases - 1 - part.phase)];
  }

  void setPart(size_t p) {
    const ScheduledPart &part = out.built.parts[p];
    ScheduledJob &made = out.built.problem.jobs[p];
    const ScheduledJob &whole = wholePart(part);
    const size_t j = ofBlock[part.job];
    made.isolated = whole.isolated;
    const int64_t end = completionOf(j);
    if (made.arrival == 0)
      made.waited = std::clamp<int64_t>((end >= 0 ? end : state.at) - whole.arrival, 0, kMaxSeconds);
    out.current.emplace_back();
    const JobState *now = find(j);
    if (!now || end >= 0)
      return;
    if (part.phase == 0 && now->running)
      goOn(p, *now);
    limitRestarts(p, *now);
  }

  void goOn(size_t p, const JobState &now) {
    const ScheduledPart &part = out.built.parts[p];
    ScheduledJob &made = out.built.problem.jobs[p];
    out.current[p] = now.servers;
    const auto k = alikeConfiguration(out.built.problem, made, out.tables[part.job].rows, part.rows,
                                      {now.deviceType, now.devices, now.choice, now.configuration, now.plan});
    made.running = k ? static_cast<int64_t>(*k) : -1;
    if (!k) {
      out.assumptions.push_back(fmt::format("job '{}' starts again: it has no configuration of {} {} any more",
                                            made.name, now.devices, now.deviceType));
      return;
    }
    const __int128 rest = static_cast<__int128>(made.configurations[made.running].speed) * now.restarting;
    made.work = static_cast<int64_t>(std::min<__int128>(made.work + rest, kMaxAllocationNumber));
  }

  /// How often it may start from now on: what the block allows, less what it did, or what an event says. A job that
  /// does not run and has nothing left may start once all the same.
  void limitRestarts(size_t p, const JobState &now) {
    ScheduledJob &made = out.built.problem.jobs[p];
    if (made.maxRestarts >= 0 && out.built.parts[p].phases == 1) // of several, each has its own
      made.maxRestarts = std::max<int64_t>(0, made.maxRestarts - now.starts);
    if (now.restarts >= 0)
      made.maxRestarts = std::min(made.maxRestarts < 0 ? kMaxSlots : made.maxRestarts, now.restarts);
    if (made.maxRestarts == 0 && made.running < 0)
      made.maxRestarts = 1;
    if (made.maxRestarts == 0)
      out.assumptions.push_back(fmt::format("job '{}' has no restart left: it goes on in {}", made.name,
                                            made.configurations[made.running].name));
  }

  /// What all jobs that are complete count in a measure, and others by the moment.
  __int128 pastOf(JobMeasure measure) const {
    if (measure == JobMeasure::Price)
      return state.price;
    if (measure == JobMeasure::Energy)
      return state.energy;
    if (measure == JobMeasure::Carbon)
      return state.carbon;
    if (measure == JobMeasure::Makespan)
      return state.at;
    if (measure == JobMeasure::Restarts)
      return state.starts;
    __int128 sum = 0;
    for (size_t p = 0; p < full.parts.size(); ++p) {
      const ScheduledJob &job = full.problem.jobs[p];
      const int64_t end = completionOf(full.parts[p].job), until = end >= 0 ? end : state.at;
      if (measure == JobMeasure::Lateness && job.due >= 0)
        sum += static_cast<__int128>(job.latePrice) * std::max<int64_t>(0, until - job.due);
      if (end < 0)
        continue;
      const int64_t elapsed = std::max<int64_t>(0, end - job.arrival);
      if (measure == JobMeasure::Completion)
        sum += static_cast<__int128>(job.weight) * elapsed;
      if (measure == JobMeasure::Nash && elapsed > 0)
        sum += static_cast<__int128>(job.weight) *
               std::llround(kMicro * std::log2(static_cast<double>(elapsed) / static_cast<double>(job.isolated)));
    }
    return sum;
  }

  void setLimit(size_t i) {
    JobLimit &limit = out.built.problem.limits[i];
    const bool areWeighted = limit.measure == JobMeasure::Completion || limit.measure == JobMeasure::Nash ||
                             limit.measure == JobMeasure::Rejected;
    const double scale = areWeighted ? out.built.weightScale / full.weightScale : 1;
    const auto past =
        static_cast<int64_t>(std::clamp<__int128>(pastOf(limit.measure), -kMaxAllocationNumber, kMaxAllocationNumber));
    const bool remains = // jobs without work count it
        asksForTenants && (limit.measure == JobMeasure::Completion || limit.measure == JobMeasure::Nash);
    const int64_t left = full.problem.limits[i].max - (remains ? 0 : past);
    const int64_t min = limit.measure == JobMeasure::Nash ? -kMaxAllocationNumber : 0;
    limit.max = std::max(min, static_cast<int64_t>(std::floor(static_cast<double>(left) * scale)));
    if (scale == 1)
      limit.max = std::max(min, left);
    out.spent.push_back(full.problem.limits[i].max - limit.max);
    if (left < min)
      out.assumptions.push_back(
          fmt::format("the requirement '{}' is broken already, by {}", block.limits[i].text,
                      measureText(full.problem, limit.measure, past - full.problem.limits[i].max)));
  }

  void setTail() {
    JobScheduleProblem &problem = out.built.problem;
    int64_t tail = full.problem.tail;
    for (const JobLimit &limit : full.problem.limits)
      if (limit.measure == JobMeasure::Tail && !asksForTenants)
        for (size_t j = 0; j < block.jobs.size(); ++j)
          tail -= completionOf(j) >= 0 &&
                  static_cast<double>(completionOf(j)) - block.jobs[j].arrival > static_cast<double>(limit.max);
    problem.tail = std::clamp<int64_t>(tail, 0, static_cast<int64_t>(problem.jobs.size()));
  }

  const JobsRequest &block;
  const Cluster &cluster;
  const std::vector<JobTable> &tables;
  const RunningState &state;
  const double at;
  BuiltSchedule full; ///< of the whole block
  RemainingSchedule out;
  std::map<std::string, const JobState *> states;
  std::vector<size_t> lastPart; ///< of each job of the block
  std::vector<size_t> ofBlock;  ///< of each job that is left
  bool asksForTenants = false;
};

} // namespace

std::optional<unsigned> alikeConfiguration(const JobScheduleProblem &problem, const ScheduledJob &job,
                                           const std::vector<TableRow> &table, const std::vector<unsigned> &rows,
                                           const RunConfiguration &was) {
  std::optional<unsigned> found;
  int best = -1;
  for (unsigned k = 0; k < rows.size(); ++k) {
    const TableRow &row = table[rows[k]];
    if (problem.resources[row.type].name != was.deviceType || row.devices != was.devices || row.choice != was.choice)
      continue;
    const int alike = 2 * (job.configurations[k].name == was.name) + (row.plan == was.plan);
    if (alike > best)
      found = k, best = alike;
  }
  return found;
}

Result<RemainingSchedule, Errors> remainingSchedule(const JobsRequest &block, const Cluster &cluster,
                                                    const std::vector<JobTable> &tables, const RunningState &state) {
  return Remainder(block, cluster, tables, state).run();
}

} // namespace accord::jobs
