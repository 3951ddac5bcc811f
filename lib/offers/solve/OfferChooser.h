// Chooses an option for each training, exactly.
#pragma once
#include "lib/offers/problem/Offers.h"
#include "lib/search/SearchLimits.h"

namespace accord::offers {

/// Seconds that count against the deadline: the value, or the upper end of the interval.
double timeAgainst(const OfferLimits &limits, const OfferOption &option);

/// One training without shared limits is a scan; else each minimum is one of `searchChoice`, whose bound is proved. The
/// largest time is minimized by bisection over the times that there are: a largest time is possible if the smallest sum
/// of prices with no time above it is within the budget. The front repeats the smallest price with no time at or above
/// the last one. Where there is no choice, the smallest deadline, budget and power that suffice alone are found in the
/// same way, else the smallest of two, or of all three. `limits.effort` says how large a search may be.
OfferChoice chooseOffers(const OfferProblem &problem, const SearchLimits &limits);

/// The best options on other offers, or with the other price of the offer, within the limits: at most `count` of
/// them, the best first. Of the same offer and price one stays.
std::vector<RunnerUp> runnersUp(const OfferProblem &problem, const OfferChoice &choice, unsigned training,
                                size_t count);

} // namespace accord::offers
