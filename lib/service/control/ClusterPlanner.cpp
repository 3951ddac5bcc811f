#include "lib/service/control/ClusterPlanner.h"
#include "lib/jobs/output/ConflictWords.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/jobs/schedule/JobConflicts.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/KeptPlan.h"
#include "lib/jobs/schedule/RemainingSchedule.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/schedule/WaitReasons.h"
#include "lib/service/control/MomentPlanner.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {
namespace {
using namespace jobs;

constexpr double kLong = 8;                 ///< of what takes longer than so many medians, the first part is planned
constexpr double kMaxPlanned = 86400 * 365; ///< seconds of a job, whatever its median
constexpr double kSlack = 1.3;              ///< of a horizon over the work of all jobs divided by all devices
constexpr double kMinGain = 0.02;           ///< of an objective, for which something that runs is interrupted
constexpr unsigned kHorizons = 6;           ///< each is twice as long as the one before
constexpr unsigned kRelaxations = 16;       ///< of conflicts, before all deadlines and requirements are dropped
constexpr double kDefaultRestart = 120;     ///< seconds, as a `jobs` block has it

double workLeft(const PlannerJob &job) { return std::max(0.0, job.work - job.state.done); }

/// Seconds that a job takes by itself, in its fastest configuration.
double minSeconds(const PlannerJob &job) {
  double rate = 0;
  for (const TableRow &row : job.model->table.rows)
    rate = std::max(rate, row.rate * job.state.pace);
  const double restart = job.state.running                 ? 0
                         : job.model->request.restart >= 0 ? job.model->request.restart
                                                           : kDefaultRestart;
  return rate > 0 ? workLeft(job) / rate + restart : 0;
}

/// Device-seconds that it takes in the configuration that needs the fewest.
double minService(const PlannerJob &job) {
  double min = -1;
  for (const TableRow &row : job.model->table.rows)
    if (row.rate > 0) {
      const double seconds = workLeft(job) / (row.rate * job.state.pace) + std::max(0.0, job.model->request.restart);
      const double service = seconds * static_cast<double>(row.devices);
      min = min < 0 ? service : std::min(min, service);
    }
  return std::max(0.0, min);
}

int64_t minDevices(const PlannerJob &job) {
  int64_t min = 0;
  for (const TableRow &row : job.model->table.rows)
    min = min == 0 ? row.devices : std::min(min, row.devices);
  return std::max<int64_t>(1, min);
}

/// Whether a configuration is within what the description allows at any time.
bool isAllowed(const PlannerJob &job, const TableRow &row, const PlannerInput &input) {
  const std::string &type = input.cluster.types[row.type];
  for (const JobsRequest::Tenant &tenant : input.operation.tenants)
    for (const auto &[of, quota] : tenant.quota)
      if (tenant.name == job.model->request.tenant && (of.empty() || of == type) && row.devices > quota)
        return false;
  return std::ranges::all_of(input.operation.capacities, [&](const JobsRequest::Capacity &capacity) {
    const double needed = capacity.resource == kPowerResource ? row.watts
                          : capacity.resource == type         ? static_cast<double>(row.devices)
                                                              : 0;
    return needed <= 0 || std::ranges::any_of(capacity.steps, [&](const auto &step) { return needed <= step.second; });
  });
}

/// Devices of each type on servers that take tasks.
std::vector<int64_t> devicesThere(const PlannerInput &input) {
  std::vector<int64_t> devices = input.cluster.capacity();
  for (const ServerAway &away : input.outages) {
    const Server &server = input.cluster.servers[away.server];
    devices[server.type] -= server.devices;
  }
  return devices;
}

/// Whether a job has a configuration that these devices could hold, within the quotas of its tenant and all power.
bool canRun(const PlannerJob &job, const PlannerInput &input, const std::vector<int64_t> &devices) {
  return std::ranges::any_of(job.model->table.rows, [&](const TableRow &row) {
    return row.rate > 0 && row.devices <= devices[row.type] && isAllowed(job, row, input);
  });
}

/// The jobs that are planned: see the header.
class TurnOrder {
public:
  TurnOrder(const PlannerInput &input, size_t maxJobs) : input(input), maxJobs(maxJobs) {
    for (const JobsRequest::Tenant &tenant : input.operation.tenants)
      weights[tenant.name] = tenant.weight;
  }

