// What another strategy does with the effort that one took.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

/// `strategy` on the same problem with as many evaluations as `with` took, or (`time`) as much
/// processor time, which depends on the machine. With time, what plans by its number of evaluations
/// (annealing) begins anew with another seed as long as time is left.
MiningResult mineWithEqualEffort(const std::string &strategy, MiningProblem &problem, const MiningResult &with,
                                 bool time, const MiningOptions &options);

} // namespace accord
