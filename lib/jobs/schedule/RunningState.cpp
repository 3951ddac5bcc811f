#include "lib/jobs/schedule/RunningState.h"
#include "lib/jobs/problem/JobWords.h"
#include "lib/support/Diagnostics.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::jobs {
namespace {

Error wrong(std::string message) { return {Code::WrongJobsBlock, std::move(message)}; }

std::string hours(int64_t seconds) { return timeText(static_cast<double>(seconds)); }

int64_t added(int64_t to, __int128 amount) {
  return static_cast<int64_t>(std::min<__int128>(to + amount, int64_t(1) << 60));
}

/// Walks through the runs of a plan up to a moment.
class PlanWalk {
public:
  PlanWalk(const JobAnswer &plan, int64_t at, RunningState &state)
      : plan(plan), problem(plan.problem), state(state), origin(plan.replan ? plan.replan->state.at : 0),
        moment(at - origin) {
    for (size_t i = 0; i < state.jobs.size(); ++i)
      numbers.emplace(state.jobs[i].name, i);
  }

  void run() {
    for (size_t first = 0; first < problem.jobs.size();) {
      const std::string name = blockJobOf(problem.jobs[first].name);
      size_t end = first + 1;
      while (end < problem.jobs.size() && blockJobOf(problem.jobs[end].name) == name)
        ++end;
      job(stateOf(name), first, end);
      first = end;
    }
  }

private:
  JobState &stateOf(const std::string &name) {
    const auto [found, isNew] = numbers.emplace(name, state.jobs.size());
    if (isNew)
      state.jobs.emplace_back().name = name;
    return state.jobs[found->second];
  }

  /// A job with its phases, which are from `first` up to `end`.
  void job(JobState &now, size_t first, size_t end) {
    const JobState before = now;
    now.samples = before.done;
    for (size_t part = first; part < end; ++part)
      now.samples += plan.jobs[part].samples;
    if (moment > 0)
      now.running = false, now.restarting = 0;
    for (size_t part = first; part < end; ++part)
      now.done += partDone(now, before, part, part == first);
    const JobTrajectory &last = plan.schedule.jobs[end - 1];
    if (isComplete(last)) {
      now.completion = origin + last.completion;
      now.running = false, now.restarting = 0;
      now.done = now.samples;
    }
  }
  bool isComplete(const JobTrajectory &does) const { return does.completion >= 0 && does.completion <= moment; }

  /// Samples that a part has done; also sets where it runs.
  double partDone(JobState &now, const JobState &before, size_t part, bool isFirst) {
    const ScheduledJob &of = problem.jobs[part];
    const JobTrajectory &does = plan.schedule.jobs[part];
    // A restart that was not over counts as work, see `remainingSchedule`.
    const __int128 rest =
        isFirst && of.running >= 0 ? static_cast<__int128>(before.restarting) * of.configurations[of.running].speed : 0;
    const auto extra = static_cast<int64_t>(std::min<__int128>(rest, of.work));
    const int64_t work = std::max<int64_t>(1, of.work - extra);
    __int128 done = 0;
    for (size_t r = 0; r < does.runs.size(); ++r) {
      const JobRun &run = does.runs[r];
      const int64_t begin = run.begin * problem.slot, end = run.end * problem.slot;
      if (begin >= moment)
        break;
      const bool goesOn = run.begin == 0 && of.running == static_cast<int64_t>(run.configuration);
      const int64_t restart = goesOn ? 0 : of.restart, until = std::min(moment, end);
      done += static_cast<__int128>(of.configurations[run.configuration].speed) *
              std::max<int64_t>(0, until - begin - restart);
      spend(of.configurations[run.configuration], begin, until);
      now.starts += !goesOn, state.starts += !goesOn;
      setRun(now, part, r, work);
      now.running = end >= moment && !isComplete(does);
      now.begun = goesOn && before.running ? before.begun : origin + begin + restart;
      now.restarting = 0;
      if (now.running)
        now.restarting = std::max<int64_t>(0, (goesOn ? before.restarting : restart) - (moment - begin));
    }
    if (isComplete(does))
      return plan.jobs[part].samples;
    const auto share = static_cast<double>(std::clamp<__int128>(done - extra, 0, work)) / static_cast<double>(work);
    return plan.jobs[part].samples * share;
  }

  void setRun(JobState &now, size_t part, size_t r, int64_t work) const {
    const unsigned k = plan.schedule.jobs[part].runs[r].configuration;
    const ConfigurationWords &words = plan.jobs[part].configurations[k];
    now.deviceType = words.type < plan.cluster.types.size() ? plan.cluster.types[words.type] : "";
    now.devices = words.devices, now.plan = words.plan, now.choice = words.choice;
    now.configuration = plan.problem.jobs[part].configurations[k].name;
    now.rate = plan.jobs[part].samples / static_cast<double>(work) *
               static_cast<double>(problem.jobs[part].configurations[k].speed);
    now.servers.clear();
    if (part < plan.placements.size() && r < plan.placements[part].size())
      now.servers = plan.placements[part][r];
  }

