// Proves again what a choice of offers says, with code of its own.
#pragma once
#include "lib/offers/problem/Offers.h"
#include "lib/support/Verification.h"

namespace accord::offers {

/// Recomputes prices, energies and carbon of all options from times, rates and watts; sums of the choice, of its front
/// and whether they keep the limits; that nothing is below the bound and that no point of the front is missing, or that
/// no choice keeps the limits, and that each repair helps. The last three are decided by a dynamic program over sums,
/// which holds at most `maxStates` partial choices and takes 256 times as many sums for all claims; where it needs
/// more, the claim stands among `solverAnswers`.
/// Findings are A1106 for lack of a code of their own.
Verification verifyOffers(const OfferProblem &problem, const OfferChoice &choice, size_t maxStates = size_t(1) << 16);

/// Of a choice that holds: that the runners-up of each training keep the limits, lose what they say, are in order, and
/// that no other option on another offer, or with the other price of the offer, loses less than the last of them, or
/// exists where fewer than `kRunnersUp` are named.
Verification verifyRunnersUp(const OfferProblem &problem, const OfferChoice &choice,
                             const std::vector<std::vector<RunnerUp>> &others);

} // namespace accord::offers
