// Policies by their properties: optimal orders on one device, service that stays even, deadlines that are kept, tenants
// that get their shares.
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/jobs/simulate/TenantPolicy.h"
#include "lib/jobs/simulate/Tiresias.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::jobs;

namespace {

Cluster oneType(unsigned servers, unsigned devices) {
  Cluster cluster{{"a"}, {}};
  cluster.servers.assign(servers, {0, devices});
  return cluster;
}

std::vector<SimulatedJob> randomJobs(SplitMix &random, size_t count, unsigned maxGang, uint64_t maxArrival,
                                     double restart, size_t types = 1) {
  std::vector<SteadyJob> jobs;
  for (size_t i = 0; i < count; ++i) {
    SteadyJob job;
    job.name = "job" + std::to_string(i);
    job.arrival = static_cast<double>(random.below(maxArrival + 1));
    job.steps = static_cast<double>(1 + random.below(2000));
    job.gang = 1 + static_cast<unsigned>(random.below(maxGang));
    job.restartSeconds = restart;
    for (size_t t = 0; t < types; ++t)
      job.rates.push_back(t > 0 && random.below(5) == 0 ? 0 : 1 + static_cast<double>(random.below(3)));
    jobs.push_back(job);
  }
  return simulatedJobs(jobs);
}

/// Calls another policy and looks at each decision.
class Watched : public Policy {
public:
  Watched(Policy &policy, std::function<void(const std::vector<JobView> &, const std::vector<JobPlacement> &)> look)
      : policy(policy), look(std::move(look)) {}
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override {
    std::vector<JobPlacement> placements = policy.decide(now, cluster, jobs);
    look(jobs, placements);
    return placements;
  }

private:
  Policy &policy;
  std::function<void(const std::vector<JobView> &, const std::vector<JobPlacement> &)> look;
};

TEST(OrderedPolicies, ShortestRemainingTimeIsOptimalOnOneDevice) {
  SplitMix random(1);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<SteadyJob> steady;
    const size_t count = 1 + random.below(6);
    for (size_t i = 0; i < count; ++i)
      steady.push_back({"job", "app", 0, static_cast<double>(1 + random.below(50)), 1, 1, 0, {1.0}});
    const std::vector<SimulatedJob> jobs = simulatedJobs(steady);
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t(0));
    double best = 1e300;
    do {
      double at = 0, total = 0;
      for (size_t i : order)
        total += at += steady[i].steps;
      best = std::min(best, total / static_cast<double>(count));
    } while (std::next_permutation(order.begin(), order.end()));
    SimulationOptions options;
    options.round = 1;
    ShortestRemainingTime policy;
    auto result = simulate(oneType(1, 1), jobs, policy, options);
    ASSERT_TRUE(result);
    EXPECT_DOUBLE_EQ(result->meanCompletion(jobs), best);
  }
}

TEST(OrderedPolicies, ShortestRemainingServiceLooksAtDevices) {
  // 100 s on 4 devices are 400 device-seconds, and 150 s on one are 150.
  const std::vector<SimulatedJob> jobs =
      simulatedJobs({{"wide", "app", 0, 100, 4, 1, 0, {1.0}}, {"narrow", "app", 0, 150, 1, 1, 0, {1.0}}});
  ShortestRemainingTime srpt;
  ShortestRemainingService srsf;
  auto time = simulate(oneType(1, 4), jobs, srpt, {}), service = simulate(oneType(1, 4), jobs, srsf, {});
  ASSERT_TRUE(time && service);
  EXPECT_EQ(time->jobs[0].completion, 100);
  EXPECT_EQ(service->jobs[1].completion, 150);
}

TEST(OrderedPolicies, AttainedServiceStaysEven) {
  // A job that waits and would fit has at most a round of service more than one that runs, of the same gang.
  SplitMix random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<SimulatedJob> jobs = randomJobs(random, 30, 1, 3000, 0);
    AttainedServiceOrder las;
    Watched policy(las, [](const std::vector<JobView> &views, const std::vector<JobPlacement> &placements) {
      double running = 0, waiting = 1e300;
      for (size_t i = 0; i < views.size(); ++i)
        if (placements[i].empty())
          waiting = std::min(waiting, views[i].attainedService);
        else
          running = std::max(running, views[i].attainedService);
      EXPECT_LE(running, waiting);
    });
    auto result = simulate(oneType(2, 2), jobs, policy, {});
    ASSERT_TRUE(result);
    for (size_t i = 0; i < jobs.size(); ++i) // and no job starves
      EXPECT_LE(*result->jobs[i].start - jobs[i].arrival, 60 * static_cast<double>(jobs.size()));
  }
}

