// The bandit over planner parameters: its linear models, what it remembers of jobs, and which arm it takes.
#include "lib/jobs/actor/SyntheticJobs.h"
#include "lib/jobs/bandit/BanditPolicy.h"
#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace accord::jobs {
namespace {

/// Solves a x = b by Gauss' elimination with pivots: apart from the rank-one updates of the bandit.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column]))
        pivot = row;
    std::swap(a[pivot], a[column]), std::swap(b[pivot], b[column]);
    for (size_t row = 0; row < n; ++row) {
      if (row == column)
        continue;
      const double factor = a[row][column] / a[column][column];
      for (size_t k = 0; k < n; ++k)
        a[row][k] -= factor * a[column][k];
      b[row] -= factor * b[column];
    }
  }
  for (size_t i = 0; i < n; ++i)
    b[i] /= a[i][i];
  return b;
}

TEST(LinearBandit, ExpectsTheRidgeRegressionOfItsRewards) {
  SplitMix random(1);
  const double noise = 0.3, prior = 0.7, ridge = noise * noise / (prior * prior);
  const std::vector<double> mean{0.2, -0.1, 0.4};
  LinearBandit bandit({mean, {0, 0, 0}}, noise, prior);
  std::vector<std::vector<double>> a(3, std::vector<double>(3, 0));
  std::vector<double> b(3, 0), x(3);
  for (size_t i = 0; i < 3; ++i)
    a[i][i] = ridge, b[i] = ridge * mean[i];
  EXPECT_NEAR(bandit.expect(0, {1, 2, 3}).mean, 0.2 - 0.2 + 1.2, 1e-12); // the prior
  for (int step = 0; step < 40; ++step) {
    for (double &number : x)
      number = 2 * random.unit() - 1;
    const double reward = random.unit();
    bandit.observe(0, x, reward);
    for (size_t i = 0; i < 3; ++i) {
      b[i] += reward * x[i];
      for (size_t k = 0; k < 3; ++k)
        a[i][k] += x[i] * x[k];
    }
    const std::vector<double> query{1, random.unit(), random.unit()}, theta = solve(a, b), spread = solve(a, query);
    double expected = 0, variance = 0;
    for (size_t i = 0; i < 3; ++i)
      expected += theta[i] * query[i], variance += query[i] * spread[i];
    EXPECT_NEAR(bandit.expect(0, query).mean, expected, 1e-9);
    EXPECT_NEAR(bandit.expect(0, query).deviation, noise * std::sqrt(variance), 1e-9);
    EXPECT_NEAR(bandit.expect(1, query).mean, 0, 1e-12); // an arm learns nothing of another
  }
}

TEST(LinearBandit, HasSublinearRegretOnArmsWithAKnownGap) {
  // Arm 0 is better by 0.2 where the second number of the context is 1, and worse by as much where it is -1.
  double early = 0, late = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SplitMix random(seed);
    LinearBandit bandit({{0, 0}, {0, 0}}, 0.3, 1);
    double regret = 0;
    for (int step = 1; step <= 4000; ++step) {
      const double side = random.unit() < 0.5 ? -1 : 1;
      const size_t arm = bandit.choose({1, side}, 2, {false, false}), best = side > 0 ? 0 : 1;
      regret += arm == best ? 0 : 0.2;
      bandit.observe(arm, {1, side}, (arm == best ? 0.1 : -0.1) + 0.3 * drawNormal(random));
      if (step == 1000)
        early += regret;
    }
    late += regret;
  }
  EXPECT_LT(late, 2 * early);              // linear regret would be four times as much
  EXPECT_LT(late / 10, 0.02 * 0.2 * 4000); // a random choice has 0.5
}

TEST(LinearBandit, ChoosesAmongThoseThatAreNotLeftOut) {
  const LinearBandit bandit({{3}, {2}, {1}}, 1, 1);
  EXPECT_EQ(bandit.choose({1}, 0, {false, false, false}), 0u);
  EXPECT_EQ(bandit.choose({1}, 0, {true, false, false}), 1u);
  EXPECT_EQ(bandit.choose({-1}, 0, {true, false, true}), 1u);
}

