// Whether an estimate of a whole training is what its problem gives, by arithmetic of its own.
#pragma once
#include "lib/run/problem/TrainingRun.h"
#include "lib/support/Verification.h"

namespace accord {

/// Recomputes the means by the renewal equation, with another and finer lattice rule than the estimator, and the
/// distributions at the stated ends of the intervals by incomplete gamma and beta functions. Finding A0905 where
/// - a mean is off by more than 1 % and by more than 2 % of its interval; the mean of interruptions by 3 %; that of a
/// part
///   of the time by 10 % and by 0.05 % of the time,
/// - an interval does not hold 90 % of the probability, give or take 1 % at either end (a number within 1 % of the
///   stated end passes),
/// - a mean is not in its interval (see `RunValue`), or the number of spare servers is another,
/// - the checkpoint interval is another than the problem states, or one 10 % shorter or longer takes less time,
/// - the parts of the time do not sum to it, or a price, device hours or carbon do not follow from time and energy.
Verification verifyRun(const TrainingRun &run);

} // namespace accord
