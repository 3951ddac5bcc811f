#include "lib/jobs/simulate/Simulator.h"
#include <algorithm>
#include <cmath>
#include <deque>
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
  std::unique_ptr<JobProgress> saved; ///< its last checkpoint, where there are any
  double sinceSaved = 0;              ///< seconds that it ran since
  std::deque<double> restarts;        ///< times of the last hour
};

constexpr double kHour = 3600, kMaxIdle = 30 * 86400.0;

} // namespace

struct SimulationRun::State {
public:
  State(const Cluster &cluster, const std::vector<SimulatedJob> &jobs, const SimulationOptions &options,
        std::function<void(const JobView &, double)> completed)
      : whole(cluster), jobs(jobs), options(options), completed(std::move(completed)), changes(!options.events.empty()),
        timeline(cluster, options.events, options.seed), running(jobs.size()) {
    result.jobs.resize(jobs.size());
    byArrival.resize(jobs.size());
    std::iota(byArrival.begin(), byArrival.end(), size_t(0));
    std::sort(byArrival.begin(), byArrival.end(),
              [&](size_t a, size_t b) { return std::pair(jobs[a].arrival, a) < std::pair(jobs[b].arrival, b); });
  }

  Result<bool> next() {
    if (!isChecked) {
      if (auto checked = checkEvents(whole, options.events); !checked)
        return checked.takeError();
      if (options.checkpoint != 0 && !(options.checkpoint >= 1))
        return Error{
            Code::WrongJobSchedule,
            fmt::format("checkpoints are every {} seconds, but 0 or at least 1 is expected", options.checkpoint)};
      isChecked = true;
    }
    views.clear();
    if (arrived >= byArrival.size() && active.empty())
      return false;
    if (active.empty()) { // nothing happens before the next arrival: the round that sees it starts next
      round = std::max(round, std::ceil(jobs[byArrival[arrived]].arrival / options.round));
      early = std::max(early, jobs[byArrival[arrived]].arrival);
    }
    now = options.endsEarly ? early : round * options.round;
    if (active.empty())
      lastUse = now;
    for (; arrived < byArrival.size() && jobs[byArrival[arrived]].arrival <= now; ++arrived)
      admit(byArrival[arrived]);
    if (now > options.maxSeconds || (changes && now > lastUse + kMaxIdle))
      return neverComplete();
    if (changes)
      seeChanges();
    for (size_t job : active)
      views.push_back(viewOf(job));
    return true;
  }

  Result<void> place(std::vector<JobPlacement> placements) {
    if (auto placed = placeJobs(std::move(placements)); !placed)
      return placed;
    const double last = runRound();
    early = last > now ? last : now + options.round;
    if (last <= now && arrived < byArrival.size()) // no job ran
      early = std::min(early, jobs[byArrival[arrived]].arrival);
    ++round;
    ++result.rounds;
    return {};
  }

