#include "lib/jobs/schedule/KeptPlan.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/jobs/schedule/RunningState.h"
#include "lib/jobs/schedule/ScheduleRepair.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::jobs {
namespace {

std::string hours(double seconds) { return timeText(seconds); }

/// The jobs of a plan's problem that are of each job of the block.
class PartsOfJobs {
public:
  explicit PartsOfJobs(const JobAnswer &plan) {
    for (size_t p = 0; p < plan.problem.jobs.size(); ++p)
      parts[blockJobOf(plan.problem.jobs[p].name)].push_back(p);
  }
  const std::vector<size_t> &of(const std::string &name) const {
    static const std::vector<size_t> kNone;
    const auto found = parts.find(name);
    return found == parts.end() ? kNone : found->second;
  }

private:
  std::map<std::string, std::vector<size_t>> parts;
};

/// States of jobs by their names.
class StatesOfJobs {
public:
  explicit StatesOfJobs(const RunningState &state) {
    for (const JobState &job : state.jobs)
      states.emplace(job.name, &job);
  }
  const JobState *find(const std::string &name) const {
    const auto found = states.find(name);
    return found == states.end() ? nullptr : found->second;
  }

private:
  std::map<std::string, const JobState *> states;
};

class Keeper {
public:
  Keeper(const RemainingSchedule &left, const JobAnswer &plan, const RunningState &state)
      : left(left), problem(left.built.problem), plan(plan), planParts(plan),
        moment(state.at - (plan.replan ? plan.replan->state.at : 0)) {
    stage.limits = problem.limits;
  }

  KeptPlan run() {
    kept.jobs.resize(problem.jobs.size());
    for (size_t p = 0; p < problem.jobs.size(); ++p)
      if (!keep(p))
        missing.push_back(p);
    const std::vector<JobTrajectory> own = kept.jobs; // nobody is elsewhere than the plan says
    ScheduleRepair repair(problem, stage);
    if (kept.why.empty())
      findCollision(own);
    if (kept.why.empty() && !repair.fill(kept.jobs, missing))
      kept.why = "there is no room beside it for " + namesOf(missing);
    if (kept.why.empty())
      findBrokenLimit();
    if (kept.why.empty())
      kept.known = kept.jobs;
    else
      findKnown(own, repair);
    return std::move(kept);
  }

private:
  void refuse(std::string why) {
    if (kept.why.empty())
      kept.why = std::move(why);
  }
  std::string namesOf(const std::vector<size_t> &jobs) const {
    std::string all;
    for (size_t p : jobs)
      all += (all.empty() ? "'" : ", '") + problem.jobs[p].name + "'";
    return all;
  }

  /// The trajectory of a job by the plan; false where the plan has none that the job could have.
  bool keep(size_t p) {
    const ScheduledJob &job = problem.jobs[p];
    const ScheduledPart &part = left.built.parts[p];
    const std::vector<size_t> &parts = planParts.of(left.request.jobs[part.job].name);
    const size_t behind = part.phases - part.phase; // phases from it to the last
    if (job.work == 0)
      return false; // placed without a run
    if (parts.size() < behind)
      return false;
    const size_t old = parts[parts.size() - behind];
    const JobTrajectory &did = plan.schedule.jobs[old];
    if (did.completion < 0)
      return job.mayBeRejected; // it stays without runs
    std::vector<JobRun> runs;
    for (const JobRun &run : did.runs)
      if (!take(p, old, run, runs))
        return false;
    return !runs.empty() && (did.continues ? keepOpen(p, runs) : complete(p, runs));
  }

  /// Keeps runs after which the plan leaves work, where some is left.
  bool keepOpen(size_t p, const std::vector<JobRun> &runs) {
    const ScheduledJob &job = problem.jobs[p];
    JobTrajectory made{runs, endOf(problem, job), true};
    for (JobRun &run : made.runs)
      run.end = std::min(run.end, problem.slots);
    const int64_t rest = workLeft(problem, job, made.runs);
    const bool isMoved = job.elasticity == Elasticity::Moldable && (runs.size() > 1 || runs.back().end < problem.slots);
    if (rest <= 0 || isMoved || rest > maxWorkLeft(problem, job, endOf(problem, job)) ||
        runs.back().begin >= problem.slots)
      return complete(p, runs);
    kept.jobs[p] = std::move(made);
    return true;
  }

