// The designs of a space of which none is better than another in everything.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

/// Pareto front over the value and `MiningProblem::costs`, all made least: of every design that may be, a listed one is
/// in nothing above (1 + within) times it, and no listed design is in nothing better than another one. At `within` 0
/// the listed are all that no design beats, one for each set of numbers (the first that was found); above 0 as many are
/// left out as that allows, so that a listed one may itself be beaten by as little (epsilon-dominance: Papadimitriou
/// and Yannakakis, FOCS 2000; Laumanns et al., Evolutionary Computation 10, 2002).
///
/// Branch and bound over boxes: one goes where a design of the list is within of its bounds. Next is always the box
/// whose bounds the list is farthest from, so that a search that limits or `stop` end has refined the whole front
/// alike; how near it is then, is in the result. Designs are as they are valued; what their own searches leave open is
/// in the result, too. Of the options those count that say so, with `seed`, `gap`, `checkpoint` and `resume` of no
/// meaning here; the list begins with `known`. Nothing depends on the number of threads.
ParetoFront mineParetoFront(MiningProblem &problem, double within, const MiningOptions &options = {});

} // namespace accord
