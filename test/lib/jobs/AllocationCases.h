// Allocation problems drawn at random, and their optima by trying everything.
#pragma once
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/verify/AllocationVerifier.h"
#include "test/support/ClusterAllocation.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace accord::jobs::test {

/// What random problems look like.
struct AllocationShape {
  size_t jobs = 4, configurations = 3, resources = 2;
  int64_t maxAmount = 4, maxValue = 20;
  double tightness = 0.5; ///< capacity as a share of what all jobs use at most
  double mandatory = 0;   ///< share of jobs that may not wait
  double equal = 0;       ///< share of jobs that are the same as an earlier one
};

inline AllocationProblem randomProblem(SplitMix &random, const AllocationShape &shape) {
  AllocationProblem problem;
  std::vector<double> total(shape.resources, 0);
  for (size_t j = 0; j < shape.jobs; ++j) {
    AllocationJob job;
    job.mayWait = random.unit() >= shape.mandatory;
    const size_t count = random.below(10) ? 1 + random.below(shape.configurations) : 0;
    std::vector<int64_t> max(shape.resources, 0);
    for (size_t k = 0; k < count; ++k) {
      Configuration configuration;
      configuration.value = random.below(shape.maxValue + 1);
      for (unsigned r = 0; r < shape.resources; ++r)
        if (random.below(2) == 0) {
          configuration.uses.push_back({r, 1 + static_cast<int64_t>(random.below(shape.maxAmount))});
          max[r] = std::max(max[r], configuration.uses.back().amount);
        }
      job.configurations.push_back(std::move(configuration));
    }
    for (size_t r = 0; r < shape.resources; ++r)
      total[r] += max[r];
    problem.jobs.push_back(std::move(job));
  }
  for (size_t j = 1; j < shape.jobs; ++j)
    if (random.unit() < shape.equal)
      problem.jobs[j] = problem.jobs[random.below(j)];
  for (double sum : total)
    problem.capacity.push_back(static_cast<int64_t>(sum * shape.tightness * (0.5 + random.unit())));
  return problem;
}

/// The best value of all allocations, by trying each; -1 if there is none.
inline int64_t bruteForce(const AllocationProblem &problem, size_t job, std::vector<int64_t> &left) {
  if (job == problem.jobs.size())
    return 0;
  int64_t best = problem.jobs[job].mayWait ? bruteForce(problem, job + 1, left) : -1;
  for (const Configuration &configuration : problem.jobs[job].configurations) {
    bool fits = true;
    for (const ResourceUse &use : configuration.uses)
      fits &= (left[use.resource] -= use.amount) >= 0;
    if (fits)
      if (int64_t rest = bruteForce(problem, job + 1, left); rest >= 0)
        best = std::max(best, configuration.value + rest);
    for (const ResourceUse &use : configuration.uses)
      left[use.resource] += use.amount;
  }
  return best;
}
inline int64_t bruteForce(const AllocationProblem &problem) {
  std::vector<int64_t> left = problem.capacity;
  return bruteForce(problem, 0, left);
}

inline std::string textOf(const Result<void> &result) { return result ? "" : result.error().message; }

inline void expectSolved(const AllocationProblem &problem, int64_t best, const std::string &what) {
  AllocationSolution solution = solveAllocation(problem, {});
  EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "") << what;
  EXPECT_EQ(solution.status, best < 0 ? AllocationStatus::Infeasible : AllocationStatus::Optimal) << what;
  EXPECT_EQ(solution.bound, best) << what;
  EXPECT_EQ(solution.value, std::max<int64_t>(best, 0)) << what;
}

inline AllocationProblem shuffled(const AllocationProblem &problem, SplitMix &random) {
  AllocationProblem other = problem;
  for (size_t i = other.jobs.size(); i > 1; --i)
    std::swap(other.jobs[i - 1], other.jobs[random.below(i)]);
  return other;
}

inline AllocationShape shapeOf(unsigned number) {
  switch (number % 10) {
  case 0:
    return {4, 3, 1, 4, 20, 0.5, 0};
  case 1:
    return {6, 3, 2, 4, 5, 0.4, 0};
  case 2:
    return {5, 4, 3, 6, 100, 0.3, 0.3};
  case 3:
    return {6, 3, 4, 8, 1000, 0.5, 0.2};
  case 4:
    return {5, 4, 2, 3, 2, 0.2, 0}; // many ties
  case 5:
    return {7, 2, 3, 1, 50, 0.6, 0.5};
  case 6:
    return {6, 4, 1, 1000000, 1000000000, 0.3, 0.1};
  case 7:
    return {7, 4, 2, 5, 30, 0.4, 0.2, 0.8};
  case 8:
    return {8, 2, 3, 7, 9, 0.4, 0, 0.7};
  default:
    return {6, 3, 3, 3, 10, 0.9, 0.1, 0.3};
  }
}

} // namespace accord::jobs::test