  /// Adds a run of the plan from the moment on.
  bool take(size_t p, size_t old, const JobRun &run, std::vector<JobRun> &runs) {
    auto slotOf = [&](int64_t slot) {
      const int64_t time = slot * plan.problem.slot - moment;
      return time <= 0 ? 0 : (time + problem.slot - 1) / problem.slot;
    };
    JobRun now{slotOf(run.begin), slotOf(run.end), 0};
    if (now.end <= now.begin)
      return true;
    const ConfigurationWords &was = plan.jobs[old].configurations[run.configuration];
    const std::optional<unsigned> k =
        configurationOf(p, was, plan.problem.jobs[old].configurations[run.configuration].name);
    if (!k) {
      refuse(fmt::format("job '{}' has no configuration '{}' any more", problem.jobs[p].name,
                         configurationText(plan, old, run.configuration)));
      return false;
    }
    now.configuration = *k;
    if (!runs.empty() && runs.back().end == now.begin && runs.back().configuration == now.configuration)
      runs.back().end = now.end;
    else
      runs.push_back(now);
    return true;
  }

  /// The configuration with the devices of one of the plan, and with its name and plan where there is one.
  std::optional<unsigned> configurationOf(size_t p, const ConfigurationWords &was, const std::string &name) const {
    if (was.type >= plan.cluster.types.size())
      return std::nullopt;
    const ScheduledPart &part = left.built.parts[p];
    return alikeConfiguration(problem, problem.jobs[p], left.tables[part.job].rows, part.rows,
                              {plan.cluster.types[was.type], was.devices, was.choice, name, was.plan});
  }

  /// Cuts runs where the work is done, or lets the last one go on until it is.
  bool complete(size_t p, std::vector<JobRun> runs) {
    const ScheduledJob &job = problem.jobs[p];
    if (job.elasticity == Elasticity::Moldable && runs.size() > 1) {
      refuse(fmt::format("job '{}' would change its configuration, which it may not", job.name));
      return false;
    }
    int64_t work = job.work;
    JobTrajectory made;
    for (size_t r = 0; r < runs.size(); ++r) {
      const JobRun &run = runs[r];
      const bool isLast = r + 1 == runs.size();
      const auto end = completeIn(problem, job, run.begin, run.configuration, work);
      if (end && (isLast || end->end <= run.end)) {
        made.runs.push_back({run.begin, end->end, run.configuration});
        made.completion = end->completion;
        kept.jobs[p] = std::move(made);
        return true;
      }
      const int64_t seconds = (run.end - run.begin) * problem.slot - restartOf(job, run.begin, run.configuration);
      if (isLast)
        break;
      if (seconds > 0)
        made.runs.push_back(run), work -= job.configurations[run.configuration].speed * seconds;
    }
    refuse(fmt::format("job '{}' would not be complete {}", job.name,
                       job.deadline >= 0 ? "at its deadline" : "within the horizon"));
    return false;
  }

  void findCollision(const std::vector<JobTrajectory> &jobs) {
    JobSchedule schedule;
    schedule.jobs = jobs;
    const auto used = usedAmounts(problem, schedule);
    for (size_t r = 0; r < used.size() && kept.why.empty(); ++r)
      for (size_t slot = 0; slot < used[r].size() && kept.why.empty(); ++slot)
        if (const int64_t capacity = problem.resources[r].capacity[slot]; used[r][slot] > capacity)
          refuse(fmt::format("{} of '{}' would be in use from {} on, where there are {}", used[r][slot],
                             problem.resources[r].name, hours(static_cast<double>(slot) * double(problem.slot)),
                             capacity));
    for (size_t p = 0; p < jobs.size(); ++p)
      for (unsigned before : problem.jobs[p].after)
        if (!jobs[p].runs.empty() && !jobs[before].runs.empty() &&
            jobs[before].completion > jobs[p].runs.front().begin * problem.slot)
          refuse(fmt::format("job '{}' would begin before '{}' is complete", problem.jobs[p].name,
                             problem.jobs[before].name));
  }

