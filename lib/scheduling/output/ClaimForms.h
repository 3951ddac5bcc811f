// The forms of a claim, each from what follows by arithmetic.
#pragma once
#include "lib/scheduling/output/ClaimFacts.h"
#include <string>

namespace accord::claims {

/// Needs `horizon` below 2^20 or so: each symbol has a bit for each time.
std::string claimInBits(const Facts &facts);
std::string claimInIntegers(const Facts &facts);

/// Symbols of tasks: their names where those are unlike, else with the number.
std::vector<std::string> symbolsOf(const SchedulingProblem &problem);

} // namespace accord::claims
