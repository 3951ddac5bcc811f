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

/// Raises the bound of an exact search by the final bounds of designs that it left unsettled. Ends where that raises it
/// no more, at the gap, and after as many designs as the search evaluated (256 bounds of it count as one), but not
/// before `kMinTightened`.
MiningResult tightenMining(MiningProblem &problem, MiningResult quick, const MiningOptions &options);
constexpr uint64_t kMinTightened = 64;

/// Designs that may be best, with schedules that are searched for (`accord mine --schedule-effort`).
/// Goes on from the result of a search by schedules without search: `problem` is the same with an
/// effort. Counts and moments are of both searches.
MiningResult refineMining(MiningProblem &problem, const MiningResult &quick, const MiningOptions &options);

} // namespace accord
