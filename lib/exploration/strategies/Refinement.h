// Designs that may be best, with schedules that are searched for: `accord mine --close`.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

/// Goes on from the result of a search by schedules without search: `problem` is the same with an
/// effort. Counts and moments are of both searches.
MiningResult refineMining(MiningProblem &problem, const MiningResult &quick, const MiningOptions &options);

} // namespace accord