TEST(OrderedPolicies, RestartsAsLongAsARoundDoNotKeepJobsFromProgress) {
  const std::vector<SimulatedJob> jobs =
      simulatedJobs({{"a", "app", 0, 1000, 1, 1, 60, {1.0}}, {"b", "app", 0, 1000, 1, 1, 90, {1.0}}});
  SimulationOptions options;
  options.maxSeconds = 100'000;
  AttainedServiceOrder policy;
  EXPECT_TRUE(simulate(oneType(1, 1), jobs, policy, options));
}

TEST(OrderedPolicies, AdmittedJobsMeetTheirDeadlines) {
  SplitMix random(3);
  unsigned admitted = 0, refused = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<SimulatedJob> jobs = randomJobs(random, 20, 1, 4000, 0, 2);
    for (SimulatedJob &job : jobs)
      if (random.below(4))
        job.deadline = job.arrival + 120 + static_cast<double>(random.below(4000));
    Cluster cluster{{"a", "b"}, {{0, 2}, {1, 2}}};
    EarliestDeadline policy(60);
    auto result = simulate(cluster, jobs, policy, {});
    ASSERT_TRUE(result);
    unsigned late = 0, sure = 0;
    for (const auto &[job, isSure] : policy.admissions()) {
      isSure ? ++admitted : ++refused;
      sure += isSure;
      late += isSure && *result->jobs[job].completion > *jobs[job].deadline;
    }
    EXPECT_LE(late * 10, sure) << trial; // types change, which admission does not foresee
  }
  EXPECT_GT(admitted, 200u);
  EXPECT_GT(refused, 50u);
}

TEST(OrderedPolicies, EarliestDeadlineKeepsAllThatCanBeKeptOnOneDevice) {
  // Earliest deadline first is optimal on one device; admission refuses only what cannot be kept.
  std::vector<SimulatedJob> jobs = simulatedJobs({{"long", "app", 0, 600, 1, 1, 0, {1.0}},
                                                  {"soon", "app", 0, 120, 1, 1, 0, {1.0}},
                                                  {"never", "app", 0, 600, 1, 1, 0, {1.0}}});
  jobs[0].deadline = 900;
  jobs[1].deadline = 300;
  jobs[2].deadline = 700;
  EarliestDeadline policy(60);
  auto result = simulate(oneType(1, 1), jobs, policy, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(policy.admissions(), (std::map<size_t, bool>{{0, true}, {1, true}, {2, false}}));
  EXPECT_EQ(result->jobs[1].completion, 120);
  EXPECT_EQ(result->jobs[0].completion, 720);
}

std::vector<std::unique_ptr<Policy>> allPolicies() {
  std::vector<std::unique_ptr<Policy>> policies;
  policies.push_back(std::make_unique<ShortestRemainingTime>());
  policies.push_back(std::make_unique<ShortestRemainingService>());
  policies.push_back(std::make_unique<AttainedServiceOrder>());
  policies.push_back(std::make_unique<EarliestDeadline>());
  policies.push_back(std::make_unique<SiaPolicy>());
  policies.push_back(std::make_unique<PolluxObjective>());
  TenantOptions tenants;
  tenants.tenants = {{"a", -1, 2, {}, {}}, {"b", -1, 1, {{-1, 2}}, {}}};
  policies.push_back(std::make_unique<TenantPolicy>(tenants));
  return policies;
}

TEST(Policies, AllCompleteAllJobsOnTwoTypes) {
  SplitMix random(4);
  for (int trial = 0; trial < 4; ++trial) {
    const Cluster cluster{{"a", "b"}, {{0, 4}, {0, 4}, {1, 4}}};
    std::vector<SimulatedJob> jobs = randomJobs(random, 25, 2, 5000, trial % 2 * 30.0, 2);
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].devices == 3) // sizes that pack
        jobs[i].devices = jobs[i].maxDevices = 4;
      jobs[i].tenant = static_cast<int>(i % 3) - 1;
    }
    for (const auto &policy : allPolicies()) {
      auto result = simulate(cluster, jobs, *policy, {});
      ASSERT_TRUE(result) << (result ? "" : result.error().message);
      for (const SimulatedOutcome &job : result->jobs)
        EXPECT_TRUE(job.completion);
    }
    for (const auto &policy : allPolicies())
      EXPECT_TRUE(policy->decide(0, cluster, {}).empty());
  }
}