  void findBrokenLimit() {
    for (size_t i = 0; i < problem.limits.size(); ++i)
      if (const JobLimit &limit = problem.limits[i]; valueOf(problem, limit.measure, kept.jobs) > limit.max)
        refuse(fmt::format("the requirement '{}' would be broken", left.request.limits[i].text));
    if (!ScheduleRepair(problem, stage).keepsAll(kept.jobs))
      refuse("a job would begin before one that it is after is complete");
  }

  /// What a job does that goes on as it runs; nothing where it may start again, or would not be complete.
  std::optional<JobTrajectory> goingOn(const ScheduledJob &job) const {
    if (job.running < 0 || job.maxRestarts != 0 || job.work == 0)
      return std::nullopt;
    const auto configuration = static_cast<unsigned>(job.running);
    const auto end = completeIn(problem, job, 0, configuration, job.work);
    return end ? std::optional(JobTrajectory{{{0, end->end, configuration}}, end->completion}) : std::nullopt;
  }

  /// Keeps what there is room for, of jobs that may not start again and of others that run first, and places the rest
  /// anew.
  void findKnown(std::vector<JobTrajectory> own, ScheduleRepair &repair) {
    std::vector<std::vector<int64_t>> room;
    for (const SlotResource &resource : problem.resources)
      room.push_back(resource.capacity);
    auto use = [&](size_t p, int64_t sign) {
      bool fits = true;
      for (const JobRun &run : own[p].runs)
        for (const ResourceUse &one : problem.jobs[p].configurations[run.configuration].uses)
          for (int64_t slot = run.begin; slot < run.end; ++slot)
            fits &= (room[one.resource][slot] -= sign * one.amount) >= 0;
      return fits;
    };
    std::vector<size_t> anew;
    std::vector<int> rank;
    for (size_t p = 0; p < problem.jobs.size(); ++p) {
      auto only = goingOn(problem.jobs[p]);
      rank.push_back(only ? 0 : problem.jobs[p].running >= 0 ? 1 : 2);
      if (only)
        own[p] = std::move(*only);
    }
    for (const int now : {0, 1, 2})
      for (size_t p = 0; p < problem.jobs.size(); ++p)
        if (rank[p] == now)
          if (own[p].runs.empty() || !use(p, 1)) {
            if (!own[p].runs.empty())
              use(p, -1);
            anew.push_back(p);
          }
    std::vector<JobTrajectory> schedule = std::move(own);
    if (repair.fill(schedule, anew) && repair.keepsAll(schedule))
      kept.known = std::move(schedule);
  }

  const RemainingSchedule &left;
  const JobScheduleProblem &problem;
  const JobAnswer &plan;
  const PartsOfJobs planParts;
  const int64_t moment; ///< seconds from the start of the plan
  ObjectiveStage stage;
  std::vector<size_t> missing;
  KeptPlan kept;
};

class Comparison {
public:
  Comparison(const RemainingSchedule &left, const JobAnswer &answer, const JobAnswer &plan, const RunningState &planned,
             const RunningState &state, const std::vector<JobEvent> &events)
      : left(left), answer(answer), plan(plan), answerParts(answer), planParts(plan), planned(planned), state(state),
        at(state.at), events(events) {}

  JobChange of(const std::string &name) const {
    JobChange change;
    change.job = name;
    const JobState *before = planned.find(name), *now = state.find(name);
    change.before = plannedCompletion(name, before);
    change.why = whyOf(name, before);
    if (now && now->devices > 0)
      change.from = fmt::format("{} {}", now->devices, now->deviceType);
    const std::vector<size_t> &parts = answerParts.of(name);
    if (now && now->completion >= 0) {
      change.kind = JobChange::Kind::Complete, change.after = now->completion;
      return change;
    }
    if (parts.empty()) {
      change.kind = JobChange::Kind::Cancelled;
      return change;
    }
    const bool ran = before && before->running && before->completion < 0;
    compare(change, parts, ran, now);
    return change;
  }

private:
  int64_t plannedCompletion(const std::string &name, const JobState *before) const {
    if (before && before->completion >= 0)
      return before->completion;
    const std::vector<size_t> &parts = planParts.of(name);
    const int64_t origin = plan.replan ? plan.replan->state.at : 0;
    if (parts.empty() || plan.schedule.jobs[parts.back()].completion < 0 || plan.schedule.jobs[parts.back()].continues)
      return -1;
    return origin + plan.schedule.jobs[parts.back()].completion;
  }

