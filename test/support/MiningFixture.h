// A mining made by hand, with everything that an answer may have.
#pragma once
#include "lib/exploration/problem/MiningPlan.h"

namespace accord::test {

/// Two jobs, three parameters, everything that the page can show.
MiningPlan minedPlan();

} // namespace accord::test