/// A steady job that fails the test when it is asked for the work that it has left.
class SecretProgress : public SteadyProgress {
public:
  using SteadyProgress::SteadyProgress;
  double workLeft() const override {
    ADD_FAILURE() << "a policy that knows no work asked for it";
    return SteadyProgress::workLeft();
  }
  std::unique_ptr<JobProgress> copy() const override { return std::make_unique<SecretProgress>(*this); }
};

std::vector<SimulatedJob> secretJobs(size_t count, uint64_t seed) {
  SplitMix random(seed);
  std::vector<SteadyJob> steady;
  std::vector<SimulatedJob> made;
  for (size_t i = 0; i < count; ++i) {
    SteadyJob job;
    job.name = std::to_string(i), job.application = i % 2 ? "a" : "b";
    job.arrival = 200.0 * static_cast<double>(i);
    job.gang = 1, job.rates = {1, 0.5};
    job.steps = std::floor(300 + 8000 * random.unit() * random.unit());
    steady.push_back(job);
  }
  made = simulatedJobs(steady);
  for (size_t i = 0; i < count; ++i) {
    made[i].application = steady[i].application;
    made[i].progress = [job = steady[i]] { return std::make_unique<SecretProgress>(job); };
  }
  return made;
}

const Cluster kTwoTypes{{"fast", "slow"}, {{0, 2}, {1, 2}}};

TEST(JobMemory, BelievesWhatItSawAndNothingMore) {
  const std::vector<SimulatedJob> jobs = secretJobs(12, 3);
  std::vector<std::unique_ptr<JobProgress>> progress;
  std::vector<JobView> views;
  for (size_t i = 0; i < jobs.size(); ++i) {
    progress.push_back(jobs[i].progress());
    progress[i]->place(kTwoTypes, {{0, 1}});
    progress[i]->run(100);
    views.push_back({i, &jobs[i], progress[i].get(), {}, 0, 0, 0});
  }
  JobMemory memory(1800);
  memory.look(kTwoTypes, views);
  std::set<double> known;
  for (size_t i = 0; i < 6; ++i) {
    memory.complete(views[i], 1000 + static_cast<double>(i));
    known.insert(1000 + static_cast<double>(i));
  }
  EXPECT_EQ(memory.numComplete(), 6u);
  EXPECT_EQ(memory.numJobs(), 12u);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SplitMix random(seed), again(seed);
    const BelievedTrace trace = memory.believe(random, 8), same = memory.believe(again, 8);
    ASSERT_EQ(trace.jobs.size(), 8u);
    std::set<std::string> drawn;
    double last = 0;
    for (size_t i = 0; i < trace.jobs.size(); ++i) {
      const double work = trace.jobs[i].progress()->workLeft();
      EXPECT_EQ(work, same.jobs[i].progress()->workLeft());
      EXPECT_GE(trace.jobs[i].arrival, last);
      last = trace.jobs[i].arrival;
      const size_t number = std::stoul(trace.jobs[i].name);
      drawn.insert(trace.jobs[i].name);
      if (number < 6)
        EXPECT_EQ(work, 1000 + static_cast<double>(number));
      else
        EXPECT_GT(work, 100); // more than it has done
      EXPECT_EQ(trace.jobs[i].progress()->rate(kTwoTypes, 1, 1), 0.5);
      EXPECT_EQ(trace.jobs[i].progress()->rate(kTwoTypes, 1, 2), 0);
    }
    // Jobs of the other half are the history: at most 6 are drawn, and what is known of none of them.
    EXPECT_LE(drawn.size(), 6u);
    size_t complete = 0;
    for (const std::string &name : drawn)
      complete += std::stoul(name) < 6;
    EXPECT_LE(trace.history.size() + complete, 6u);
  }
}