  std::vector<const PlannerJob *> pick() {
    std::map<std::string, std::vector<const PlannerJob *>> waiting;
    std::map<std::string, double> held;
    const std::vector<int64_t> devices = devicesThere(input);
    for (const PlannerJob &job : input.jobs) {
      if (!job.state.running && !canRun(job, input, devices))
        continue;
      if (job.state.running) {
        take(job);
        held[job.model->request.tenant] += static_cast<double>(job.state.devices) / weightOf(job);
      } else {
        waiting[job.model->request.tenant].push_back(&job);
      }
    }
    for (auto &[tenant, jobs] : waiting)
      for (const PlannerJob *job : jobs)
        waits.emplace(job->id, job);
    for (auto &[tenant, jobs] : waiting)
      std::sort(jobs.begin(), jobs.end(), [](const PlannerJob *a, const PlannerJob *b) {
        auto deadline = [](const PlannerJob *job) {
          return job->model->request.deadline >= 0 ? job->model->request.deadline : 1e300;
        };
        return std::tuple(-a->model->request.priority, deadline(a), a->id) <
               std::tuple(-b->model->request.priority, deadline(b), b->id);
      });
    std::map<std::string, size_t> next;
    for (size_t room = maxJobs; room > 0;) {
      const std::string *turn = nullptr;
      for (const auto &[tenant, jobs] : waiting)
        if (next[tenant] < jobs.size() && (!turn || held[tenant] < held[*turn]))
          turn = &tenant;
      if (!turn)
        break;
      std::vector<const PlannerJob *> together;
      if (!collect(*waiting[*turn][next[*turn]++], room, together))
        continue;
      for (const PlannerJob *job : together) {
        take(*job);
        held[job->model->request.tenant] += static_cast<double>(minDevices(*job)) / weightOf(*job);
        --room;
      }
    }
    std::ranges::sort(picked, {}, &PlannerJob::id);
    return picked;
  }

private:
  double weightOf(const PlannerJob &job) const {
    const auto found = weights.find(job.model->request.tenant);
    return found == weights.end() || found->second <= 0 ? 1 : found->second;
  }
  /// A job and all that it comes after, as far as they are not taken; false where they are more than there is room
  /// for, or one of them cannot run.
  bool collect(const PlannerJob &job, size_t room, std::vector<const PlannerJob *> &together) const {
    if (taken.contains(job.id))
      return false;
    std::set<int64_t> seen{job.id};
    together.push_back(&job);
    for (size_t i = 0; i < together.size() && together.size() <= room; ++i)
      for (int64_t id : together[i]->after) {
        if (taken.contains(id) || !seen.insert(id).second)
          continue;
        const auto before = waits.find(id);
        if (before == waits.end())
          return false;
        together.push_back(before->second);
      }
    return together.size() <= room;
  }
  void take(const PlannerJob &job) {
    picked.push_back(&job);
    taken.insert(job.id);
  }

  const PlannerInput &input;
  const size_t maxJobs;
  std::map<std::string, double> weights;
  std::map<int64_t, const PlannerJob *> waits;
  std::vector<const PlannerJob *> picked;
  std::set<int64_t> taken;
};

} // namespace

std::vector<const PlannerJob *> jobsByTurn(const PlannerInput &input, size_t maxWaiting) {
  return TurnOrder(input, maxWaiting).pick();
}

namespace {

class Planner {
public:
  Planner(const PlannerInput &input, const PlannerOptions &options, const ClusterPlan *before)
      : input(input), options(options), before(before), picked(jobsByTurn(input, options.maxJobs)) {}