TEST(GoodputPolicies, SiaChangesDevicesOnlyWhereItPays) {
  // A job 100 s old with 3 restarts of 30 s has the factor (100 - 90) / 130 for any change.
  struct Seen : SiaPolicy {
    using SiaPolicy::value;
  } policy;
  SimulatedJob job;
  job.restartSeconds = 30;
  JobView view;
  view.description = &job;
  view.restarts = 3;
  EXPECT_DOUBLE_EQ(policy.value(100, view, {0, 4, 4.0, false}, 1), 1.1 - 0.5);
  view.placement = {{0, 1}};
  EXPECT_DOUBLE_EQ(policy.value(100, view, {0, 1, 4.0, true}, 1), 1.1 - 0.5);
  EXPECT_DOUBLE_EQ(policy.value(100, view, {0, 4, 4.0, false}, 1), 1.1 - 1 / std::sqrt(4.0 * 10 / 130));
  EXPECT_EQ(policy.value(80, view, {0, 4, 4.0, false}, 1), 0);
}

TEST(GoodputPolicies, SpeedUpsDecideForPollux) {
  // Job 1 gains three times the speed on both devices, job 0 less than twice: job 1 gets all.
  class Curve : public SteadyProgress {
  public:
    Curve(const SteadyJob &job, double two) : SteadyProgress(job), two(two) {}
    double rate(const Cluster &, unsigned, unsigned devices) const override { return devices == 1 ? 1 : two; }
    double two;
  };
  std::vector<SimulatedJob> jobs(2);
  for (int i = 0; i < 2; ++i) {
    jobs[i].maxDevices = 2;
    jobs[i].progress = [i] {
      return std::make_unique<Curve>(SteadyJob{"job", "app", 0, 100, 1, 1, 0, {1.0}}, i ? 3 : 1.5);
    };
  }
  std::vector<std::unique_ptr<JobProgress>> progress;
  std::vector<JobView> views;
  for (size_t i = 0; i < 2; ++i) {
    progress.push_back(jobs[i].progress());
    views.push_back({i, &jobs[i], progress[i].get(), {}, 0, 0, 0});
  }
  PolluxObjective policy;
  const auto placements = policy.decide(0, oneType(1, 2), views);
  EXPECT_TRUE(placements[0].empty());
  EXPECT_EQ(devicesOf(placements[1]), 2u);
}

TEST(TenantPolicy, WeightsAndGuaranteesHoldWhileAllAsk) {
  // 12 devices; weights 2 and 1, and later a guarantee of 6 for the second.
  std::vector<SteadyJob> steady;
  for (int i = 0; i < 40; ++i)
    steady.push_back({"job", "app", 0, 6000, 1, 1, 0, {1.0}});
  std::vector<SimulatedJob> jobs = simulatedJobs(steady);
  for (size_t i = 0; i < jobs.size(); ++i)
    jobs[i].tenant = static_cast<int>(i % 2);
  for (int64_t guaranteed : {0, 6}) {
    TenantOptions options;
    options.tenants = {{"a", -1, 2, {}, {}}, {"b", -1, 1, {{-1, guaranteed}}, {}}};
    TenantPolicy tenants(options);
    bool first = true;
    Watched policy(tenants, [&](const std::vector<JobView> &views, const std::vector<JobPlacement> &placements) {
      if (!std::exchange(first, false))
        return;
      std::array<unsigned, 2> devices{};
      for (size_t i = 0; i < views.size(); ++i)
        devices[views[i].description->tenant] += devicesOf(placements[i]);
      EXPECT_EQ(devices[0], guaranteed ? 6u : 8u);
      EXPECT_EQ(devices[1], guaranteed ? 6u : 4u);
    });
    EXPECT_TRUE(simulate(oneType(3, 4), jobs, policy, {}));
  }
}

} // namespace
