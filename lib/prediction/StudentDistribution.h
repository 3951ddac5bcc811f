// Student's distribution.
#pragma once

namespace accord {

/// The probability that a variable of Student's distribution with `freedom` (1 or more) degrees of freedom is at least
/// `t`, which is not negative. By the incomplete beta function (Abramowitz, Stegun, 26.5.8 and 26.7.1).
double studentTail(double t, unsigned freedom);

/// The number that a variable of Student's distribution with `freedom` (1 or more) degrees of freedom is below with
/// probability `p`, which is above 0 and below 1. To a relative precision of 1e-9.
double studentQuantile(double p, unsigned freedom);

} // namespace accord
