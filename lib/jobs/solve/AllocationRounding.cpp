#include "lib/jobs/solve/AllocationRounding.h"
#include <algorithm>

namespace accord::jobs {
namespace {

class Repair {
public:
  Repair(const CompactAllocation &problem, const std::vector<double> &prices, std::vector<unsigned> option)
      : problem(problem), prices(prices), option(std::move(option)), left(problem.capacity) {
    for (unsigned one : this->option)
      problem.add(one, -1, left);
  }

  FoundChoice run() {
    while (missing() > 0)
      if (!reduce())
        return {};
    while (improve())
      continue;
    FoundChoice found{std::move(option), 0};
    for (unsigned one : found.option)
      found.value += problem.options[one].value;
    return found;
  }

private:
  /// What is missing of capacities, each relative to its size.
  double missing() const {
    double sum = 0;
    for (size_t r = 0; r < left.size(); ++r)
      sum += missing(r, left[r]);
    return sum;
  }
  double missing(size_t r, int64_t amount) const {
    return amount < 0 ? -static_cast<double>(amount) / std::max<int64_t>(1, problem.capacity[r]) : 0;
  }
  double priced(unsigned one) const {
    double sum = problem.options[one].value;
    for (unsigned u = problem.options[one].firstUse; u < problem.options[one].lastUse; ++u)
      sum -= prices[problem.uses[u].resource] * problem.uses[u].amount;
    return sum;
  }

  /// By how much less is missing if a job changes from `from`, whose uses are already given back to `left`.
  double missingWith(unsigned to, double without) const {
    double sum = without;
    for (unsigned u = problem.options[to].firstUse; u < problem.options[to].lastUse; ++u) {
      const ResourceUse &use = problem.uses[u];
      sum += missing(use.resource, left[use.resource] - use.amount) - missing(use.resource, left[use.resource]);
    }
    return sum;
  }

  bool reduce() {
    const double before = missing();
    double bestRatio = 0;
    unsigned best = PricedOptions::kNone;
    for (size_t job = 0; job < problem.jobs(); ++job) {
      const unsigned from = option[job];
      if (!relieves(from))
        continue;
      const double loss = priced(from);
      problem.add(from, 1, left);
      const double without = missing();
      for (unsigned to = problem.first[job]; to < problem.first[job + 1]; ++to) {
        const double freed = before - missingWith(to, without);
        if (to == from || !(freed > before * 1e-12))
          continue;
        const double ratio = freed / (std::max(0.0, loss - priced(to)) + 1e-9);
        if (ratio > bestRatio) {
          bestRatio = ratio;
          best = to;
        }
      }
      problem.add(from, -1, left);
    }
    if (best == PricedOptions::kNone)
      return false;
    change(best);
    return true;
  }
  bool relieves(unsigned from) const {
    for (unsigned u = problem.options[from].firstUse; u < problem.options[from].lastUse; ++u)
      if (left[problem.uses[u].resource] < 0)
        return true;
    return false;
  }

  bool improve() {
    int64_t bestGain = 0;
    unsigned best = PricedOptions::kNone;
    for (size_t job = 0; job < problem.jobs(); ++job) {
      const unsigned from = option[job];
      problem.add(from, 1, left);
      for (unsigned to = problem.first[job]; to < problem.first[job + 1]; ++to) {
        const int64_t gain = problem.options[to].value - problem.options[from].value;
        if (gain > bestGain && problem.fits(to, left)) {
          bestGain = gain;
          best = to;
        }
      }
      problem.add(from, -1, left);
    }
    if (best == PricedOptions::kNone)
      return false;
    change(best);
    return true;
  }
  void change(unsigned to) {
    unsigned &now = option[problem.jobOf[to]];
    problem.add(now, 1, left);
    problem.add(to, -1, left);
    now = to;
  }

  const CompactAllocation &problem;
  const std::vector<double> &prices;
  std::vector<unsigned> option;
  std::vector<int64_t> left;
};

} // namespace

FoundChoice repair(const CompactAllocation &problem, const std::vector<double> &prices, std::vector<unsigned> option) {
  return Repair(problem, prices, std::move(option)).run();
}

} // namespace accord::jobs