  Result<ClusterPlan, Errors> run() {
    plan.at = input.at;
    for (const PlannerJob *job : picked) {
      byName[job->model->request.name] = job;
      names[job->id] = job->model->request.name;
    }
    if (picked.empty()) {
      explainRest();
      return std::move(plan);
    }
    request = input.operation;
    findLong();
    for (const PlannerJob *job : picked)
      addJob(*job);
    horizon();
    dropLate();
    if (auto error = solve())
      return std::move(*error);
    finish();
    return std::move(plan);
  }

private:
  /// A training of a month beside jobs of an hour would make periods of hours: of what takes much longer than the
  /// others, only the first part is planned now. It stays the longest.
  void findLong() {
    std::vector<double> times;
    for (const PlannerJob *job : picked)
      times.push_back(minSeconds(*job));
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    const double median = times[times.size() / 2];
    maxPlanned = std::max(kLong * median, static_cast<double>(options.slots * options.minSlot));
    maxPlanned = std::min(maxPlanned, kMaxPlanned);
  }
  /// The samples of a job's work that are planned.
  double plannedWork(const PlannerJob &job) const {
    const double deadline = job.model->request.deadline, left = deadline - static_cast<double>(input.at);
    const double seconds = minSeconds(job);
    const bool counts = deadline >= 0 && left <= maxPlanned && seconds <= left; // it has to be whole
    if (seconds <= maxPlanned || counts)
      return job.work;
    return job.state.done + (job.work - job.state.done) * maxPlanned / seconds;
  }

  void addJob(const PlannerJob &job) {
    JobsRequest::Job asked = job.model->request;
    const auto at = static_cast<double>(input.at);
    asked.after.clear();
    if (job.staysAsItIs())
      asked.elasticity = Elasticity::Moldable;
    for (int64_t id : job.after)
      if (const auto name = names.find(id); name != names.end())
        asked.after.push_back(name->second);
    asked.deviceTypes.clear(); // its table has those alone; others the cluster may not have now
    asked.arrival = std::max({0.0, asked.arrival - at, job.notBefore - at});
    if (asked.deadline >= 0)
      asked.deadline = std::max(0.0, asked.deadline - at);
    if (asked.due >= 0)
      asked.due = std::max(0.0, asked.due - at);
    request.jobs.push_back(std::move(asked));
    tables.push_back(job.model->table);
    tables.back().samples = plannedWork(job);
    JobState state = job.state;
    state.name = job.model->request.name;
    state.samples = tables.back().samples;
    if (state.running && job.model->request.elasticity != Elasticity::Malleable)
      state.restarts = 0; // it stays where it is until it ends
    running.jobs.push_back(std::move(state));
  }

  /// Times of the block count from the moment.
  static void shift(Steps &steps, double at) {
    Steps left;
    for (const auto &[time, amount] : steps)
      if (time <= at)
        left.assign(1, {0, amount});
      else
        left.emplace_back(time - at, amount);
    steps = std::move(left);
  }

  void horizon() {
    const auto at = static_cast<double>(input.at);
    for (JobsRequest::Capacity &capacity : request.capacities)
      shift(capacity.steps, at);
    followNodes();
    std::erase_if(request.maintenances, [&](const auto &one) { return one.until <= at; });
    for (JobsRequest::Maintenance &one : request.maintenances)
      one.from = std::max(0.0, one.from - at), one.until -= at;
    for (ServerAway away : input.outages) {
      away.from = std::max<int64_t>(0, away.from - input.at);
      if (away.until < kForGood)
        away.until -= input.at;
      running.outages.push_back(away);
    }
    double service = 0, longest = 0;
    for (const PlannerJob *job : picked) {
      const double part = workLeft(*job) > 0 ? (plannedWork(*job) - job->state.done) / workLeft(*job) : 1;
      service += minService(*job) * part;
      longest = std::max(longest, minSeconds(*job) * part);
    }
    int64_t devices = input.cluster.devices();
    for (const ServerAway &away : running.outages)
      devices -= away.from == 0 ? input.cluster.servers[away.server].devices : 0;
    seconds = kSlack * service / static_cast<double>(std::max<int64_t>(1, devices)) + longest;
    for (const JobsRequest::Job &job : request.jobs)
      seconds = std::max(seconds, job.arrival + longest);
    setTimes();
  }