TEST(JobMemory, DrawsWorkFromAHistory) {
  WorkHistory history;
  for (int i = 0; i < 2000; ++i)
    history.add({"a", 7777, 1});
  std::vector<SimulatedJob> jobs = secretJobs(1, 3);
  jobs[0].application = "a";
  const auto progress = jobs[0].progress();
  JobMemory memory(1800, history);
  memory.look(kTwoTypes, {{0, &jobs[0], progress.get(), {}, 0, 0, 0}});
  SplitMix random(0);
  EXPECT_EQ(memory.believe(random, 1).jobs.at(0).progress()->workLeft(), 7777);
  EXPECT_EQ(memory.completeJobs().size(), 2000u);
}

/// One job at a time, by arrival: as bad as it can be where there are four devices.
class OneAtATime : public Policy {
public:
  std::vector<JobPlacement> decide(double, const Cluster &, const std::vector<JobView> &jobs) override {
    std::vector<JobPlacement> placements(jobs.size());
    if (!placements.empty())
      placements.front() = {{0, 1}};
    return placements;
  }
};

BanditOptions options(bool isFirstBad) {
  const BanditArm bad{"one", [](const WorkHistory &, unsigned) { return std::make_unique<OneAtATime>(); }};
  BanditOptions made;
  const BanditArm good = plannerArms().front();
  made.arms = isFirstBad ? std::vector<BanditArm>{bad, good} : std::vector<BanditArm>{good, bad};
  return made;
}

struct Ran {
  double mean = 0;
  BanditCounts counts;
};

Ran run(BanditOptions settings, const std::vector<SimulatedJob> &jobs) {
  SimulationOptions simulation;
  settings.simulation = simulation;
  BanditPolicy policy(std::move(settings));
  auto result = simulate(kTwoTypes, jobs, policy, simulation);
  EXPECT_TRUE(result);
  return {result ? result->meanCompletion(jobs) : 0, policy.counts()};
}

TEST(BanditPolicy, TakesTheBetterArmAndKnowsNoWork) {
  const std::vector<SimulatedJob> jobs = secretJobs(40, 5);
  BanditOptions onlyBad = options(true);
  onlyBad.firstReplay = 1000; // never
  const Ran bad = run(onlyBad, jobs), mended = run(options(true), jobs), good = run(options(false), jobs);
  EXPECT_EQ(bad.counts.switches, 0u);
  EXPECT_EQ(bad.counts.replays, 0u);
  EXPECT_EQ(mended.counts.switches, 1u);
  EXPECT_GT(mended.counts.rounds[1], mended.counts.rounds[0]);
  EXPECT_LT(mended.mean, 0.9 * bad.mean);
  EXPECT_EQ(good.counts.switches, 0u); // the worse arm is replayed, and no job of a user sees it
  EXPECT_GT(good.counts.replays, 0u);
  const Ran same = run(options(true), jobs);
  EXPECT_EQ(same.mean, mended.mean);
  EXPECT_EQ(same.counts.rounds, mended.counts.rounds);
}

TEST(BanditPolicy, IsTheFirstArmUntilAnotherIsBetter) {
  for (uint64_t seed : {0, 1}) {
    const DrawnSimulation drawn = drawSynthetic(12, seed);
    BanditOptions settings;
    settings.simulation = drawn.options;
    settings.firstReplay = 1000; // never
    BanditPolicy bandit(settings);
    AllocationOptions allocation;
    allocation.knows = KnownWork::Learned;
    AllocationPolicy learned(allocation);
    auto mine = simulate(drawn.cluster, drawn.jobs, bandit, drawn.options),
         other = simulate(drawn.cluster, drawn.jobs, learned, drawn.options);
    ASSERT_TRUE(mine && other);
    EXPECT_EQ(mine->meanCompletion(drawn.jobs), other->meanCompletion(drawn.jobs));
    EXPECT_EQ(bandit.maxGap(), learned.maxGap());
  }
}

} // namespace
} // namespace accord::jobs
