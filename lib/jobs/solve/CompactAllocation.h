// An allocation problem in the order and form that searches need: jobs and options in an order that follows from their
// numbers alone, without options that another one dominates (of many thousand options of a job, some of those stay).
#pragma once
#include "lib/jobs/problem/Allocation.h"

namespace accord::jobs {

/// Values that prices are compared with, times the denominator of the prices.
using Priced = __int128;

/// One way to treat a job: a configuration, or to wait (value 0, no uses).
struct AllocationOption {
  int64_t value = 0;
  unsigned firstUse = 0, lastUse = 0; ///< of `CompactAllocation::uses`
  /// What it stands for in the original job: first itself, then what it dominates (same or more of each use, the same
  /// or less value). A slot is the number of a configuration; the number of configurations is that of waiting.
  std::vector<unsigned> slots;
  unsigned minSlot = 0, maxSlot = 0;
};

struct CompactAllocation {
  std::vector<int64_t> capacity;         ///< the largest multiples of the greatest common divisors of amounts
  std::vector<AllocationOption> options; ///< of one job after the other
  std::vector<ResourceUse> uses;
  std::vector<unsigned> first;  ///< option of each job, and the number of options
  std::vector<size_t> original; ///< number of each job in the original problem
  std::vector<bool> mandatory;  ///< it may not wait
  /// Slots of each job that use more than the capacity of a resource, with the first such resource.
  std::vector<std::vector<std::pair<unsigned, unsigned>>> neverFits;
  std::vector<unsigned> jobOf; ///< of each option
  std::vector<unsigned> equal; ///< number of the set of equal jobs, of each job; these follow one another

  size_t jobs() const { return original.size(); }
  size_t resources() const { return capacity.size(); }
  /// Whether the option uses no more than is left of each resource.
  bool fits(unsigned option, const std::vector<int64_t> &left) const {
    for (unsigned u = options[option].firstUse; u < options[option].lastUse; ++u)
      if (uses[u].amount > left[uses[u].resource])
        return false;
    return true;
  }
  /// Adds `times` the uses of the option to `left`.
  void add(unsigned option, int64_t times, std::vector<int64_t> &left) const {
    for (unsigned u = options[option].firstUse; u < options[option].lastUse; ++u)
      left[uses[u].resource] += times * uses[u].amount;
  }
  /// value * denominator - prices * uses.
  Priced reduced(unsigned option, const Prices &prices, int64_t denominator) const {
    const AllocationOption &one = options[option];
    Priced sum = Priced(one.value) * denominator;
    for (unsigned u = one.firstUse; u < one.lastUse; ++u)
      sum -= Priced(prices[uses[u].resource]) * uses[u].amount;
    return sum;
  }
};

/// The compact form of a well-formed problem. Two problems that differ in the order of their jobs alone have the same
/// form but for `original`.
CompactAllocation compact(const AllocationProblem &problem);

} // namespace accord::jobs