  /// The description may speak of devices that are not there now.
  void followNodes() {
    const std::vector<int64_t> devices = input.cluster.capacity();
    for (JobsRequest::Capacity &capacity : request.capacities)
      for (size_t type = 0; type < devices.size(); ++type)
        if (capacity.resource == input.cluster.types[type])
          for (auto &[time, amount] : capacity.steps)
            amount = std::min(amount, static_cast<double>(devices[type]));
    std::erase_if(request.maintenances, [&](const JobsRequest::Maintenance &one) {
      return std::ranges::any_of(one.servers, [&](unsigned server) {
        return server >= input.cluster.servers.size() ||
               input.cluster.types[input.cluster.servers[server].type] != one.deviceType;
      });
    });
  }

  /// Periods are as stated, or so that there are about as many as wanted.
  void setTimes() {
    const double stated = input.operation.slot;
    double slot = stated > 0 ? stated : std::ceil(seconds / static_cast<double>(options.slots));
    slot = std::max({slot, static_cast<double>(options.minSlot), std::ceil(2 * seconds / kMaxSlots)});
    request.slot = std::ceil(slot);
    request.horizon = request.slot * (std::ceil(seconds / request.slot) + 2);
    for (const JobsRequest::Job &job : request.jobs) // neither may be behind the horizon
      for (double time : {job.deadline, job.due})
        if (time > request.horizon && time < request.slot * static_cast<double>(kMaxSlots - 1))
          request.horizon = std::max(request.horizon, std::ceil(time / request.slot) * request.slot);
  }

  /// Deadlines that no configuration keeps, or that are too far away to count in this plan.
  void dropLate() {
    for (size_t j = 0; j < request.jobs.size(); ++j) {
      JobsRequest::Job &job = request.jobs[j];
      if (job.due > request.horizon) // counts when it is nearer
        job.due = -1;
      if (job.deadline < 0)
        continue;
      if (job.deadline > request.horizon) { // counts when it is nearer
        job.deadline = -1;
        continue;
      }
      if (job.deadline < minSeconds(*picked[j])) {
        plan.dropped.push_back(fmt::format("job '{}' cannot keep its deadline: it takes {} more, and {} are left",
                                           job.name, timeText(minSeconds(*picked[j])), timeText(job.deadline)));
        withoutDeadline(j);
      }
    }
  }
  void withoutDeadline(size_t j) {
    request.jobs[j].deadline = -1;
    plan.withoutDeadline.insert(picked[j]->id);
  }

  std::optional<Errors> build() {
    auto made = remainingSchedule(request, input.cluster, tables, running);
    if (!made)
      return made.error();
    left = std::move(*made);
    for (size_t p = 0; p < left.built.parts.size(); ++p) {
      const PlannerJob &job = *byName.at(left.request.jobs[left.built.parts[p].job].name);
      const double waited = static_cast<double>(input.at) - job.model->request.arrival;
      if (left.built.problem.jobs[p].arrival == 0 && waited > 0)
        left.built.problem.jobs[p].waited = std::min<int64_t>(std::llround(waited), kMaxSeconds);
    }
    JobAnswer old;
    if (before && before->answer) {
      old = *before->answer;
      old.replan = Replan{};
      old.replan->state.at = before->at - input.at;
    }
    kept = keepPlan(left, old, running);
    return std::nullopt;
  }

  std::optional<Errors> solve() {
    for (unsigned round = 0; round < kHorizons + kRelaxations; ++round) {
      if (auto errors = build())
        return errors;
      const JobScheduleProblem &problem = left.built.problem;
      if (kept.known.empty() && !problem.jobs.empty() && round < kHorizons && !keepsEverythingElse()) {
        if (round > 0)
          letMove();
        seconds *= 2; // the last jobs have no room, whatever their deadlines
        setTimes();
        continue;
      }
      schedule = solveJobSchedule(problem, options.limits, kept.known);
      if (!schedule.jobs.empty() || problem.jobs.empty()) {
        stayIfAsGood();
        return std::nullopt;
      }
      relax();
    }
    return Errors{{Code::InternalError, "no schedule of the jobs was found"}};
  }

