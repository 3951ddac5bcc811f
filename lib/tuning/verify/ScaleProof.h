// Proves again what programs got of configurations in base terms, with formulas of its own.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// Adds findings (A0954) where a rule of scaling is none, or a trial's program got another value than the rules give of
/// its configuration (up to a relative 1e-9; whole numbers exactly), or lacks one; else how many values were computed
/// again. Configurations have a value of each hyper-parameter. Factors are sums of logarithms, with those of
/// `ScaleRules.h` in closed form, so that they share no code with what passes the values.
void proveScales(const TuningProblem &problem, const TuningResult &result, Verification &verification);

} // namespace accord::tuning
