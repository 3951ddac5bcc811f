// Limits of a share that was seen in samples (Clopper and Pearson, Biometrika 26, 1934).
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>

namespace accord {

/// The least share p, up to rounding, with P(Binomial(samples, p) <= wrong) <= delta: the true
/// share is above it with a probability of at most `delta`, whatever it is. Rounded up to seven
/// digits; at that value the exact binomial tail is at most `delta`, which is proved by sums of
/// which each step is rounded up. Samples are independent and of one distribution.
///
/// 1 where nothing is shown: no samples, all wrong, `delta` 0 or less. Above 1/2, `delta` counts as
/// about 1/2. `wrong` is cut to 0 … samples. Takes under a millisecond for most, and some tens for
/// samples of 10^9.
Rational upperLimit(int64_t wrong, int64_t samples, const Rational &delta);

/// The same from below: the true share is below it with a probability of at most `delta`.
/// 1 - upperLimit(samples - wrong, samples, delta).
Rational lowerLimit(int64_t wrong, int64_t samples, const Rational &delta);

} // namespace accord