  /// What runs and may not change may have no room where it is, as its servers are serviced: then it is planned anew.
  void letMove() {
    for (JobState &job : running.jobs)
      job.restarts = -1;
  }

  /// A schedule that is hardly better than the plan so far does not interrupt what runs. (Of several objectives, proofs
  /// of the later ones are for the values of those before.)
  void stayIfAsGood() {
    const JobScheduleProblem &problem = left.built.problem;
    if (kept.known.size() != problem.jobs.size() || schedule.values.size() != 1 || problem.objectives.size() != 1)
      return;
    size_t moves = 0, movesOfKnown = 0;
    for (size_t p = 0; p < problem.jobs.size(); ++p) {
      moves += isInterrupted(problem.jobs[p], schedule.jobs[p]);
      movesOfKnown += isInterrupted(problem.jobs[p], kept.known[p]);
    }
    const int64_t value = valueOf(problem, problem.objectives.front(), kept.known);
    const double gain = static_cast<double>(value) - static_cast<double>(schedule.values.front());
    if (movesOfKnown >= moves || gain > kMinGain * std::abs(static_cast<double>(value)))
      return;
    schedule.jobs = kept.known;
    schedule.values.front() = value;
    if (!schedule.proofs.empty() && value > schedule.proofs.front().bound)
      schedule.status = AllocationStatus::Feasible;
  }
  static bool isInterrupted(const ScheduledJob &job, const JobTrajectory &does) {
    return job.running >= 0 && (does.runs.empty() || does.runs.front().begin > 0 ||
                                static_cast<int64_t>(does.runs.front().configuration) != job.running);
  }

  /// Whether all jobs have a place within the horizon if deadlines and requirements did not count.
  bool keepsEverythingElse() {
    const auto deadlines = request.jobs;
    const auto limits = request.limits;
    for (JobsRequest::Job &job : request.jobs)
      job.deadline = -1;
    request.limits.clear();
    const bool isBuilt = !build();
    const bool fits = isBuilt && !kept.known.empty();
    request.jobs = deadlines, request.limits = limits;
    return fits && !build();
  }

  void relax() {
    const JobScheduleProblem &problem = left.built.problem;
    std::optional<JobConflict> conflict;
    if (schedule.status == AllocationStatus::Infeasible && ++relaxations <= kRelaxations)
      conflict = explainConflict(problem, options.limits);
    if (options.limits.stopped()) // it is not the smallest
      conflict.reset();
    std::vector<std::string> texts;
    for (const JobsRequest::Limit &limit : request.limits)
      texts.push_back(limit.text);
    std::string words;
    std::set<size_t> deadlines, limits;
    if (conflict)
      for (const JobConstraint &one : conflict->constraints) {
        words += (words.empty() ? "" : "; ") + wordsOf(one, problem, texts);
        if (one.of == JobConstraint::Of::Deadline)
          deadlines.insert(left.built.parts[one.index].job);
        if (one.of == JobConstraint::Of::Limit)
          limits.insert(one.index);
      }
    if (deadlines.empty() && limits.empty()) { // not proved, or not in these words: all of them
      words = "no schedule was found that keeps all deadlines and requirements";
      for (size_t j = 0; j < request.jobs.size(); ++j)
        if (request.jobs[j].deadline >= 0)
          deadlines.insert(indexInLeft(request.jobs[j].name));
      for (size_t i = 0; i < request.limits.size(); ++i)
        limits.insert(i);
      if (deadlines.empty() && limits.empty())
        letMove(), seconds *= 2, setTimes();
    } else {
      words = "these exclude each other: " + words;
    }
    plan.dropped.push_back(words);
    for (size_t j : deadlines)
      for (size_t i = 0; i < request.jobs.size(); ++i)
        if (j < left.request.jobs.size() && request.jobs[i].name == left.request.jobs[j].name)
          withoutDeadline(i);
    for (auto i = limits.rbegin(); i != limits.rend(); ++i)
      request.limits.erase(request.limits.begin() + static_cast<std::ptrdiff_t>(*i));
  }
  size_t indexInLeft(const std::string &name) const {
    return std::ranges::find(left.request.jobs, name, &JobsRequest::Job::name) - left.request.jobs.begin();
  }