  void spend(const JobConfiguration &in, int64_t begin, int64_t until) {
    state.price = added(state.price, static_cast<__int128>(in.price) * (until - begin));
    state.energy = added(state.energy, static_cast<__int128>(in.watts) * (until - begin));
    for (int64_t slot = begin / problem.slot; slot < static_cast<int64_t>(problem.carbon.size()); ++slot) {
      const int64_t seconds = std::min(until, (slot + 1) * problem.slot) - std::max(begin, slot * problem.slot);
      if (seconds <= 0)
        break;
      state.carbon = added(state.carbon, static_cast<__int128>(in.watts) * seconds * problem.carbon[slot]);
    }
  }

  const JobAnswer &plan;
  const JobScheduleProblem &problem;
  RunningState &state;
  const int64_t origin, moment;          ///< on the clock of the block; from there
  std::map<std::string, size_t> numbers; ///< of jobs of the state
};

class EventChange {
public:
  EventChange(RunningState &state, const JobEvent &event, const Cluster &cluster)
      : state(state), event(event), cluster(cluster) {}

  Result<void> apply() {
    if (event.of == JobEvent::Of::ServerOut || event.of == JobEvent::Of::ServerBack)
      return server();
    JobState *job = nullptr;
    std::vector<std::string> names;
    for (JobState &one : state.jobs) {
      names.push_back(one.name);
      if (one.name == event.job)
        job = &one;
    }
    if (!job) {
      Error error = wrong(fmt::format("the plan that runs has no job '{}'", event.job));
      error.suggestion = nearest(event.job, names);
      return error;
    }
    switch (event.of) {
    case JobEvent::Of::Progress:
      return progress(*job);
    case JobEvent::Of::Complete:
      return complete(*job);
    case JobEvent::Of::Stopped:
    case JobEvent::Of::Failed:
      return stop(*job);
    case JobEvent::Of::Speed:
      if (!(event.factor > 0) || event.factor > kMaxFactor)
        return wrong(fmt::format("the speed of job '{}' is {} times the planned one, above 0 and up to {} is allowed",
                                 job->name, event.factor, kMaxFactor));
      job->pace = std::clamp(job->pace * event.factor, 1 / kMaxPace, kMaxPace);
      job->rate *= event.factor;
      return {};
    case JobEvent::Of::RestartBudget:
      if (event.restarts < 0)
        return wrong(fmt::format("job '{}' may start again {} times, 0 or more is allowed", job->name, event.restarts));
      job->restarts = event.restarts;
      return {};
    case JobEvent::Of::ServerOut:
    case JobEvent::Of::ServerBack:
      break;
    }
    return {};
  }

private:
  static constexpr double kMaxFactor = 1000, kMaxPace = 1e6;

  bool isStated() const { return event.share >= 0 || event.samples >= 0; }
  Result<double> statedWork(const JobState &job) const {
    const double done = event.share >= 0 ? event.share * job.samples : event.samples;
    if (!(done >= 0) || event.share > 1 || done > job.samples)
      return wrong(event.share >= 0
                       ? fmt::format("a share of {} of job '{}' is done, 0 to 1 is allowed", event.share, job.name)
                       : fmt::format("{} samples of job '{}' are done, 0 to {} is allowed", event.samples, job.name,
                                     job.samples));
    return done;
  }

  Result<void> progress(JobState &job) {
    if (!isStated())
      return wrong(fmt::format("nothing says how much of job '{}' is done", job.name));
    ACCORD_TRY(done, statedWork(job));
    job.done = done;
    if (done >= job.samples)
      return complete(job);
    if (job.completion >= 0) // it is not, and goes on where it was last
      job.completion = -1, job.running = job.devices > 0, job.restarting = 0;
    return {};
  }

  Result<void> complete(JobState &job) {
    if (job.completion < 0)
      job.completion = state.at;
    job.done = job.samples;
    job.running = false, job.restarting = 0;
    return {};
  }

  Result<void> stop(JobState &job) {
    double done = job.done;
    if (isStated()) {
      ACCORD_TRY(stated, statedWork(job));
      done = stated;
    } else if (!job.running) {
      return wrong(fmt::format("job '{}' does not run at {}, and nothing says how much of it is done", job.name,
                               hours(state.at)));
    } else if (event.checkpoint <= 0) {
      return wrong(
          fmt::format("nothing says how much of job '{}' is done, or how often it has a checkpoint", job.name));
    } else {
      done = lastCheckpoint(job);
    }
    job.done = done, job.completion = -1;
    job.running = false, job.restarting = 0;
    return {};
  }

