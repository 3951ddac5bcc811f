// Proves again that a tuning of a server kept to its rules, with code of its own.
#pragma once
#include "lib/support/Verification.h"
#include "lib/tuning/problem/ServerTuning.h"

namespace accord::tuning {

/// Proves of a result: settings exist; the baseline was measured first, now and then, and behind each recovery; each
/// trial's lower bound follows from the intervals before it, is not below the floor, and is few steps from a setting
/// that ran and is safe; no trial went on behind the window at which its progress was below the floor with confidence,
/// none was rolled back before; behind each rollback and failure came a setting known to be safe; no setting was tried
/// again that failed or was rolled back, unless the machine changed meanwhile; the best one is safe and none that ran
/// is better; and all sums. Posteriors are computed by conditioning on one measurement after the other, without factors
/// of a matrix. Measurements and fitted scales are taken as given. Findings are A0954.
Verification verifyServerTuning(const ServerProblem &problem, const ServerResult &result);

} // namespace accord::tuning
