#include "lib/jobs/solve/PricedOptions.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {

namespace {

/// The last slot that the order of equal jobs allows to each job, by the nearest that is fixed behind it.
std::vector<unsigned> lastSlots(const CompactAllocation &problem, const PartialAllocation &partial) {
  std::vector<unsigned> last(problem.jobs(), PricedOptions::kNone);
  unsigned max = PricedOptions::kNone;
  for (size_t job = problem.jobs(); job-- > 0;) {
    if (job + 1 < problem.jobs() && problem.equal[job] != problem.equal[job + 1])
      max = PricedOptions::kNone;
    if (!partial.open(job))
      max = problem.options[partial.option[job]].maxSlot;
    last[job] = max;
  }
  return last;
}

} // namespace

PricedOptions priceOptions(const CompactAllocation &problem, const PartialAllocation &partial, Prices prices,
                           int64_t denominator) {
  PricedOptions priced;
  priced.denominator = denominator;
  priced.fits.assign(problem.options.size(), false);
  priced.value.resize(problem.options.size());
  priced.best.assign(problem.jobs(), PricedOptions::kNone);
  priced.bound = Priced(partial.value) * denominator;
  for (size_t r = 0; r < problem.resources(); ++r)
    priced.bound += Priced(prices[r]) * partial.left[r];
  const std::vector<unsigned> last = lastSlots(problem, partial);
  unsigned min = 0; // slot, by the nearest equal job that is fixed before
  for (size_t job = 0; job < problem.jobs(); ++job) {
    if (job > 0 && problem.equal[job] != problem.equal[job - 1])
      min = 0;
    if (!partial.open(job)) {
      min = problem.options[partial.option[job]].minSlot;
      continue;
    }
    unsigned best = PricedOptions::kNone;
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i) {
      if (problem.options[i].maxSlot < min || problem.options[i].minSlot > last[job] || !problem.fits(i, partial.left))
        continue;
      priced.fits[i] = true;
      priced.value[i] = problem.reduced(i, prices, denominator);
      if (best == PricedOptions::kNone || priced.value[i] > priced.value[best])
        best = i;
    }
    priced.best[job] = best;
    if (best == PricedOptions::kNone)
      priced.possible = false;
    else
      priced.bound += priced.value[best];
  }
  priced.prices = std::move(prices);
  return priced;
}

int64_t priceDenominator(const CompactAllocation &problem) {
  int64_t max = 1;
  for (const AllocationOption &option : problem.options)
    max = std::max(max, option.value);
  int bits = 40;
  while (bits > 16 && (max >> (50 - bits)) > 0)
    --bits;
  return int64_t(1) << bits;
}

Prices wholePrices(const std::vector<double> &prices, int64_t denominator) {
  Prices whole(prices.size(), 0);
  for (size_t r = 0; r < prices.size(); ++r)
    if (double numerator = prices[r] * static_cast<double>(denominator); numerator > 0)
      whole[r] = numerator < 0x1p53 ? static_cast<int64_t>(std::llround(numerator)) : int64_t(1) << 53;
  return whole;
}

} // namespace accord::jobs