  void finish() {
    auto answer = std::make_shared<JobAnswer>();
    answer->name = request.name, answer->cluster = input.cluster;
    answer->absences = left.built.absences;
    answer->problem = left.built.problem, answer->schedule = schedule;
    for (const JobsRequest::Limit &limit : request.limits)
      answer->requirements.push_back(limit.text);
    for (const ScheduledPart &part : left.built.parts) {
      JobWords words{left.request.jobs[part.job].tenant, left.request.jobs[part.job].train, {}, part.samples};
      for (unsigned row : part.rows) {
        const TableRow &of = left.tables[part.job].rows[row];
        words.configurations.push_back({of.plan, of.type, of.devices, static_cast<int64_t>(of.memory), of.step});
      }
      answer->jobs.push_back(std::move(words));
      plan.ids.push_back(byName.at(left.request.jobs[part.job].name)->id);
    }
    placeJobs(*answer, left.current);
    answer->waits = waitReasons(*answer);
    plan.slot = answer->problem.slot;
    plan.answer = answer;
    addRuns();
    explainWaits();
    setPrices();
  }

  void addRuns() {
    const JobAnswer &answer = *plan.answer;
    for (size_t p = 0; p < answer.schedule.jobs.size(); ++p) {
      const JobTrajectory &does = answer.schedule.jobs[p];
      const ScheduledJob &of = answer.problem.jobs[p];
      const ScheduledPart &part = left.built.parts[p];
      const PlannerJob &job = *byName.at(left.request.jobs[part.job].name);
      for (size_t r = 0; r < does.runs.size(); ++r) {
        const JobRun &run = does.runs[r];
        const unsigned row = part.rows[run.configuration];
        const TableRow &in = left.tables[part.job].rows[row];
        PlannedRun made;
        made.job = job.id, made.part = p, made.index = r;
        made.begin = static_cast<double>(input.at + run.begin * answer.problem.slot);
        made.end = static_cast<double>(input.at + run.end * answer.problem.slot);
        made.isLast = r + 1 == does.runs.size() && part.phase + 1 == part.phases;
        if (made.isLast && does.completion >= 0)
          made.end = std::min(made.end, static_cast<double>(input.at + does.completion));
        made.deviceType = input.cluster.types[in.type], made.devices = in.devices;
        if (p < answer.placements.size() && r < answer.placements[p].size())
          made.servers = answer.placements[p][r];
        made.configuration = of.configurations[run.configuration].name, made.plan = in.plan;
        made.rate = in.rate;
        made.row = rowOf(job, in);
        made.goesOn = run.begin == 0 && of.running == static_cast<int64_t>(run.configuration);
        plan.runs.push_back(std::move(made));
      }
      if (does.completion >= 0 && !does.runs.empty()) {
        const TableRow &last = left.tables[part.job].rows[part.rows[does.runs.back().configuration]];
        const double rest = (job.work - plannedWork(job)) / std::max(1e-9, last.rate);
        plan.ends[job.id] = static_cast<double>(input.at + does.completion) + rest;
        if (!plan.runs.empty() && plan.runs.back().job == job.id)
          plan.runs.back().end += rest;
      }
    }
    std::ranges::sort(plan.runs, {},
                      [](const PlannedRun &run) { return std::tuple(run.begin, run.job, run.part, run.index); });
  }
  /// The row of a job's own table, of which some may have been left out.
  static unsigned rowOf(const PlannerJob &job, const TableRow &row) {
    for (unsigned i = 0; i < job.model->table.rows.size(); ++i) {
      const TableRow &one = job.model->table.rows[i];
      if (one.type == row.type && one.devices == row.devices && one.plan == row.plan && one.level == row.level &&
          one.choice == row.choice && one.batch == row.batch)
        return i;
    }
    return 0;
  }

