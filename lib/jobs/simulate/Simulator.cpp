#include "lib/jobs/simulate/Simulator.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord::jobs {
namespace {

/// A job while it is simulated.
struct RunningJob {
  std::unique_ptr<JobProgress> progress;
  JobPlacement placement;
  double restartLeft = 0, attainedService = 0;
};

class Simulation {
public:
  Simulation(const Cluster &cluster, const std::vector<SimulatedJob> &jobs, Policy &policy,
             const SimulationOptions &options)
      : cluster(cluster), jobs(jobs), policy(policy), options(options), running(jobs.size()) {
    result.jobs.resize(jobs.size());
    byArrival.resize(jobs.size());
    std::iota(byArrival.begin(), byArrival.end(), size_t(0));
    std::sort(byArrival.begin(), byArrival.end(),
              [&](size_t a, size_t b) { return std::pair(jobs[a].arrival, a) < std::pair(jobs[b].arrival, b); });
  }

  Result<SimulationResult> simulate() {
    size_t arrived = 0; // of `byArrival`
    double round = 0;   // that starts now, counted from 0
    double early = 0;   // start of this round where rounds may end early
    while (arrived < byArrival.size() || !active.empty()) {
      if (active.empty()) { // nothing happens before the next arrival: the round that sees it starts next
        round = std::max(round, std::ceil(jobs[byArrival[arrived]].arrival / options.round));
        early = std::max(early, jobs[byArrival[arrived]].arrival);
      }
      const double now = options.endsEarly ? early : round * options.round;
      for (; arrived < byArrival.size() && jobs[byArrival[arrived]].arrival <= now; ++arrived)
        admit(byArrival[arrived]);
      if (now > options.maxSeconds)
        return neverComplete();
      if (auto placed = placeJobs(now); !placed)
        return placed.takeError();
      const double last = runRound(now);
      early = last > now ? last : now + options.round;
      if (last <= now && arrived < byArrival.size()) // no job ran
        early = std::min(early, jobs[byArrival[arrived]].arrival);
      ++round;
      ++result.rounds;
    }
    finishSpans();
    return std::move(result);
  }

private:
  void admit(size_t job) {
    running[job].progress = jobs[job].progress();
    active.push_back(job);
  }

  Error neverComplete() const {
    const std::string &name = jobs[active.front()].name;
    return {Code::JobNeverCompletes,
            fmt::format("job '{}' is not complete after {:.0f} days", name, options.maxSeconds / 86400)};
  }

  Result<void> placeJobs(double now) {
    std::vector<JobView> views;
    views.reserve(active.size());
    for (size_t job : active) {
      const RunningJob &one = running[job];
      views.push_back({job, &jobs[job], one.progress.get(), one.placement, one.attainedService, one.restartLeft,
                       result.jobs[job].restarts});
    }
    std::vector<JobPlacement> placements = policy.decide(now, cluster, views);
    if (auto checked = check(placements); !checked)
      return checked;
    for (size_t i = 0; i < active.size(); ++i)
      if (placements[i] != running[active[i]].placement)
        move(active[i], std::move(placements[i]), now);
    return {};
  }

  Result<void> check(const std::vector<JobPlacement> &placements) const {
    if (placements.size() != active.size())
      return Error{Code::WrongJobPlacement,
                   fmt::format("a policy placed {} jobs of {}", placements.size(), active.size())};
    std::vector<uint64_t> used(cluster.servers.size(), 0);
    for (const JobPlacement &placement : placements)
      for (const ServerShare &share : placement) {
        if (share.server >= cluster.servers.size())
          return Error{Code::WrongJobPlacement,
                       fmt::format("a policy used server {} of {}", share.server, cluster.servers.size())};
        used[share.server] += share.devices;
        if (share.devices == 0 || used[share.server] > cluster.servers[share.server].devices)
          return Error{Code::WrongJobPlacement,
                       fmt::format("a policy placed {} devices on server {}, which has {}", used[share.server],
                                   share.server, cluster.servers[share.server].devices)};
      }
    return {};
  }

  void move(size_t job, JobPlacement placement, double now) {
    RunningJob &one = running[job];
    one.placement = std::move(placement);
    if (one.placement.empty())
      return;
    SimulatedOutcome &outcome = result.jobs[job];
    one.progress->place(cluster, one.placement);
    one.restartLeft = jobs[job].restartSeconds;
    if (outcome.start)
      ++outcome.restarts;
    else
      outcome.start = now;
  }

  /// Returns when the last job stopped; `now` if none ran.
  double runRound(double now) {
    double last = now;
    auto finished = [&](size_t job) {
      RunningJob &one = running[job];
      if (one.placement.empty())
        return false;
      const double delay = std::min(one.restartLeft, options.round), devices = devicesOf(one.placement);
      one.restartLeft -= delay;
      std::optional<double> complete = delay < options.round ? one.progress->run(options.round - delay) : std::nullopt;
      // A job holds its devices until it is complete; they are given to others when the next round starts.
      const double held = complete ? delay + *complete : options.round;
      one.attainedService += held * devices;
      result.jobs[job].service += held * devices;
      result.busy += held * devices;
      span(job, now, now + held);
      last = std::max(last, now + held);
      if (complete)
        result.jobs[job].completion = now + held;
      return complete.has_value();
    };
    std::erase_if(active, finished);
    return last;
  }

  /// Adds to the last span of the job, or begins one.
  void span(size_t job, double start, double end) {
    auto [found, isNew] = lastSpan.try_emplace(job, result.spans.size());
    if (!isNew) {
      SimulatedSpan &last = result.spans[found->second];
      if (last.end == start && last.placement == running[job].placement) {
        last.end = end;
        return;
      }
      found->second = result.spans.size();
    }
    result.spans.push_back({job, start, end, running[job].placement});
  }

  void finishSpans() {
    std::sort(result.spans.begin(), result.spans.end(), [](const SimulatedSpan &a, const SimulatedSpan &b) {
      return std::pair(a.start, a.job) < std::pair(b.start, b.job);
    });
  }

  const Cluster &cluster;
  const std::vector<SimulatedJob> &jobs;
  Policy &policy;
  const SimulationOptions &options;
  std::vector<RunningJob> running;
  std::vector<size_t> byArrival, active; ///< `active` in the order of arrival
  std::map<size_t, size_t> lastSpan;     ///< of each job, in `result.spans`
  SimulationResult result;
};

} // namespace

double SimulationResult::meanCompletion(const std::vector<SimulatedJob> &described) const {
  double total = 0;
  for (size_t i = 0; i < jobs.size(); ++i)
    total += jobs[i].completion.value_or(0) - described[i].arrival;
  return jobs.empty() ? 0 : total / static_cast<double>(jobs.size());
}

double SimulationResult::makespan() const {
  double last = 0;
  for (const SimulatedOutcome &job : jobs)
    last = std::max(last, job.completion.value_or(0));
  return last;
}

Result<SimulationResult> simulate(const Cluster &cluster, const std::vector<SimulatedJob> &jobs, Policy &policy,
                                  const SimulationOptions &options) {
  return Simulation(cluster, jobs, policy, options).simulate();
}

} // namespace accord::jobs
