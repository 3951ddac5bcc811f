// Proves again what a tuning says of prices, limits and its front, with code of its own.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/Prices.h"
#include <functional>

namespace accord::tuning {

/// The price of a configuration, computed again from the sources of the answer.
using PriceAgain = std::function<Result<Price, Errors>(const Configuration &)>;

/// Proves of a result with prices: each trial keeps all limits on the devices that it ran on; its unit is as long as
/// its price says; trials that share a device fit in its memory together at any time; the front is that of all trials,
/// by comparing each with each; and counts of rejected configurations add up. With `again`, every price is computed
/// again and compared; without it prices are taken as given. Findings are A0954.
Verification verifyPrices(const TuningProblem &problem, const TuningResult &result, const PricedTuning &priced,
                          const PriceAgain &again);

} // namespace accord::tuning
