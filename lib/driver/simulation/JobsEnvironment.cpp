#include "lib/driver/simulation/JobsEnvironment.h"
#include "lib/driver/simulation/JobsReplay.h"
#include "lib/import/actors/ActorFile.h"
#include "lib/jobs/actor/ActorWeigher.h"
#include "lib/jobs/actor/SyntheticJobs.h"
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace accord::inline embedding {
namespace {

JobsOptions replayOptions(const EnvironmentOptions &options) {
  JobsOptions made;
  made.trace = options.trace, made.profiles = options.profiles, made.servers = options.servers;
  made.speeds = options.speeds;
  made.draw = options.draw, made.load = options.load;
  made.round = options.round, made.restart = options.restart;
  return made;
}

} // namespace

struct JobsEnvironment::State {
  explicit State(const EnvironmentOptions &options)
      : options(options), replayed(replayOptions(options)), diags(sources), replay(replayed, diags) {
    if (!(options.shield >= 0 && options.shield <= 1))
      throw std::invalid_argument("the shield is a share from 0 to 1");
    if (options.trace.empty() && (options.jobs < 1 || options.jobs > 10'000))
      throw std::invalid_argument("a simulation has 1 to 10,000 synthetic jobs");
    if (!options.trace.empty() && !replay.read())
      throw std::invalid_argument(diags.text());
  }

  void reset(uint64_t seed) {
    run.reset(); // which refers to the jobs
    if (options.trace.empty()) {
      drawn = jobs::drawSynthetic(options.jobs, seed);
    } else {
      if (options.draw > 0 && !replay.draw(seed))
        throw std::invalid_argument(diags.text());
      drawn = {replay.cluster(), replay.jobs(*replay.policy("learned")), replay.simulation()};
    }
    drawn.options.seed = seed;
    jobs::AllocationOptions allocation = options.trace.empty() ? jobs::AllocationOptions() : replay.learned();
    allocation.knows = jobs::KnownWork::Learned;
    allocation.shield = options.shield;
    policy = std::make_unique<jobs::AllocationPolicy>(allocation);
    completed = total = 0;
    shown = {};
    run = std::make_unique<jobs::SimulationRun>(
        drawn.cluster, drawn.jobs, drawn.options, [this](const jobs::JobView &job, double work) {
          policy->completed(job, work);
          completed += run->soFar().jobs[job.job].completion.value_or(0) - job.description->arrival;
        });
    show();
  }

  void step(const std::vector<double> &logWeights) {
    if (!run || shown.isOver)
      throw std::invalid_argument(run ? "the simulation is over: reset() begins another"
                                      : "reset() comes before step()");
    if (logWeights.size() != shown.count)
      throw std::invalid_argument(
          fmt::format("an action has a number for each of {} jobs, but there are {}", shown.count, logWeights.size()));
    for (double number : logWeights)
      if (!std::isfinite(number))
        throw std::invalid_argument("an action has a number that is infinite or none");
    const size_t before = policy->shields().shielded;
    auto placed = run->place(policy->place(*round, jobs::boundedWeights(logWeights)));
    if (!placed)
      throw std::invalid_argument(placed.error().message);
    shown.wasShielded = policy->shields().shielded > before;
    show();
  }

  /// Goes to the next round, and describes it.
  void show() {
    auto goesOn = run->next();
    if (!goesOn)
      throw std::invalid_argument(goesOn.error().message);
    const double before = total;
    total = completed;
    shown.isOver = !*goesOn;
    shown.jobs.clear(), shown.cluster.clear();
    shown.count = run->jobs().size();
    if (*goesOn) {
      shown.now = run->now();
      for (const jobs::JobView &job : run->jobs())
        total += shown.now - job.description->arrival;
      round.emplace(policy->look(shown.now, run->cluster(), run->jobs()));
      const jobs::Observation seen = jobs::observe(*round);
      shown.jobs.assign(seen.jobs.numbers.begin(), seen.jobs.numbers.end());
      shown.cluster.assign(seen.cluster.numbers.begin(), seen.cluster.numbers.end());
    } else {
      shown.now = run->soFar().makespan();
    }
    shown.reward = before - total;
  }

  const EnvironmentOptions options;
  const JobsOptions replayed;
  SourceManager sources;
  Diagnostics diags;
  JobsReplay replay;
  jobs::DrawnSimulation drawn;
  std::unique_ptr<jobs::AllocationPolicy> policy;
  std::unique_ptr<jobs::SimulationRun> run;
  std::optional<jobs::RoundView> round;
  double completed = 0; ///< completion - arrival of all that are complete
  double total = 0;     ///< the same, with the seconds so far of those that are here
  EnvironmentState shown;
};

JobsEnvironment::JobsEnvironment(const EnvironmentOptions &options) : state(std::make_unique<State>(options)) {}
JobsEnvironment::~JobsEnvironment() = default;

const EnvironmentState &JobsEnvironment::reset(uint64_t seed) {
  state->reset(seed);
  return state->shown;
}

const EnvironmentState &JobsEnvironment::step(const std::vector<double> &logWeights) {
  state->step(logWeights);
  return state->shown;
}

struct JobsActor::State {
  explicit State(jobs::ActorNetwork network) : network(std::move(network)) {}
  jobs::ActorNetwork network;
};

JobsActor::JobsActor(const std::string &path) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto read = import::readActor(diags, path);
  if (!read)
    throw std::invalid_argument(diags.text());
  state = std::make_unique<State>(std::move(read->network));
}
JobsActor::~JobsActor() = default;

std::vector<double> JobsActor::logWeights(const std::vector<float> &jobs, const std::vector<float> &cluster,
                                          size_t count) const {
  const jobs::ActorGraph &graph = state->network.graph();
  if (jobs.size() != count * graph.jobFeatures || cluster.size() != graph.clusterFeatures)
    throw std::invalid_argument(
        fmt::format("{} features of {} jobs and {} of the cluster are given, but the actor takes "
                    "{} of each job and {}",
                    jobs.size(), count, cluster.size(), graph.jobFeatures, graph.clusterFeatures));
  auto weighed = state->network.evaluate({count, graph.jobFeatures, {jobs.begin(), jobs.end()}},
                                         {1, graph.clusterFeatures, {cluster.begin(), cluster.end()}});
  if (!weighed)
    throw std::invalid_argument(weighed.error().message);
  return *weighed;
}

const std::vector<std::string> &JobsEnvironment::jobFeatures() { return jobs::jobFeatureNames(); }
const std::vector<std::string> &JobsEnvironment::clusterFeatures() { return jobs::clusterFeatureNames(); }

} // namespace accord::inline embedding
