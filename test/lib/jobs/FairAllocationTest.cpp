// Fair allocations of one moment against all allocations, tried one by one, with definitions written here.
#include "lib/jobs/solve/FairAllocator.h"
#include "lib/jobs/verify/FairnessRows.h"
#include "lib/jobs/verify/FairnessVerifier.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace accord::jobs {
namespace {

FairProblem randomProblem(SplitMix &random, size_t jobs, size_t tenants) {
  FairProblem problem;
  problem.resources = {{"a", int64_t(2 + random.below(5)), true},
                       {"b", int64_t(1 + random.below(5)), true},
                       {"watts", int64_t(1000 + random.below(3000)), false}};
  for (size_t t = 0; t < tenants; ++t) {
    FairTenant tenant;
    tenant.name = "t" + std::to_string(t);
    tenant.parent = t > 0 && random.below(3) == 0 ? int64_t(random.below(t)) : -1;
    tenant.weight = 1 + int64_t(random.below(3));
    if (random.below(3) == 0)
      tenant.quota = {{int64_t(random.below(3)) - 1, int64_t(random.below(6))}};
    if (random.below(2) == 0)
      tenant.guaranteed = {{int64_t(random.below(3)) - 1, int64_t(random.below(4))}};
    tenant.objective = static_cast<FairObjective>(random.below(5));
    problem.tenants.push_back(tenant);
  }
  for (size_t j = 0; j < jobs; ++j) {
    FairJob job;
    const size_t count = random.below(8) ? 1 + random.below(3) : 0;
    for (size_t k = 0; k < count; ++k) {
      FairConfiguration one;
      one.rate = 1 + int64_t(random.below(40));
      const int64_t devices = 1 + int64_t(random.below(3));
      one.uses = {{unsigned(random.below(2)), devices}};
      if (random.below(2))
        one.uses.push_back({2, devices * int64_t(100 + random.below(400))});
      job.configurations.push_back(one);
    }
    job.isolated = 1 + int64_t(random.below(30));
    job.weight = 1 + int64_t(random.below(3));
    job.age = int64_t(random.below(1000));
    job.remaining = int64_t(random.below(5000));
    job.isolatedSeconds = 1 + int64_t(random.below(2000));
    job.tenant = tenants > 0 ? int64_t(random.below(tenants + 1)) - 1 : -1;
    if (count > 0 && random.below(3) == 0) {
      job.running = int64_t(random.below(count));
      job.pinned = random.below(4) == 0;
    }
    problem.jobs.push_back(job);
  }
  problem.power = random.below(3) ? -0.5 : random.below(2) ? -1 : 1;
  return problem;
}

using Choice = std::vector<int64_t>;

bool below(const FairProblem &problem, const FairJob &job, int64_t tenant) {
  for (int64_t at = job.tenant; at >= 0; at = problem.tenants[at].parent)
    if (at == tenant)
      return true;
  return false;
}

int64_t held(const FairProblem &problem, const Choice &choice, int64_t tenant, int64_t resource) {
  int64_t devices = 0;
  for (size_t j = 0; j < choice.size(); ++j)
    if (choice[j] >= 0 && below(problem, problem.jobs[j], tenant))
      for (const ResourceUse &use : problem.jobs[j].configurations[choice[j]].uses)
        if (use.resource < 2 && (resource < 0 || int64_t(use.resource) == resource))
          devices += use.amount;
  return devices;
}

bool fits(const FairProblem &problem, const Choice &choice) {
  std::vector<int64_t> left;
  for (const FairResource &resource : problem.resources)
    left.push_back(resource.capacity);
  for (size_t j = 0; j < choice.size(); ++j)
    if (choice[j] >= 0)
      for (const ResourceUse &use : problem.jobs[j].configurations[choice[j]].uses)
        if ((left[use.resource] -= use.amount) < 0)
          return false;
  for (size_t t = 0; t < problem.tenants.size(); ++t)
    for (const TenantAmount &quota : problem.tenants[t].quota)
      if (held(problem, choice, int64_t(t), quota.resource) > quota.amount)
        return false;
  return true;
}

void eachChoice(const FairProblem &problem, const std::function<void(const Choice &)> &visit) {
  Choice choice(problem.jobs.size(), -1);
  std::function<void(size_t)> go = [&](size_t j) {
    if (j == choice.size()) {
      if (fits(problem, choice))
        visit(choice);
      return;
    }
    for (int64_t k = -1; k < int64_t(problem.jobs[j].configurations.size()); ++k) {
      choice[j] = k;
      go(j + 1);
    }
  };
  go(0);
}

bool keepsPinned(const FairProblem &problem, const Choice &choice) {
  for (size_t j = 0; j < choice.size(); ++j)
    if (problem.jobs[j].pinned && choice[j] != problem.jobs[j].running)
      return false;
  return true;
}

/// What an objective says of a choice: larger in lexicographic order is better.
std::vector<double> scoreOf(const FairProblem &problem, FairObjective objective, const Choice &choice,
                            const std::function<bool(const FairJob &)> &counts) {
  std::vector<double> levels;
  double sum = 0;
  for (size_t j = 0; j < choice.size(); ++j) {
    const FairJob &job = problem.jobs[j];
    if (!counts(job))
      continue;
    const double rate = choice[j] < 0 ? 0 : double(job.configurations[choice[j]].rate);
    double best = 0;
    for (const FairConfiguration &one : job.configurations)
      best = std::max(best, double(one.rate));
    const double share = rate / double(job.isolated);
    switch (objective) {
    case FairObjective::MaxMin:
      levels.push_back(std::floor(rate * 1e6 / double(job.isolated * job.weight)));
      break;
    case FairObjective::FinishTime: {
      const double wait = rate > 0 ? 0 : 60, speed = rate > 0 ? rate : best;
      levels.push_back(speed > 0 ? -std::ceil(((double(job.age) + wait) * speed + double(job.remaining)) * 1e6 /
                                              (speed * double(job.isolatedSeconds)))
                                 : -1e300);
      break;
    }
    case FairObjective::Nash:
      sum += double(job.weight) * std::round(1e6 * std::log2(std::max(share, 0.001) / 0.001));
      break;
    case FairObjective::PowerMean:
      if (rate > 0)
        sum += double(job.weight) *
               std::round(1e6 * (1.1 + (problem.power < 0 ? -1 : 1) * std::pow(share, problem.power)));
      break;
    case FairObjective::Throughput:
      sum += double(job.weight) * rate;
      break;
    }
  }
  std::ranges::sort(levels);
  if (objective != FairObjective::MaxMin && objective != FairObjective::FinishTime)
    return {sum};
  return levels;
}

/// All layers, one behind the other.
std::vector<double> scoreOf(const FairProblem &problem, const Choice &choice) {
  if (!problem.hierarchical)
    return scoreOf(problem, problem.objective, choice, [](const FairJob &) { return true; });
  std::vector<double> all;
  const auto tenants = int64_t(problem.tenants.size());
  for (int64_t parent = -1; parent < tenants; ++parent) {
    std::vector<double> levels;
    for (int64_t t = 0; t < tenants; ++t)
      if (problem.tenants[t].parent == parent)
        levels.push_back(std::floor(1e6 * double(held(problem, choice, t, -1)) / double(problem.tenants[t].weight)));
    std::ranges::sort(levels);
    all.insert(all.end(), levels.begin(), levels.end());
  }
  for (int64_t t = 0; t <= tenants; ++t) {
    const int64_t tenant = t < tenants ? t : -1;
    const auto own = scoreOf(problem, t < tenants ? problem.tenants[t].objective : problem.objective, choice,
                             [&](const FairJob &job) { return job.tenant == tenant; });
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

struct Tried {
  bool feasible = false;
  std::vector<double> best;
};

/// The best score of all allocations that keep what tenants are sure of.
Tried tryAll(const FairProblem &problem) {
  std::vector<std::vector<int64_t>> sure(problem.tenants.size());
  for (size_t t = 0; t < problem.tenants.size(); ++t)
    for (const TenantAmount &amount : problem.tenants[t].guaranteed) {
      int64_t max = 0;
      eachChoice(problem, [&](const Choice &choice) {
        for (size_t j = 0; j < choice.size(); ++j) {
          if (choice[j] >= 0 && !below(problem, problem.jobs[j], int64_t(t)))
            return;
          if (problem.jobs[j].pinned && choice[j] >= 0 && choice[j] != problem.jobs[j].running)
            return;
        }
        const int64_t use = held(problem, choice, int64_t(t), amount.resource);
        if (use <= amount.amount)
          max = std::max(max, use);
      });
      sure[t].push_back(max);
    }
  Tried tried;
  eachChoice(problem, [&](const Choice &choice) {
    if (!keepsPinned(problem, choice))
      return;
    for (size_t t = 0; t < problem.tenants.size(); ++t)
      for (size_t a = 0; a < sure[t].size(); ++a)
        if (held(problem, choice, int64_t(t), problem.tenants[t].guaranteed[a].resource) < sure[t][a])
          return;
    std::vector<double> score = scoreOf(problem, choice);
    if (!tried.feasible || score > tried.best)
      tried.best = std::move(score);
    tried.feasible = true;
  });
  return tried;
}

void expectBest(const FairProblem &problem, const std::string &what) {
  auto solution = allocateFairly(problem, {});
  ASSERT_TRUE(solution) << what << ": " << (solution ? "" : solution.error().message);
  auto verified = verifyFairAllocation(problem, *solution);
  EXPECT_TRUE(verified) << what << ": " << (verified ? "" : verified.error().message);
  const Tried tried = tryAll(problem);
  EXPECT_EQ(solution->status, tried.feasible ? AllocationStatus::Optimal : AllocationStatus::Infeasible) << what;
  if (tried.feasible && !solution->choice.empty()) {
    EXPECT_EQ(scoreOf(problem, solution->choice), tried.best) << what;
    EXPECT_TRUE(fits(problem, solution->choice)) << what;
  }
}

class OfObjective : public ::testing::TestWithParam<FairObjective> {};

TEST_P(OfObjective, IsTheBestOfAllAllocations) {
  SplitMix random(11 + static_cast<uint64_t>(GetParam()));
  for (int i = 0; i < 200; ++i) {
    FairProblem problem = randomProblem(random, 1 + random.below(5), random.below(3));
    problem.objective = GetParam();
    expectBest(problem, std::string(nameOf(GetParam())) + " " + std::to_string(i));
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OfObjective,
                         ::testing::Values(FairObjective::MaxMin, FairObjective::FinishTime, FairObjective::Nash,
                                           FairObjective::PowerMean, FairObjective::Throughput));

TEST(FairAllocation, IsTheBestOfAllHierarchicalAllocations) {
  SplitMix random(31);
  for (int i = 0; i < 200; ++i) {
    FairProblem problem = randomProblem(random, 1 + random.below(5), 1 + random.below(4));
    problem.hierarchical = true;
    expectBest(problem, "hierarchical " + std::to_string(i));
    if (HasFailure())
      return;
  }
}

FairJob jobOf(int64_t tenant, std::vector<std::pair<int64_t, int64_t>> rates) {
  FairJob job;
  job.tenant = tenant;
  for (auto [devices, rate] : rates)
    job.configurations.push_back({rate, {{0, devices}}});
  return job;
}

TEST(FairAllocation, AGuaranteeHoldsInAFloodOfOthersJobs) {
  FairProblem problem;
  problem.hierarchical = true;
  problem.resources = {{"h100", 64, true}};
  problem.tenants = {{"small", -1, 1, {{-1, 24}}, {}, FairObjective::Throughput},
                     {"flood", -1, 100, {}, {}, FairObjective::Throughput}};
  for (int i = 0; i < 3; ++i)
    problem.jobs.push_back(jobOf(0, {{1, 10}, {4, 35}, {8, 60}}));
  for (int arrived : {0, 500}) {
    for (int i = 0; i < arrived; ++i)
      problem.jobs.push_back(jobOf(1, {{1, 10 + i % 7}, {2, 18 + i % 5}, {4, 30}}));
    for (bool hierarchical : {true, false}) {
      problem.hierarchical = hierarchical;
      problem.objective = FairObjective::Throughput;
      auto solution = allocateFairly(problem, {});
      ASSERT_TRUE(solution);
      auto verified = verifyFairAllocation(problem, *solution);
      EXPECT_TRUE(verified) << verified.error().message;
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(solution->choice[i], 2) << "8 devices each";
    }
  }
}

TEST(FairAllocation, QuotasBindAndWeightsShare) {
  FairProblem problem;
  problem.hierarchical = true;
  problem.resources = {{"h100", 12, true}};
  problem.tenants = {{"a", -1, 2, {}, {}}, {"b", -1, 1, {}, {}}, {"c", -1, 1, {}, {{0, 1}}}};
  for (int i = 0; i < 30; ++i)
    problem.jobs.push_back(jobOf(i % 3, {{1, 10}}));
  auto solution = allocateFairly(problem, {});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->status, AllocationStatus::Optimal);
  std::vector<int> devices(3, 0);
  for (int i = 0; i < 30; ++i)
    devices[i % 3] += solution->choice[i] == 0;
  EXPECT_EQ(devices, (std::vector<int>{7, 4, 1})); // shares 3.5, 4, 1: the second smallest is maximal
}

TEST(FairAllocation, KeepsRunningJobsAmongTheBest) {
  FairProblem problem;
  problem.resources = {{"h100", 2, true}};
  for (int i = 0; i < 5; ++i)
    problem.jobs.push_back(jobOf(-1, {{1, 10}}));
  problem.jobs[3].running = problem.jobs[4].running = 0;
  for (FairObjective objective : {FairObjective::MaxMin, FairObjective::Nash, FairObjective::Throughput}) {
    problem.objective = objective;
    auto solution = allocateFairly(problem, {});
    ASSERT_TRUE(solution);
    EXPECT_EQ(solution->choice, (Choice{-1, -1, -1, 0, 0})) << nameOf(objective);
    EXPECT_EQ(solution->kept, 2);
  }
}

TEST(FairAllocation, AWrongProofIsFound) {
  SplitMix random(5);
  unsigned found = 0, tried = 0;
  for (int i = 0; i < 60; ++i) {
    FairProblem problem = randomProblem(random, 4, 2);
    problem.hierarchical = i % 2;
    auto solution = allocateFairly(problem, {});
    ASSERT_TRUE(solution);
    if (solution->steps.empty())
      continue;
    ++tried;
    FairSolution wrong = *solution;
    FairStep &step = wrong.steps[random.below(wrong.steps.size())];
    if (i % 3 == 0)
      step.value = step.bound = step.bound - 1;
    else if (i % 3 == 1)
      step.level += 1, step.layer += 1;
    else
      wrong.steps.pop_back();
    found += !verifyFairAllocation(problem, wrong);
  }
  EXPECT_GT(tried, 30u);
  EXPECT_EQ(found, tried);
}

TEST(FairAllocation, ProblemsOfProofsAreWrittenTwiceAlike) {
  SplitMix random(6);
  for (int i = 0; i < 100; ++i) {
    FairProblem problem = randomProblem(random, 5, 3);
    problem.hierarchical = i % 4 > 0;
    problem.objective = static_cast<FairObjective>(i % 5);
    auto solution = allocateFairly(problem, {});
    ASSERT_TRUE(solution);
    for (const FairReserve &reserve : solution->reserves) {
      const AllocationProblem one = reserveProblem(problem, reserve.tenant, reserve.amount),
                              other = guaranteeRows(problem, reserve.tenant, reserve.amount);
      EXPECT_EQ(one.capacity, other.capacity);
      EXPECT_EQ(one.jobs, other.jobs);
    }
    for (size_t at = 0; at < solution->steps.size(); ++at) {
      const std::vector<FairStep> before(solution->steps.begin(), solution->steps.begin() + static_cast<long>(at));
      const StepProblem one = stepProblem(problem, solution->reserves, before, &solution->steps[at]),
                        other = stepRows(problem, *solution, at, &solution->steps[at]);
      EXPECT_EQ(one.allocation.capacity, other.allocation.capacity);
      EXPECT_EQ(one.allocation.jobs, other.allocation.jobs);
      EXPECT_EQ(one.offset, other.offset);
    }
  }
}

TEST(FairAllocation, TermsThatAreTooLargeAreRefused) {
  FairProblem problem;
  problem.hierarchical = true;
  problem.resources = {{"a", 4, true}};
  problem.tenants = {{"a", -1, 1, {}, {}, FairObjective::Throughput}, {"b", -1, 1, {}, {}, FairObjective::Nash}};
  for (int i = 0; i < 4; ++i) {
    FairJob job;
    job.tenant = i % 2;
    job.configurations = {{kMaxAllocationNumber, {{0, 1}}}};
    job.weight = 1 << 20;
    problem.jobs.push_back(job);
  }
  auto solution = allocateFairly(problem, {});
  ASSERT_FALSE(solution);
  EXPECT_EQ(solution.error().code, Code::WrongAllocationProblem);
  for (FairJob &job : problem.jobs)
    job.weight = 1, job.configurations[0].rate = 1 << 30;
  solution = allocateFairly(problem, {});
  ASSERT_TRUE(solution);
  EXPECT_TRUE(verifyFairAllocation(problem, *solution));
}

TEST(FairAllocation, DegenerateProblems) {
  FairProblem none;
  auto solution = allocateFairly(none, {});
  ASSERT_TRUE(solution);
  EXPECT_TRUE(verifyFairAllocation(none, *solution));
  none.jobs.resize(3);
  solution = allocateFairly(none, {});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->choice, (Choice{-1, -1, -1}));
  EXPECT_TRUE(verifyFairAllocation(none, *solution));
  auto refused = [](FairProblem problem) {
    auto checked = checkFairProblem(problem);
    return !checked && checked.error().code == Code::WrongAllocationProblem && !allocateFairly(problem, {});
  };
  FairProblem wrong = none;
  wrong.jobs[0].isolated = 0;
  EXPECT_TRUE(refused(wrong));
  wrong = none;
  wrong.jobs[0].configurations = {{1, {{0, 1}}}};
  EXPECT_TRUE(refused(wrong));
  wrong = none;
  wrong.tenants = {{"a", 0, 1, {}, {}}};
  EXPECT_TRUE(refused(wrong));
  wrong = none;
  wrong.jobs[1].pinned = true;
  EXPECT_TRUE(refused(wrong));
  wrong = none;
  wrong.power = 0;
  EXPECT_TRUE(refused(wrong));
}

} // namespace
} // namespace accord::jobs
