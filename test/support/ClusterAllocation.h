// Allocation problems of the size of clusters, drawn at random: for tests and benchmarks.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/support/SplitMix.h"
#include <cmath>

namespace accord::jobs::test {

/// Devices of three types, watts, and the quotas of two tenants.
inline AllocationProblem clusterProblem(SplitMix &random, size_t jobs, int64_t devices, bool rows) {
  AllocationProblem problem;
  problem.capacity = {devices / 4, devices / 4, devices - devices / 4 * 2};
  if (rows)
    problem.capacity.insert(problem.capacity.end(), {devices * 240, devices * 5 / 8, devices / 2});
  for (size_t j = 0; j < jobs; ++j) {
    AllocationJob job;
    const double exponent = 0.5 + 0.5 * random.unit(), weight = 500 + 1500 * random.unit();
    for (unsigned type = 0; type < 3; ++type) {
      const double speed = (type + 1) * (0.5 + random.unit());
      for (int64_t count = 1; count <= 64 && count <= problem.capacity[type]; count *= 2) {
        Configuration one;
        one.value = static_cast<int64_t>(weight * speed * std::pow(static_cast<double>(count), exponent));
        one.uses = {{type, count}};
        if (rows) {
          one.uses.push_back({3, count * (200 + 100 * type)});
          one.uses.push_back({static_cast<unsigned>(4 + j % 2), count});
        }
        job.configurations.push_back(std::move(one));
      }
    }
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

} // namespace accord::jobs::test
