#include "lib/jobs/bandit/BanditPolicy.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {
namespace {

constexpr double kMaxReward = 0.5; ///< rewards are clamped to +- this, so that no single replay decides

/// Weights jobs so that they count by a power of their expected seconds: 1 / seconds^power where the policy has 1 /
/// seconds. A smaller power prefers short jobs less.
class PowerWeigher : public JobWeigher {
public:
  explicit PowerWeigher(double power) : power(power) {}
  Result<std::vector<double>> weigh(const RoundView &round) override {
    std::vector<double> weights;
    for (const JobEstimate &estimate : round.estimates)
      weights.push_back(estimate.bestRate > 0 ? std::pow(std::max(estimate.work / estimate.bestRate, 1.0), 1 - power)
                                              : 1);
    return weights;
  }

private:
  double power;
};

BanditArm allocationArm(std::string name, KnownWork knows, double power, double moveCharge, std::vector<double> prior) {
  return {std::move(name),
          [=](const WorkHistory &history, unsigned effort) {
            AllocationOptions options;
            options.knows = knows;
            options.moveCharge = moveCharge;
            options.history = history;
            options.effort = effort;
            if (power != 1)
              options.weigher = std::make_shared<PowerWeigher>(power);
            return std::make_unique<AllocationPolicy>(options);
          },
          std::move(prior)};
}

template <typename Made> BanditArm objectiveArm(std::string name, std::vector<double> prior) {
  return {std::move(name), [](const WorkHistory &, unsigned) { return std::make_unique<Made>(); }, std::move(prior)};
}

double meanOf(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double deviationOf(const std::vector<double> &values) {
  const double mean = meanOf(values);
  double squares = 0;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

} // namespace

std::vector<BanditArm> plannerArms() {
  const double charge = AllocationOptions().moveCharge;
  return {allocationArm("learned", KnownWork::Learned, 1, charge, {}),
          allocationArm("learned_power_half", KnownWork::Learned, 0.5, charge,
                        {0, 0.002, 0.003, 0.007, 0.010, 0.002, -0.007}),
          allocationArm("learned_power_half_still", KnownWork::Learned, 0.5, 4 * charge,
                        {-0.064, 0.016, 0.051, 0.047, 0.025, -0.016, -0.024}),
          allocationArm("exact_las", KnownWork::Done, 1, charge, {-0.099, -0.100, 0.092, 0.079, 0.040, -0.026, -0.020}),
          objectiveArm<SiaPolicy>("sia", {-0.048, -0.104, 0.048, 0.040, 0.017, -0.001, 0.003}),
          objectiveArm<PolluxObjective>("pollux_objective", {-0.047, -0.046, 0.040, 0.036, 0.017, -0.002, -0.009})};
}

static std::vector<std::vector<double>> priorsOf(const std::vector<BanditArm> &arms) {
  std::vector<std::vector<double>> priors;
  for (const BanditArm &arm : arms) {
    priors.push_back(arm.prior);
    priors.back().resize(BanditPolicy::contextNames().size(), 0);
  }
  return priors;
}

BanditPolicy::BanditPolicy(BanditOptions given)
    : options(std::move(given)), memory(options.minExpected, options.history),
      bandit(priorsOf(options.arms), options.noise, options.prior), random(options.seed), next(options.firstReplay) {
  count.rounds.resize(options.arms.size());
  policy = options.arms.front().make(options.history, AllocationOptions().effort);
}

const std::vector<std::string> &BanditPolicy::contextNames() {
  static const std::vector<std::string> kNames = {
      "one",
      "waiting_per_device",      // log(1 + jobs that are here / devices), at most 2
      "type_evenness",           // entropy of the shares of the types of devices, over its maximum; 0 of one type
      "speed_spread",            // mean over jobs of 1 - rate on the worst type / rate on the best
      "work_spread",             // deviation of the log of works of an application, mean over complete jobs, at most 2
      "known_share",             // jobs of applications of which one is complete
      "complete_per_application" // log(1 + complete jobs / applications) / 2, at most 2
  };
  return kNames;
}

std::vector<double> BanditPolicy::context(const Cluster &cluster, size_t waiting) const {
  const auto devices = static_cast<double>(std::max<int64_t>(cluster.devices(), 1));
  double entropy = 0;
  for (int64_t capacity : cluster.capacity())
    if (const double share = static_cast<double>(capacity) / devices; share > 0)
      entropy -= share * std::log(share);
  const size_t types = cluster.types.size();
  double spread = 0, known = 0, all = 0, complete = 0;
  std::map<std::string, std::vector<double>> logs; // of the work of complete jobs, by application
  for (const auto &[number, job] : memory.jobs()) {
    auto &mine = logs[job.description.application];
    if (job.isComplete && job.work > 0)
      mine.push_back(std::log(job.work));
  }
  for (const auto &[number, job] : memory.jobs()) {
    ++all;
    complete += job.isComplete;
    known += logs[job.description.application].empty() ? 0 : 1;
    std::vector<double> onType(types, 0);
    for (const DeviceOption &option : job.options)
      onType[option.type] = std::max(onType[option.type], option.rate);
    const double best = std::ranges::max(onType), worst = std::ranges::min(onType);
    spread += best > 0 ? 1 - worst / best : 0;
  }
  double workSpread = 0;
  for (const auto &[name, mine] : logs)
    workSpread += deviationOf(mine) * static_cast<double>(mine.size());
  all = std::max(all, 1.0);
  return {1,
          std::min(std::log1p(static_cast<double>(waiting) / devices), 2.0),
          types > 1 ? entropy / std::log(static_cast<double>(types)) : 0,
          spread / all,
          std::min(workSpread / std::max(complete, 1.0), 2.0),
          known / all,
          std::min(std::log1p(complete / static_cast<double>(std::max<size_t>(logs.size(), 1))) / 2, 2.0)};
}

std::optional<double> BanditPolicy::replayed(const Cluster &cluster, const BelievedTrace &trace, size_t arm) const {
  SimulationOptions simulation;
  simulation.endsEarly = options.simulation.endsEarly;
  simulation.round = options.simulation.round *
                     std::max(1.0, std::ceil(trace.jobs.back().arrival / options.simulation.round / options.maxRounds));
  constexpr unsigned kReplayEffort = 2;
  const std::unique_ptr<Policy> made = options.arms[arm].make(trace.history, kReplayEffort);
  auto result = simulate(cluster, trace.jobs, *made, simulation);
  if (!result)
    return std::nullopt;
  return result->meanCompletion(trace.jobs);
}

std::vector<bool> BanditPolicy::onlyFirst() const {
  std::vector<bool> arms(bandit.arms(), false);
  arms.front() = true;
  return arms;
}

void BanditPolicy::replay(const Cluster &cluster) {
  for (size_t draw = 0; draw < options.draws; ++draw) {
    const BelievedTrace trace = memory.believe(random, options.maxJobs);
    if (trace.jobs.empty())
      return;
    const std::optional<double> base = replayed(cluster, trace, 0);
    ++count.replays;
    if (!base || *base <= 0)
      continue;
    std::vector<bool> pulled = onlyFirst();
    for (size_t pull = 0; pull < std::min(options.pulls, bandit.arms() - 1); ++pull) {
      const size_t best = bandit.choose(seen, options.explore, pulled);
      pulled[best] = true;
      ++count.replays;
      if (const auto mean = replayed(cluster, trace, best))
        bandit.observe(best, seen, std::clamp(1 - *mean / *base, -kMaxReward, kMaxReward));
    }
  }
}

void BanditPolicy::use(size_t arm) {
  if (arm == current)
    return;
  worstGap = maxGap().value_or(0);
  current = arm;
  ++count.switches;
  policy = options.arms[arm].make(memory.completeJobs(), AllocationOptions().effort);
}

std::vector<JobPlacement> BanditPolicy::decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) {
  if (whole.servers.empty() || cluster.devices() > whole.devices())
    whole = cluster;
  memory.look(cluster, jobs);
  if (memory.numComplete() >= next) {
    next =
        std::max(next + 1, static_cast<size_t>(std::ceil(options.growth * static_cast<double>(memory.numComplete()))));
    seen = context(whole, jobs.size());
    replay(whole);
    const size_t best = bandit.choose(seen, -options.caution, onlyFirst());
    const ExpectedReward expected = bandit.expect(best, seen);
    use(expected.mean > options.caution * expected.deviation ? best : 0);
  }
  ++count.rounds[current];
  std::vector<JobPlacement> placements = policy->decide(now, cluster, jobs);
  error = policy->failure();
  return placements;
}

void BanditPolicy::completed(const JobView &job, double work) {
  memory.complete(job, work);
  policy->completed(job, work);
}

std::optional<double> BanditPolicy::maxGap() const { return std::max(worstGap, policy->maxGap().value_or(0)); }

} // namespace accord::jobs
