// Proves again that trials which begin from the state of another one may do so.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/Tuning.h"

namespace accord::tuning {

/// Of a tuning without a population. Each branch begins at a unit where hyper-parameters begin to act, from a trial
/// that came there itself and had gone on by then, with the same values of all that acts before; a state has no more
/// than the problem allows; no two of its trials are the same; and none of the first trials, by which rungs are judged,
/// is one.
void proveBranches(const TuningProblem &problem, const TuningResult &result, Verification &out);

} // namespace accord::tuning
