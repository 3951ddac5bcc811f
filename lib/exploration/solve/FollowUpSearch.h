// Searches that follow one by a strategy: by another one with the same effort, and with schedules that are searched
// for.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

/// `strategy` on the same problem with as many evaluations as `with` took, or (`time`) as much
/// processor time, which depends on the machine. With time, what plans by its number of evaluations
/// (annealing) begins anew with another seed as long as time is left.
MiningResult mineWithEqualEffort(const std::string &strategy, MiningProblem &problem, const MiningResult &with,
                                 bool time, const MiningOptions &options);

/// Designs that may be best, with schedules that are searched for (`accord mine --close`).
/// Goes on from the result of a search by schedules without search: `problem` is the same with an
/// effort. Counts and moments are of both searches.
MiningResult refineMining(MiningProblem &problem, const MiningResult &quick, const MiningOptions &options);

} // namespace accord