  /// Samples of a job that runs at its last checkpoint.
  double lastCheckpoint(const JobState &job) const {
    const int64_t ran = std::max<int64_t>(0, state.at - job.begun);
    const int64_t lost = event.checkpoint > 0 ? ran % event.checkpoint : 0;
    return std::max(0.0, job.done - job.rate * static_cast<double>(lost));
  }

  Result<void> server() {
    if (event.server >= cluster.servers.size())
      return wrong(fmt::format("there is no server {}, the {} servers are numbered from 0", event.server,
                               cluster.servers.size()));
    if (event.of == JobEvent::Of::ServerBack) {
      if (std::erase_if(state.outages, [&](const ServerAway &one) { return one.server == event.server; }) == 0)
        return wrong(fmt::format("server {} is in service at {}", event.server, hours(state.at)));
      return {};
    }
    ServerAway outage{event.server, event.from < 0 ? state.at : event.from, event.until < 0 ? kForGood : event.until};
    if (outage.until <= outage.from || outage.from > kMaxSeconds)
      return wrong(fmt::format("server {} is out of service from {} until {}", event.server, hours(outage.from),
                               hours(outage.until)));
    if (outage.until > state.at)
      state.outages.push_back(outage);
    for (JobState &job : state.jobs)
      if (job.running && outage.from <= state.at && outage.until > state.at &&
          std::any_of(job.servers.begin(), job.servers.end(),
                      [&](const ServerShare &share) { return share.server == event.server; }))
        job.done = lastCheckpoint(job), job.running = false, job.restarting = 0;
    return {};
  }

  RunningState &state;
  const JobEvent &event;
  const Cluster &cluster;
};

} // namespace

std::string blockJobOf(const std::string &name) { return name.substr(0, name.find(" (phase ")); }

Result<RunningState> stateAt(const JobAnswer &plan, int64_t at) {
  const JobScheduleProblem &problem = plan.problem;
  if (plan.schedule.jobs.size() != problem.jobs.size() || plan.jobs.size() != problem.jobs.size() ||
      plan.schedule.status == AllocationStatus::Infeasible || plan.schedule.status == AllocationStatus::Unknown)
    return wrong(fmt::format("the plan '{}' has no schedule that could go on", plan.name));
  for (size_t j = 0; j < problem.jobs.size(); ++j)
    if (problem.jobs[j].work > 0 && plan.jobs[j].samples <= 0)
      return wrong(
          fmt::format("the plan '{}' does not say how many samples job '{}' has", plan.name, problem.jobs[j].name));
  const int64_t origin = plan.replan ? plan.replan->state.at : 0, end = origin + problem.slot * problem.slots;
  if (at < origin || at >= end)
    return wrong(fmt::format("the plan '{}' is from {} up to {}, and now is {}", plan.name, hours(origin), hours(end),
                             hours(at)));
  RunningState state;
  if (plan.replan)
    state = plan.replan->state;
  state.at = at, state.slot = problem.slot;
  PlanWalk(plan, at, state).run();
  std::erase_if(state.outages, [&](const ServerAway &one) { return one.until <= at; });
  return state;
}

Result<void> applyEvent(RunningState &state, const JobEvent &event, const Cluster &cluster) {
  return EventChange(state, event, cluster).apply();
}

std::string wordsOf(const JobEvent &event) {
  std::string done = event.share >= 0     ? fmt::format("{:.4g} % of it is done", 100 * event.share)
                     : event.samples >= 0 ? fmt::format("{:.6g} samples are done", event.samples)
                                          : fmt::format("a checkpoint each {}", hours(event.checkpoint));
  switch (event.of) {
  case JobEvent::Of::Progress:
    return done;
  case JobEvent::Of::Complete:
    return "it is complete";
  case JobEvent::Of::Stopped:
    return "it was stopped: " + done;
  case JobEvent::Of::Failed:
    return "it failed: " + done;
  case JobEvent::Of::Speed:
    return fmt::format("it runs at {:.4g} times the planned speed", event.factor);
  case JobEvent::Of::ServerOut:
    return fmt::format("server {} is out of service", event.server) +
           (event.from < 0 ? "" : " from " + hours(event.from)) +
           (event.until < 0 ? "" : " until " + hours(event.until));
  case JobEvent::Of::ServerBack:
    return fmt::format("server {} is in service again", event.server);
  case JobEvent::Of::RestartBudget:
    return fmt::format("it may start again {} times", event.restarts);
  }
  return "";
}

bool concerns(const JobEvent &event, const JobState &before) {
  if (event.of != JobEvent::Of::ServerOut && event.of != JobEvent::Of::ServerBack)
    return event.job == before.name;
  return event.of == JobEvent::Of::ServerOut && before.running &&
         std::any_of(before.servers.begin(), before.servers.end(),
                     [&](const ServerShare &share) { return share.server == event.server; });
}

} // namespace accord::jobs