  void explainWaits() {
    for (const JobWait &wait : plan.answer->waits)
      if (wait.from == 0)
        plan.waits.emplace(plan.ids[wait.job], wait.text);
    explainRest();
  }
  bool mayEverRun(const PlannerJob &job) const {
    return std::ranges::any_of(job.model->table.rows, [&](const TableRow &row) { return isAllowed(job, row, input); });
  }
  /// Jobs that are not planned.
  void explainRest() {
    size_t before = picked.size();
    std::set<int64_t> planned;
    for (const PlannerJob *job : picked)
      planned.insert(job->id);
    const std::vector<int64_t> devices = devicesThere(input);
    for (const PlannerJob &job : input.jobs)
      if (job.model->table.rows.empty())
        plan.waits[job.id] = "it has no configuration: " + job.model->table.reason;
      else if (!job.state.running && !canRun(job, input, devices))
        plan.waits[job.id] = mayEverRun(job) ? "the nodes that could hold it take no tasks"
                                             : "quotas or limits of the cluster are below what it needs";
      else if (!planned.contains(job.id))
        plan.waits[job.id] = job.after.empty() ? fmt::format("{} jobs are planned before it", before++)
                                               : fmt::format("it comes after job {}", job.after.front());
  }

  /// What the proof of the first objective would pay for one more device of each type in the first period.
  void setPrices() {
    const JobAnswer &answer = *plan.answer;
    plan.prices.assign(input.cluster.types.size(), 0);
    if (answer.schedule.proofs.empty())
      return;
    const JobScheduleProof &proof = answer.schedule.proofs.front();
    for (size_t type = 0; type < plan.prices.size(); ++type) {
      const size_t row = type * static_cast<size_t>(answer.problem.slots);
      if (row < proof.prices.size())
        plan.prices[type] = static_cast<double>(proof.prices[row]) / static_cast<double>(proof.denominator);
      else if (proof.allocation.nodes.size() == 1 && row < proof.allocation.nodes.front().prices.size())
        plan.prices[type] = static_cast<double>(proof.allocation.nodes.front().prices[row]) /
                            static_cast<double>(proof.allocation.denominator);
    }
  }

  const PlannerInput &input;
  const PlannerOptions &options;
  const ClusterPlan *before;
  const std::vector<const PlannerJob *> picked;
  std::map<std::string, const PlannerJob *> byName;
  std::map<int64_t, std::string> names;
  JobsRequest request;
  std::vector<JobTable> tables;
  RunningState running;
  RemainingSchedule left;
  KeptPlan kept;
  JobSchedule schedule;
  double seconds = 0, maxPlanned = 0;
  unsigned relaxations = 0;
  ClusterPlan plan;
};

/// What is in use of each resource of a plan in each of its periods, so that runs can begin early in what is free.
class EarlyRoom {
public:
  /// Jobs that are not `open` any more use nothing.
  EarlyRoom(const ClusterPlan &plan, double now, const std::set<int64_t> &open)
      : answer(*plan.answer), problem(answer.problem), used(usedAmounts(problem, leftOf(plan, open))),
        first(std::clamp<int64_t>((static_cast<int64_t>(now) - plan.at) / problem.slot, 0, problem.slots - 1)) {
    servers.assign(answer.cluster.servers.size(), std::vector<int64_t>(problem.slots, 0));
    for (size_t p = 0; p < answer.schedule.jobs.size(); ++p)
      for (size_t r = 0; r < answer.schedule.jobs[p].runs.size() && p < answer.placements.size(); ++r)
        if (open.contains(plan.ids[p]) && r < answer.placements[p].size())
          occupy(answer.placements[p][r], answer.schedule.jobs[p].runs[r].begin, answer.schedule.jobs[p].runs[r].end);
  }

