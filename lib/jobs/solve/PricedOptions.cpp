#include "lib/jobs/solve/PricedOptions.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {

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
  for (size_t job = 0; job < problem.jobs(); ++job) {
    if (!partial.open(job))
      continue;
    unsigned best = PricedOptions::kNone;
    for (unsigned i = problem.first[job]; i < problem.first[job + 1]; ++i) {
      if (!problem.fits(i, partial.left))
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
  while (bits > 16 && (max >> (56 - bits)) > 0)
    --bits;
  return int64_t(1) << bits;
}

Prices wholePrices(const std::vector<double> &prices, int64_t denominator) {
  Prices whole(prices.size(), 0);
  for (size_t r = 0; r < prices.size(); ++r)
    if (double numerator = prices[r] * static_cast<double>(denominator); numerator > 0)
      whole[r] = numerator < 0x1p59 ? static_cast<int64_t>(std::llround(numerator)) : int64_t(1) << 59;
  return whole;
}

} // namespace accord::jobs
