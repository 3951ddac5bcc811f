#include "lib/jobs/solve/CompactAllocation.h"
#include "lib/jobs/solve/LagrangePrices.h"
#include "test/lib/jobs/AllocationCases.h"

namespace accord::jobs {
namespace {

using namespace test;

TEST(Allocation, IsOptimalAndProvedOnSmallProblems) {
  SplitMix random(1);
  unsigned infeasible = 0;
  for (unsigned i = 0; i < 4000; ++i) {
    AllocationProblem problem = randomProblem(random, shapeOf(i));
    const int64_t best = bruteForce(problem);
    infeasible += best < 0;
    expectSolved(problem, best, "problem " + std::to_string(i));
    expectSolved(shuffled(problem, random), best, "shuffled problem " + std::to_string(i));
    if (HasFailure())
      return;
  }
  EXPECT_GT(infeasible, 100u);
  EXPECT_LT(infeasible, 2000u);
}

TEST(Allocation, ProvesTheOptimumOfASmallCluster) {
  SplitMix random(2);
  for (int i = 0; i < 5; ++i) {
    AllocationProblem problem = clusterProblem(random, 8, 64, true);
    AllocationSolution solution = solveAllocation(problem, {});
    EXPECT_EQ(solution.status, AllocationStatus::Optimal);
    EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
    AllocationSolution other = solveAllocation(shuffled(problem, random), {});
    EXPECT_EQ(other.value, solution.value);
  }
}

/// Each option of a job is in the compact form once, below one that uses no more and has no lower value.
void expectCompacted(const AllocationProblem &problem) {
  const CompactAllocation made = compact(problem);
  for (size_t job = 0; job < made.jobs(); ++job) {
    const AllocationJob &of = problem.jobs[made.original[job]];
    std::vector<unsigned> slots;
    for (const auto &[slot, resource] : made.neverFits[job])
      slots.push_back(slot);
    for (unsigned i = made.first[job]; i < made.first[job + 1]; ++i) {
      const AllocationOption &option = made.options[i];
      slots.insert(slots.end(), option.slots.begin(), option.slots.end());
      for (unsigned slot : option.slots) {
        const bool waits = slot == of.configurations.size();
        EXPECT_GE(option.value, waits ? 0 : of.configurations[slot].value);
        std::vector<int64_t> left(problem.capacity.size(), 0);
        for (const ResourceUse &use : waits ? std::vector<ResourceUse>() : of.configurations[slot].uses)
          left[use.resource] = use.amount;
        EXPECT_TRUE(made.fits(i, left));
      }
    }
    std::sort(slots.begin(), slots.end());
    ASSERT_EQ(slots.size(), of.configurations.size() + of.mayWait);
    for (unsigned i = 0; i < slots.size(); ++i)
      ASSERT_EQ(slots[i], i);
  }
}

TEST(Allocation, CompactsJobsOfManyOptions) {
  SplitMix random(17);
  for (unsigned i = 0; i < 200; ++i)
    expectCompacted(randomProblem(random, shapeOf(i)));
  AllocationProblem problem;
  problem.capacity.assign(360, 8);
  AllocationJob job;
  for (int i = 0; i < 20'000; ++i) { // one at each time, of any length: few dominate another one
    Configuration one;
    one.value = 1'000'000 + i;
    const auto begin = static_cast<unsigned>(random.below(300)), length = static_cast<unsigned>(1 + random.below(60));
    for (unsigned at = begin; at < begin + length; ++at)
      one.uses.push_back({at, static_cast<int64_t>(1 + random.below(8))});
    job.configurations.push_back(std::move(one));
  }
  problem.jobs.push_back(std::move(job));
  expectCompacted(problem);
}

TEST(Allocation, BoundsALargeClusterWithinAThousandth) {
  SplitMix random(3);
  for (bool rows : {false, true}) {
    AllocationProblem problem = clusterProblem(random, 512, 1024, rows);
    const SearchLimits limits;
    AllocationSolution solution = solveAllocation(problem, limits);
    EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
    EXPECT_LE(solution.bound - solution.value, solution.value / 1000);
    AllocationSolution again = solveAllocation(problem, limits);
    EXPECT_EQ(again.choice, solution.choice);
    EXPECT_EQ(again.bound, solution.bound);
    AllocationSolution other = solveAllocation(shuffled(problem, random), limits);
    EXPECT_EQ(other.value, solution.value);
    EXPECT_EQ(other.bound, solution.bound);
  }
}

TEST(Allocation, EndsEarlyAtAGapWhenStoppedAndWithoutEffort) {
  SplitMix random(4);
  AllocationProblem problem = clusterProblem(random, 64, 256, true);
  std::atomic<bool> stop = true;
  for (int i = 0; i < 3; ++i) {
    SearchLimits limits;
    if (i == 0)
      limits.effort = 0;
    else if (i == 1)
      limits.stop = &stop;
    else
      limits.gap = 0.01;
    AllocationSolution solution = solveAllocation(problem, limits);
    EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
    EXPECT_EQ(solution.proof.nodes.size(), 1u) << i;
    EXPECT_LE(solution.bound - solution.value, solution.value / 20) << i;
  }
}

/// Jobs each of which begins in one of the slots of a gate, and not before its end: a row of each slot and job.
static AllocationProblem gateProblem(unsigned jobs, unsigned slots) {
  AllocationProblem problem;
  problem.capacity.assign(static_cast<size_t>(slots) * (jobs + 1), 1);
  std::fill_n(problem.capacity.begin(), slots, jobs); // of devices
  for (unsigned job = 0; job <= jobs; ++job) {
    AllocationJob made{{}, false};
    for (unsigned begin = 0; begin < slots; ++begin) {
      Configuration one{static_cast<int64_t>(slots - begin), {{begin, static_cast<int64_t>(jobs / 2)}}};
      for (unsigned of = 1; of <= jobs; ++of)
        for (unsigned slot = 0; slot < slots; ++slot)
          if (job == 0 ? slot <= begin : of == job && slot >= begin)
            one.uses.push_back({of * slots + slot, 1});
      std::sort(one.uses.begin(), one.uses.end());
      made.configurations.push_back(std::move(one));
    }
    problem.jobs.push_back(std::move(made));
  }
  return problem;
}

TEST(Allocation, BoundsTheWorkOfRelaxations) {
  const CompactAllocation problem = compact(gateProblem(20, 48));
  OpenOptions open;
  open.first.push_back(0);
  for (size_t job = 0; job < problem.jobs(); ++job) {
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i)
      open.options.push_back(i);
    open.first.push_back(static_cast<unsigned>(open.options.size()));
  }
  std::atomic<bool> stop = true;
  SearchControl stopped;
  stopped.stop = &stop;
  for (size_t maxRows : {1, 10, 100, 300}) {
    const Relaxation relaxed = relax(problem, problem.capacity, open, RelaxedObjective::Value, {}, maxRows);
    EXPECT_LE(relaxed.work, 5 * maxRows * maxRows * maxRows);
    EXPECT_LE(std::ranges::count_if(relaxed.prices, [](double price) { return price > 0; }), maxRows);
    for (size_t job = 0; job < problem.jobs(); ++job) {
      double sum = 0;
      for (unsigned i = open.first[job]; i < open.first[job + 1]; ++i)
        sum += relaxed.shares[i];
      EXPECT_NEAR(sum, 1, 0.01) << job;
    }
    // Stopped, there is one round at most.
    EXPECT_LE(relax(problem, problem.capacity, open, RelaxedObjective::Value, stopped, maxRows).work,
              maxRows * maxRows * maxRows);
  }
}

TEST(Allocation, BoundsManyRowsAtLittleEffort) {
  const AllocationProblem problem = gateProblem(20, 48);
  // The gate is alone in the first slot, then two jobs begin in each.
  int64_t best = 48;
  for (int64_t pair = 0; pair < 10; ++pair)
    best += 2 * (47 - pair);
  for (unsigned effort : {0, 1, 2}) {
    SearchLimits limits;
    limits.effort = effort;
    const AllocationSolution solution = solveAllocation(problem, limits);
    EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
    EXPECT_EQ(solution.value, best) << effort;
  }
}

TEST(Allocation, SolvesDegenerateProblems) {
  const Configuration free{7, {}}, one{5, {{0, 1}}}, worthless{0, {{0, 1}}};
  expectSolved({}, 0, "no jobs and no resources");
  expectSolved({{4}, {}}, 0, "no jobs");
  expectSolved({{4}, {{{}, true}}}, 0, "a job without configurations");
  expectSolved({{4}, {{{}, false}}}, -1, "a job without configurations that may not wait");
  expectSolved({{}, {{{free}, false}, {{free, free}, true}}}, 14, "no resources");
  expectSolved({{0}, {{{one, free}, true}, {{one}, true}}}, 7, "no capacity");
  expectSolved({{0}, {{{one}, true}, {{one}, false}}}, -1, "no capacity for a job that may not wait");
  expectSolved({{1}, {{{worthless}, true}, {{worthless}, true}}}, 0, "no values");
  expectSolved({{1}, {{{worthless}, false}, {{one}, true}}}, 0, "a job that must run takes the one device");
  expectSolved({{1}, {{{worthless}, false}, {{one}, false}}}, -1, "two jobs that must run on one device");
  AllocationProblem equal{{10}, std::vector<AllocationJob>(30, {{one, one, {5, {{0, 2}}}}, true})};
  expectSolved(equal, 50, "equal jobs and configurations");
  AllocationProblem even{{31}, std::vector<AllocationJob>(30, {{{5, {{0, 2}}}}, true})};
  expectSolved(even, 75, "amounts with a common divisor");
  Configuration largest{kMaxAllocationNumber, {{0, kMaxAllocationNumber}}};
  AllocationProblem large{{kMaxAllocationNumber}, std::vector<AllocationJob>(3, {{largest, one}, true})};
  expectSolved(large, kMaxAllocationNumber, "largest numbers");
}

TEST(Allocation, RefusesProblemsThatAreNotWellFormed) {
  auto refused = [](const AllocationProblem &problem, const std::string &message) {
    Result<void> checked = checkAllocationProblem(problem);
    ASSERT_FALSE(checked) << message;
    EXPECT_EQ(checked.error().code, Code::WrongAllocationProblem);
    EXPECT_NE(checked.error().message.find(message), std::string::npos) << checked.error().message;
    EXPECT_FALSE(verifyAllocation(problem, {}));
  };
  refused({{-1}, {}}, "resource 0 has capacity -1");
  refused({{kMaxAllocationNumber + 1}, {}}, "resource 0 has capacity");
  refused({{1}, {{{{-1, {}}}, true}}}, "configuration 0 of job 0 has value -1");
  refused({{1}, {{{{1, {{1, 1}}}}, true}}}, "uses resource 1 of 1");
  refused({{1}, {{{{1, {{0, 0}}}}, true}}}, "uses 0 of resource 0");
  refused({{1}, {{{{1, {{0, 1}, {0, 1}}}}, true}}}, "uses resource 0 after resource 0");
  refused({{1, 1}, {{{{1, {{1, 1}, {0, 1}}}}, true}}}, "uses resource 0 after resource 1");
}

TEST(Allocation, ProvesOptimaOfManyEqualJobs) {
  SplitMix random(6);
  unsigned optimal = 0;
  for (int i = 0; i < 12; ++i) {
    AllocationProblem problem = clusterProblem(random, 64, 100, false);
    for (size_t j = 4; j < problem.jobs.size(); ++j)
      problem.jobs[j] = problem.jobs[j % 4];
    AllocationSolution solution = solveAllocation(problem, {});
    optimal += solution.status == AllocationStatus::Optimal;
    EXPECT_LE(solution.bound - solution.value, solution.value / 1000);
    EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
  }
  EXPECT_GE(optimal, 10u);
}

} // namespace
} // namespace accord::jobs
