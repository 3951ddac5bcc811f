// Bounds of votes in words.
#pragma once
#include "lib/ensembles/solve/VoteBounds.h"

namespace accord {

/// "joint error of 'wide' and 'thin'"; members without a name are numbers, from 1.
std::string nameOf(const std::vector<unsigned> &set, const std::vector<std::string> &names);
/// The numbers that a bound was computed from: "error of 'wide' at most 0.0861 (80 of 1000 wrong)".
std::vector<std::string> inputsOf(const VoteBound &bound, const VoteRates &rates,
                                  const std::vector<std::string> &names);
/// What has to hold for it besides arithmetic.
std::vector<std::string> assumptionsOf(const VoteBound &bound, const VoteRates &rates);

} // namespace accord
