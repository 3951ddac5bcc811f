// Plans of a window against all plans, by the objective written here.
#include "lib/jobs/simulate/ShockwavePolicy.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

constexpr double kRound = 60, kNow = 600;

struct Case {
  std::vector<SimulatedJob> jobs;
  std::vector<std::unique_ptr<JobProgress>> progress;
  std::vector<JobView> views;
  Cluster cluster{{"a"}, {}};
};

void fill(Case &made, SplitMix &random) {
  made.cluster.servers.assign(1 + random.below(2), {0, 4});
  std::vector<SteadyJob> steady;
  const size_t count = 1 + random.below(4);
  for (size_t i = 0; i < count; ++i)
    steady.push_back(
        {"job", "app", 0, 20 + static_cast<double>(random.below(1000)), 1u << random.below(3), 1, 0, {1.0}});
  made.jobs = simulatedJobs(steady);
  for (size_t i = 0; i < count; ++i) {
    made.progress.push_back(made.jobs[i].progress());
    made.progress[i]->place(made.cluster, {{0, 1}});
    made.progress[i]->run(static_cast<double>(random.below(2)) * steady[i].steps / 3); // a part is done
    made.jobs[i].arrival = static_cast<double>(random.below(600));                     // it arrived before
    made.views.push_back({i, &made.jobs[i], made.progress[i].get(), {}, 0, 0, 0});
  }
}

/// The best value of all numbers of rounds.
double tryAll(const Case &one, unsigned window, double k) {
  const double count = static_cast<double>(one.jobs.size()), devices = static_cast<double>(one.cluster.devices());
  const double share = std::min(1.0, devices / count);
  auto remainingOf = [&](size_t i) { return one.progress[i]->workLeft(); };
  auto aloneOf = [&](size_t i) { return one.progress[i]->workLeft() + one.progress[i]->workDone(); };
  for (bool fair : {true, false}) {
    bool found = false;
    double best = 0;
    std::vector<unsigned> rounds(one.jobs.size());
    std::function<void(size_t, double, double, double)> go = [&](size_t i, double used, double welfare,
                                                                 double longest) {
      if (used > devices * window)
        return;
      if (i == rounds.size()) {
        const double value = welfare / (count * window) - k * longest;
        if (!found || value > best)
          best = value;
        found = true;
        return;
      }
      for (unsigned n = 0; n <= window; ++n) {
        const double left = std::max(0.0, remainingOf(i) - n * kRound), alone = aloneOf(i);
        const double equal = one.jobs[i].arrival + alone / share;
        if (fair && kNow + window * kRound + left / share > equal + 1e-9)
          continue;
        double weight = 1;
        const double ratio = (kNow + remainingOf(i) / share) / equal;
        if (!fair && ratio > 1)
          weight = std::min(1e6, std::pow(ratio, remainingOf(i) < kRound ? 100 : 12));
        const double progress = std::max(1 - left / alone, 1e-6);
        go(i + 1, used + n * one.jobs[i].devices, welfare + weight * std::log(progress), std::max(longest, left));
      }
    };
    go(0, 0, 0, 0);
    if (found)
      return best;
  }
  return 0;
}

TEST(ShockwavePolicy, PlansAreTheBestOfAllPlans) {
  SplitMix random(1);
  for (int trial = 0; trial < 150; ++trial) {
    Case one;
    fill(one, random);
    ShockwaveOptions options;
    options.window = 2 + static_cast<unsigned>(random.below(4));
    options.k = random.below(2) ? 1e-3 : 1e-5;
    ShockwavePolicy policy(options);
    const auto placements = policy.decide(kNow, one.cluster, one.views);
    const double best = tryAll(one, options.window, options.k);
    EXPECT_NEAR(policy.planValue(), best, 1e-3 * std::max(1.0, std::abs(best))) << trial;
    EXPECT_LE(policy.planValue(), best + 1e-6 * std::max(1.0, std::abs(best))) << trial;
    unsigned used = 0;
    for (const JobPlacement &placement : placements)
      used += devicesOf(placement);
    EXPECT_LE(used, one.cluster.devices());
    if (HasFailure())
      return;
  }
}

TEST(ShockwavePolicy, CompletesAllJobs) {
  SplitMix random(2);
  for (int trial = 0; trial < 2; ++trial) {
    std::vector<SteadyJob> steady;
    for (size_t i = 0; i < 25; ++i)
      steady.push_back({"job",
                        "app",
                        static_cast<double>(random.below(8000)),
                        1 + static_cast<double>(random.below(5000)),
                        1u << random.below(3),
                        1,
                        30,
                        {1.0}});
    const std::vector<SimulatedJob> jobs = simulatedJobs(steady);
    Cluster cluster{{"a"}, {{0, 4}, {0, 4}}};
    ShockwavePolicy policy;
    auto result = simulate(cluster, jobs, policy, {});
    ASSERT_TRUE(result) << result.error().message;
    for (const SimulatedOutcome &job : result->jobs)
      EXPECT_TRUE(job.completion);
  }
  ShockwavePolicy policy;
  EXPECT_TRUE(policy.decide(0, {{"a"}, {{0, 4}}}, {}).empty());
  EXPECT_TRUE(policy.decide(0, {}, {}).empty());
}

} // namespace
