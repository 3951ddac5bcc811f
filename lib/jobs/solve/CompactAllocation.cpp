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
  std::vector<SlotOption> options; ///< where they are not very many, none dominates another
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

/// Comparisons of options of a job; what comes then stays, whether or not another one dominates it. Of a hundred
/// thousand options, comparing all would take minutes, in each problem that is solved.
constexpr size_t kMaxCompared = size_t{1} << 26;

/// What tells of most pairs that one does not use less than the other.
struct Outline {
  Priced total = 0;
  unsigned first = ~0u, last = 0; ///< resources; uses ascend by them

  explicit Outline(const std::vector<ResourceUse> &uses) {
    for (const ResourceUse &use : uses)
      total += use.amount;
    if (!uses.empty())
      first = uses.front().resource, last = uses.back().resource;
  }
  bool mayUseNoMore(const Outline &than) const {
    return total <= than.total && first >= than.first && last <= than.last;
  }
};

/// The first of the options that uses no more than another one, among as many as may be compared; their number: none.
size_t findBetter(const std::vector<SlotOption> &options, const std::vector<Outline> &outlines, const SlotOption &one,
                  size_t &mayCompare) {
  const Outline outline(one.uses);
  const size_t end = std::min(options.size(), mayCompare);
  for (size_t i = 0; i < end; ++i)
    if (outlines[i].mayUseNoMore(outline) && usesNoMore(options[i].uses, one.uses)) {
      mayCompare -= i + 1;
      return i;
    }
  mayCompare -= end;
  return options.size();
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
  std::vector<std::pair<Priced, size_t>> order; // totals, which are compared often
  for (size_t i = 0; i < all.size(); ++i)
    order.emplace_back(Outline(all[i].uses).total, i);
  std::sort(order.begin(), order.end(), [&](const auto &a, const auto &b) {
    const int64_t first = all[a.second].value, second = all[b.second].value;
    return first != second ? first > second : a < b; // by slot, then
  });
  std::vector<Outline> outlines;
  size_t mayCompare = kMaxCompared;
  for (const auto &[total, at] : order) {
    SlotOption &one = all[at];
    const size_t better = findBetter(sorted.options, outlines, one, mayCompare);
    if (better < sorted.options.size()) {
      sorted.options[better].slots.push_back(one.slots.front());
      continue;
    }
    outlines.emplace_back(one.uses);
    sorted.options.push_back(std::move(one));
  }
  std::sort(sorted.options.begin(), sorted.options.end(), [](const SlotOption &a, const SlotOption &b) {
    return lessOption(a, b) || (!lessOption(b, a) && a.slots < b.slots);
  });
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