  SimulationResult take() {
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
            fmt::format("job '{}' is not complete after {:.0f} days", name, std::min(options.maxSeconds, now) / 86400)};
  }

  /// The servers that are there in this round. Jobs whose devices are not all there stop.
  void seeChanges() {
    present = &timeline.at(now);
    std::vector<uint64_t> used(whole.servers.size(), 0);
    for (size_t job : active) {
      JobPlacement &placement = running[job].placement;
      const bool fits = std::ranges::all_of(placement, [&](const ServerShare &share) {
        return used[share.server] + share.devices <= present->servers[share.server].devices;
      });
      if (!fits)
        stop(job);
      for (const ServerShare &share : placement)
        used[share.server] += share.devices;
    }
  }

  void stop(size_t job) {
    save(job);
    running[job].placement.clear();
  }

  /// Makes a checkpoint, where jobs have them.
  void save(size_t job) {
    if (options.checkpoint <= 0)
      return;
    running[job].saved = running[job].progress->copy();
    running[job].sinceSaved = 0;
  }

  JobView viewOf(size_t job) const {
    const RunningJob &one = running[job];
    return {job,
            &jobs[job],
            one.progress.get(),
            one.placement,
            one.attainedService,
            one.restartLeft,
            result.jobs[job].restarts};
  }

  Result<void> placeJobs(std::vector<JobPlacement> placements) {
    if (auto checked = check(placements); !checked)
      return checked;
    if (options.maxRestartsPerHour > 0)
      limitRestarts(placements);
    for (size_t i = 0; i < active.size(); ++i)
      if (placements[i] != running[active[i]].placement)
        move(active[i], std::move(placements[i]));
    return {};
  }

  Result<void> check(const std::vector<JobPlacement> &placements) const {
    if (placements.size() != active.size())
      return Error{Code::WrongJobPlacement,
                   fmt::format("a policy placed {} jobs of {}", placements.size(), active.size())};
    const Cluster &cluster = *present;
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

  /// Jobs that were restarted too often keep their devices; of the others, those that stay come first.
  void limitRestarts(std::vector<JobPlacement> &placements) {
    enum Rank { Frozen, Stays, Changes };
    std::vector<Rank> ranks;
    bool anyFrozen = false;
    for (size_t i = 0; i < active.size(); ++i) {
      RunningJob &one = running[active[i]];
      while (!one.restarts.empty() && one.restarts.front() <= now - kHour)
        one.restarts.pop_front();
      const bool changes = placements[i] != one.placement;
      const bool often = one.restarts.size() >= options.maxRestartsPerHour && !one.placement.empty();
      ranks.push_back(!changes ? Stays : often ? Frozen : Changes);
      anyFrozen |= ranks.back() == Frozen;
    }
    if (!anyFrozen)
      return;
    std::vector<unsigned> free;
    for (const Server &server : present->servers)
      free.push_back(server.devices);
    auto take = [&](const JobPlacement &placement) {
      if (!std::ranges::all_of(placement, [&](const ServerShare &one) { return one.devices <= free[one.server]; }))
        return false;
      for (const ServerShare &share : placement)
        free[share.server] -= share.devices;
      return true;
    };
    for (Rank rank : {Frozen, Stays, Changes})
      for (size_t i = 0; i < active.size(); ++i) {
        const JobPlacement &before = running[active[i]].placement;
        if (ranks[i] != rank || (rank != Frozen && take(placements[i])))
          continue;
        placements[i] = take(before) ? before : JobPlacement();
      }
  }

  void move(size_t job, JobPlacement placement) {
    RunningJob &one = running[job];
    save(job);
    one.placement = std::move(placement);
    if (one.placement.empty())
      return;
    SimulatedOutcome &outcome = result.jobs[job];
    one.progress->place(*present, one.placement);
    one.restartLeft = jobs[job].restartSeconds;
    if (outcome.start) {
      ++outcome.restarts;
      if (options.maxRestartsPerHour > 0)
        one.restarts.push_back(now);
    } else
      outcome.start = now;
  }

  /// Runs a job for some seconds, with its noise and checkpoints; as `JobProgress::run`.
  std::optional<double> advance(size_t job, double seconds) {
    RunningJob &one = running[job];
    const double factor = options.noise.empty() ? 1 : options.noise.factor(options.seed, job, result.rounds);
    double passed = 0;
    for (;;) {
      double part = seconds - passed;
      const bool saves = options.checkpoint > 0 && part >= options.checkpoint - one.sinceSaved;
      if (saves)
        part = std::max(0.0, options.checkpoint - one.sinceSaved);
      if (const auto complete = one.progress->run(part * factor))
        return std::min(passed + *complete / factor, seconds);
      passed += part;
      one.sinceSaved += part;
      if (!saves)
        return std::nullopt;
      save(job);
    }
  }

  /// Seconds from `now` to the first failure of a server of a job in this round; the round if there is none.
  double secondsToFailure(size_t job) {
    double first = std::numeric_limits<double>::infinity();
    if (changes)
      for (const ServerShare &share : running[job].placement)
        first = std::min(first, timeline.failureOf(share.server, now, now + options.round));
    return first - now;
  }

  /// A failure stops a job, and undoes what it did since its last checkpoint.
  void fail(size_t job) {
    RunningJob &one = running[job];
    ++result.jobs[job].failures;
    if (one.saved) {
      result.jobs[job].lostSeconds += one.sinceSaved;
      one.progress = one.saved->copy();
    }
    one.sinceSaved = 0;
    one.placement.clear();
  }

  /// Returns when the last job stopped; `now` if none ran.
  double runRound() {
    double last = now;
    auto finished = [&](size_t job) {
      RunningJob &one = running[job];
      if (one.placement.empty())
        return false;
      const double failure = secondsToFailure(job), end = std::min(failure, options.round);
      const double delay = std::min(one.restartLeft, end), devices = devicesOf(one.placement);
      one.restartLeft -= delay;
      std::optional<double> complete = delay < end ? advance(job, end - delay) : std::nullopt;
      // A job holds its devices until it is complete; they are given to others when the next round starts.
      const double held = complete ? delay + *complete : end;
      one.attainedService += held * devices;
      result.jobs[job].service += held * devices;
      result.busy += held * devices;
      span(job, now, now + held);
      last = std::max(last, now + held);
      lastUse = now + held;
      if (complete) {
        result.jobs[job].completion = now + held;
        completed(viewOf(job), one.progress->workDone());
      } else if (failure <= options.round)
        fail(job);
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

public:
  const Cluster &whole;
  const Cluster *present = &whole; ///< the servers of this round
  const std::vector<SimulatedJob> &jobs;
  const SimulationOptions options;
  const std::function<void(const JobView &, double)> completed; ///< told of each job that is complete, with its work
  const bool changes;                                           ///< whether servers can change
  ClusterTimeline timeline;
  double lastUse = 0; ///< when a job held devices, or none was there
  std::vector<RunningJob> running;
  std::vector<size_t> byArrival, active; ///< `active` in the order of arrival
  std::map<size_t, size_t> lastSpan;     ///< of each job, in `result.spans`
  SimulationResult result;
  bool isChecked = false;     ///< whether the options were
  size_t arrived = 0;         ///< of `byArrival`
  double round = 0;           ///< that starts now, counted from 0
  double early = 0;           ///< start of this round where rounds may end early
  double now = 0;             ///< start of this round
  std::vector<JobView> views; ///< of `active`
};

SimulationRun::SimulationRun(const Cluster &cluster, const std::vector<SimulatedJob> &jobs,
                             const SimulationOptions &options, std::function<void(const JobView &, double)> completed)
    : state(std::make_unique<State>(cluster, jobs, options, std::move(completed))) {}
SimulationRun::~SimulationRun() = default;

Result<bool> SimulationRun::next() { return state->next(); }
Result<void> SimulationRun::place(std::vector<JobPlacement> placements) { return state->place(std::move(placements)); }
double SimulationRun::now() const { return state->now; }
const Cluster &SimulationRun::cluster() const { return *state->present; }
const std::vector<JobView> &SimulationRun::jobs() const { return state->views; }
const SimulationResult &SimulationRun::soFar() const { return state->result; }
SimulationResult SimulationRun::take() { return state->take(); }

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
  SimulationRun run(cluster, jobs, options, [&](const JobView &job, double work) { policy.completed(job, work); });
  for (;;) {
    ACCORD_TRY(goesOn, run.next());
    if (!goesOn)
      return run.take();
    std::vector<JobPlacement> placements = policy.decide(run.now(), run.cluster(), run.jobs());
    if (auto failure = policy.failure())
      return *failure;
    if (auto placed = run.place(std::move(placements)); !placed)
      return placed.takeError();
  }
}

} // namespace accord::jobs
