// The forms of a claim, each from what follows by arithmetic.
#pragma once
#include "lib/scheduling/output/QueryFacts.h"
#include <string>

namespace accord::smtquery {

/// Needs `horizon` below 2^20 or so: each symbol has a bit for each time.
std::string encodeInBitVectors(const QueryFacts &facts);
std::string encodeInIntegers(const QueryFacts &facts);

/// Symbols of tasks: their names where those are unlike, else with the number.
std::vector<std::string> symbolsOf(const SchedulingProblem &problem);

} // namespace accord::smtquery