  std::string whyOf(const std::string &name, const JobState *before) const {
    if (!before)
      return "it is new";
    std::string why;
    for (const JobEvent &event : events)
      if (concerns(event, *before))
        why += (why.empty() ? "" : "; ") + wordsOf(event);
    return why;
  }

  void compare(JobChange &change, const std::vector<size_t> &parts, bool ran, const JobState *now) const {
    using Kind = JobChange::Kind;
    const JobTrajectory &first = answer.schedule.jobs[parts.front()], &last = answer.schedule.jobs[parts.back()];
    if (first.completion < 0 || last.completion < 0) {
      change.kind = Kind::LeftOut;
      return;
    }
    change.after = last.continues ? -1 : at + last.completion;
    change.restartHours = restartHours(parts, now);
    if (first.runs.empty()) {
      change.kind = Kind::GoesOn;
      return;
    }
    const ScheduledJob &job = answer.problem.jobs[parts.front()];
    const JobRun &run = first.runs.front();
    change.to = job.configurations[run.configuration].name;
    const bool goesOn = job.running == static_cast<int64_t>(run.configuration) && run.begin == 0;
    const bool isThere = isWhereItWas(parts.front());
    if (ran && run.begin == 0 && change.from == change.to && !(goesOn && isThere))
      change.to += " on other servers";
    if (goesOn && isThere)
      change.kind = Kind::GoesOn;
    else if (run.begin == 0)
      change.kind = ran ? Kind::Moves : Kind::Starts;
    else
      change.kind = ran ? Kind::Stops : Kind::Waits;
  }

  bool isWhereItWas(size_t p) const {
    if (p >= answer.placements.size() || answer.placements[p].empty() || left.current[p].empty())
      return true;
    auto ordered = [](JobPlacement placement) {
      std::sort(placement.begin(), placement.end(),
                [](const ServerShare &a, const ServerShare &b) { return a.server < b.server; });
      return placement;
    };
    return ordered(answer.placements[p].front()) == ordered(left.current[p]);
  }

  /// Device-hours without progress of runs that are no first start.
  double restartHours(const std::vector<size_t> &parts, const JobState *now) const {
    double sum = 0;
    bool isFirst = !now || now->devices == 0;
    for (size_t p : parts)
      for (const JobRun &run : answer.schedule.jobs[p].runs) {
        if (!isFirst)
          sum += static_cast<double>(restartOf(answer.problem.jobs[p], run.begin, run.configuration)) *
                 static_cast<double>(answer.jobs[p].configurations[run.configuration].devices) / 3600;
        isFirst = false;
      }
    return sum;
  }

  const RemainingSchedule &left;
  const JobAnswer &answer, &plan;
  const PartsOfJobs answerParts, planParts;
  const StatesOfJobs planned, state;
  const int64_t at;
  const std::vector<JobEvent> &events;
};

} // namespace

KeptPlan keepPlan(const RemainingSchedule &left, const JobAnswer &plan, const RunningState &state) {
  return Keeper(left, plan, state).run();
}

std::vector<JobChange> changesOf(const JobsRequest &block, const RemainingSchedule &left, const JobAnswer &answer,
                                 const JobAnswer &plan, const RunningState &planned, const RunningState &state,
                                 const std::vector<JobEvent> &events) {
  const Comparison comparison(left, answer, plan, planned, state, events);
  std::vector<JobChange> changes;
  std::set<std::string> names;
  for (const JobsRequest::Job &job : block.jobs) {
    changes.push_back(comparison.of(job.name));
    names.insert(job.name);
  }
  for (const JobState &job : planned.jobs)
    if (!names.contains(job.name))
      changes.push_back(comparison.of(job.name));
  return changes;
}

} // namespace accord::jobs