  /// Takes what a run needs from the current period up to its begin, if that is free.
  bool take(size_t p, size_t r) {
    const JobRun &run = answer.schedule.jobs[p].runs[r];
    const JobConfiguration &configuration = problem.jobs[p].configurations[run.configuration];
    const JobPlacement &placement = answer.placements[p][r];
    for (int64_t slot = first; slot < run.begin; ++slot) {
      for (const ResourceUse &use : configuration.uses)
        if (used[use.resource][slot] + use.amount > problem.resources[use.resource].capacity[slot])
          return false;
      for (const ServerShare &share : placement)
        if (servers[share.server][slot] + share.devices > answer.cluster.servers[share.server].devices ||
            isAbsent(share.server, slot))
          return false;
    }
    for (int64_t slot = first; slot < run.begin; ++slot)
      for (const ResourceUse &use : configuration.uses)
        used[use.resource][slot] += use.amount;
    occupy(placement, first, run.begin);
    return true;
  }

private:
  static JobSchedule leftOf(const ClusterPlan &plan, const std::set<int64_t> &open) {
    JobSchedule left = plan.answer->schedule;
    for (size_t p = 0; p < left.jobs.size(); ++p)
      if (!open.contains(plan.ids[p]))
        left.jobs[p].runs.clear();
    return left;
  }
  void occupy(const JobPlacement &placement, int64_t begin, int64_t end) {
    for (const ServerShare &share : placement)
      for (int64_t slot = begin; slot < std::min(end, problem.slots); ++slot)
        servers[share.server][slot] += share.devices;
  }
  bool isAbsent(unsigned server, int64_t slot) const {
    return std::ranges::any_of(answer.absences, [&](const ServerAbsence &one) {
      return one.server == server && one.begin <= slot && slot < one.end;
    });
  }

  const JobAnswer &answer;
  const JobScheduleProblem &problem;
  std::vector<std::vector<int64_t>> used, servers;
  const int64_t first;
};

} // namespace

static Result<ClusterPlan, Errors> planWith(const PlannerInput &input, const PlannerOptions &options,
                                            const ClusterPlan *before) {
  const auto running = std::ranges::count_if(input.jobs, [](const PlannerJob &job) { return job.state.running; });
  const size_t waiting = std::min(options.maxJobs, input.jobs.size() - static_cast<size_t>(running));
  if (static_cast<size_t>(running) + waiting > options.maxScheduled)
    return planMoment(input, options);
  auto made = Planner(input, options, before).run();
  if (made)
    return made;
  // A running cluster goes on: what no schedule over a horizon holds does not stop all others.
  const std::string why = made.error().front().message;
  auto moment = planMoment(input, options);
  if (moment)
    moment->dropped.push_back(
        fmt::format("there is no schedule over a horizon ({}): the moment alone is planned, without deadlines", why));
  return moment;
}

Result<ClusterPlan, Errors> planCluster(const PlannerInput &input, const PlannerOptions &options,
                                        const ClusterPlan *before) {
  auto made = planWith(input, options, before);
  if (made)
    expectTimes(input, *made);
  return made;
}

std::vector<PlannedRun> dueRuns(const ClusterPlan &plan, double now, const std::set<int64_t> &open) {
  std::vector<PlannedRun> due;
  std::optional<EarlyRoom> room;
  if (plan.answer)
    room.emplace(plan, now, open);
  std::set<int64_t> found;
  // Runs of a job in their order; of several jobs the first that begins.
  for (const PlannedRun &run : plan.runs) {
    if (!open.contains(run.job) || found.contains(run.job) || (run.end <= now && !run.isLast))
      continue;
    if (run.begin <= now) {
      found.insert(run.job);
      due.push_back(run);
      continue;
    }
    found.insert(run.job); // a later run of the same job does not begin before it
    if (run.servers.empty())
      continue;
    if (room && room->take(run.part, run.index))
      due.push_back(run);
  }
  return due;
}

} // namespace accord::service
