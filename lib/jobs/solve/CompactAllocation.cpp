#include "lib/jobs/solve/CompactAllocation.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace accord::jobs {
namespace {

struct SlotOption {
  int64_t value = 0;
  std::vector<ResourceUse> uses;
  std::vector<unsigned> slots;
};

bool lessUses(const std::vector<ResourceUse> &a, const std::vector<ResourceUse> &b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const ResourceUse &x, const ResourceUse &y) {
                                        return std::tie(x.resource, x.amount) < std::tie(y.resource, y.amount);
                                      });
}

bool lessOption(const SlotOption &a, const SlotOption &b) {
  if (a.value != b.value)
    return a.value > b.value;
  return lessUses(a.uses, b.uses);
}

/// Whether `a` uses no more of anything than `b`.
bool usesNoMore(const std::vector<ResourceUse> &a, const std::vector<ResourceUse> &b) {
  size_t i = 0;
  for (const ResourceUse &use : a) {
    while (i < b.size() && b[i].resource < use.resource)
      ++i;
    if (i == b.size() || b[i].resource != use.resource || b[i].amount < use.amount)
      return false;
  }
  return true;
}

struct SortedJob {
  size_t original = 0;
  bool mandatory = false;
  std::vector<SlotOption> options; ///< none dominates another
  std::vector<std::pair<unsigned, unsigned>> neverFits;
};

bool fitsEmpty(const Configuration &configuration, const std::vector<int64_t> &capacity) {
  return std::all_of(configuration.uses.begin(), configuration.uses.end(),
                     [&](const ResourceUse &use) { return use.amount <= capacity[use.resource]; });
}

/// The largest multiples of the greatest common divisors of amounts.
std::vector<int64_t> usableCapacity(const AllocationProblem &problem) {
  std::vector<int64_t> divisor(problem.capacity.size(), 0), usable = problem.capacity;
  for (const AllocationJob &job : problem.jobs)
    for (const Configuration &configuration : job.configurations)
      if (fitsEmpty(configuration, problem.capacity))
        for (const ResourceUse &use : configuration.uses)
          divisor[use.resource] = std::gcd(divisor[use.resource], use.amount);
  for (size_t r = 0; r < usable.size(); ++r)
    usable[r] -= divisor[r] > 0 ? usable[r] % divisor[r] : 0;
  return usable;
}

SortedJob sortedJob(const AllocationProblem &problem, size_t number) {
  const AllocationJob &job = problem.jobs[number];
  SortedJob sorted;
  sorted.original = number;
  sorted.mandatory = !job.mayWait;
  std::vector<SlotOption> all;
  for (unsigned k = 0; k < job.configurations.size(); ++k) {
    const Configuration &configuration = job.configurations[k];
    auto tooLarge = std::find_if(configuration.uses.begin(), configuration.uses.end(),
                                 [&](const ResourceUse &use) { return use.amount > problem.capacity[use.resource]; });
    if (tooLarge == configuration.uses.end())
      all.push_back({configuration.value, configuration.uses, {k}});
    else
      sorted.neverFits.push_back({k, tooLarge->resource});
  }
  if (job.mayWait)
    all.push_back({0, {}, {static_cast<unsigned>(job.configurations.size())}});
  // A dominating option has a higher value, or the same and fewer uses: sums of amounts tell.
  auto total = [](const SlotOption &one) {
    Priced sum = 0;
    for (const ResourceUse &use : one.uses)
      sum += use.amount;
    return sum;
  };
  std::sort(all.begin(), all.end(), [&](const SlotOption &a, const SlotOption &b) {
    if (a.value != b.value)
      return a.value > b.value;
    return total(a) != total(b) ? total(a) < total(b) : a.slots < b.slots;
  });
  for (SlotOption &one : all) {
    auto better = std::find_if(sorted.options.begin(), sorted.options.end(),
                               [&](const SlotOption &kept) { return usesNoMore(kept.uses, one.uses); });
    if (better == sorted.options.end())
      sorted.options.push_back(std::move(one));
    else
      better->slots.push_back(one.slots.front());
  }
  std::sort(sorted.options.begin(), sorted.options.end(), lessOption); // no two are equal
  return sorted;
}

bool lessJob(const SortedJob &a, const SortedJob &b) {
  if (a.mandatory != b.mandatory)
    return a.mandatory;
  return std::lexicographical_compare(a.options.begin(), a.options.end(), b.options.begin(), b.options.end(),
                                      lessOption);
}

} // namespace

CompactAllocation compact(const AllocationProblem &problem) {
  std::vector<SortedJob> jobs;
  jobs.reserve(problem.jobs.size());
  for (size_t job = 0; job < problem.jobs.size(); ++job)
    jobs.push_back(sortedJob(problem, job));
  std::sort(jobs.begin(), jobs.end(), [&](const SortedJob &a, const SortedJob &b) {
    if (lessJob(a, b) || lessJob(b, a))
      return lessJob(a, b);
    const auto order = problem.jobs[a.original] <=> problem.jobs[b.original];
    return order != 0 ? order < 0 : a.original < b.original;
  });
  CompactAllocation made;
  made.capacity = usableCapacity(problem);
  for (SortedJob &job : jobs) {
    const bool isNew = made.equal.empty() || problem.jobs[made.original.back()] != problem.jobs[job.original];
    made.equal.push_back(made.equal.empty() ? 0 : made.equal.back() + isNew);
    made.first.push_back(made.options.size());
    for (SlotOption &option : job.options) {
      unsigned start = made.uses.size();
      made.uses.insert(made.uses.end(), option.uses.begin(), option.uses.end());
      const auto [min, max] = std::minmax_element(option.slots.begin(), option.slots.end());
      made.options.push_back({option.value, start, static_cast<unsigned>(made.uses.size()), option.slots, *min, *max});
      made.jobOf.push_back(made.original.size());
    }
    made.original.push_back(job.original);
    made.mandatory.push_back(job.mandatory);
    made.neverFits.push_back(std::move(job.neverFits));
  }
  made.first.push_back(made.options.size());
  return made;
}

} // namespace accord::jobs
