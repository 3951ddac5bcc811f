#include "lib/jobs/problem/Allocation.h"
#include <fmt/format.h>

namespace accord::jobs {
namespace {

/// With at most so many jobs and uses, sums of values fit 63 bits, and sums of prices * amounts fit 127 bits.
constexpr size_t kMaxJobs = size_t(1) << 22, kMaxUses = size_t(1) << 25;

Error wrong(std::string message) { return {Code::WrongAllocationProblem, std::move(message)}; }

bool inRange(int64_t number, int64_t min) { return number >= min && number <= kMaxAllocationNumber; }

/// What is wrong with one configuration, or nothing.
std::string findingOf(const Configuration &configuration, size_t resources) {
  if (!inRange(configuration.value, 0))
    return fmt::format("has value {}, which is not in 0 to {}", configuration.value, kMaxAllocationNumber);
  for (size_t i = 0; i < configuration.uses.size(); ++i) {
    const ResourceUse &use = configuration.uses[i];
    if (use.resource >= resources)
      return fmt::format("uses resource {} of {}", use.resource, resources);
    if (i > 0 && use.resource <= configuration.uses[i - 1].resource)
      return fmt::format("uses resource {} after resource {}, but resources are ascending, each once", use.resource,
                         configuration.uses[i - 1].resource);
    if (!inRange(use.amount, 1))
      return fmt::format("uses {} of resource {}, which is not in 1 to {}", use.amount, use.resource,
                         kMaxAllocationNumber);
  }
  return {};
}

} // namespace

Result<void> checkAllocationProblem(const AllocationProblem &problem) {
  if (problem.jobs.size() > kMaxJobs)
    return wrong(fmt::format("an allocation has {} jobs, and at most {} are allowed", problem.jobs.size(), kMaxJobs));
  size_t uses = problem.capacity.size();
  for (size_t r = 0; r < problem.capacity.size(); ++r)
    if (!inRange(problem.capacity[r], 0))
      return wrong(fmt::format("resource {} has capacity {}, which is not in 0 to {}", r, problem.capacity[r],
                               kMaxAllocationNumber));
  for (size_t job = 0; job < problem.jobs.size(); ++job) {
    const std::vector<Configuration> &configurations = problem.jobs[job].configurations;
    for (size_t k = 0; k < configurations.size(); ++k) {
      if (std::string finding = findingOf(configurations[k], problem.capacity.size()); !finding.empty())
        return wrong(fmt::format("configuration {} of job {} {}", k, job, finding));
      uses += 1 + configurations[k].uses.size();
    }
  }
  if (uses > kMaxUses)
    return wrong(fmt::format("an allocation has {} configurations, uses and resources, and at most {} are allowed",
                             uses, kMaxUses));
  return {};
}

} // namespace accord::jobs
