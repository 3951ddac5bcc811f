// Proves zeros and the placement of their layers again, without the code that chose them.
#pragma once
#include "lib/placement/problem/SparsePlacement.h"
#include "lib/placement/verify/PlacementVerifier.h"

namespace accord {

/// Whether the choice is one of the problem and keeps its budgets, the plan is one of the layers with these zeros and
/// worth what is stated, and no choice that keeps the budgets has a plan below the bound. Codes: A0940 the problem is
/// malformed · A0950 the choice has no alternative of each unit · A0904 a budget is passed · those of the plan
/// (PlacementVerifier.h), whose bound is the joint one and holds of its zeros, too · A0906 the parts of the proof are
/// not all choices, state less than the bound, have prices that are none, or do not prove it · A0967 paths of a part.
///
/// A part is proved by `proveBound` of its relaxed problem, which `SparsityProofNode` defines. With prices it has to be
/// worth the bound and price * max of each budget; of these sums a part in 10^9 of the bound may be missing, nothing of
/// the prices. Half of the effort is for the plan's own zeros, the rest for the parts, each of which leaves what it
/// does not need to those that follow. What is not proved within it is told to `trusted`.
///
/// Without a plan (an empty choice) an infinite bound has to be proved for every part without a rest. A finite one says
/// that none was found: the parts have to be all choices, and nothing else is proved of them.
Errors verify(const SparsePlacementProblem &problem, const SparsePlacementResult &result,
              std::vector<std::string> *trusted = nullptr, const PlacementProof &options = {});

/// Whether a plan is shown with the costs of the zeros that it has: each class of a unit has those of the chosen
/// alternative, number by number; without a plan those of the first one. `shown` is the problem that the plan is
/// printed and priced with. Code A0951.
Errors chosenCostViolations(const PlacementProblem &shown, const SparsePlacementProblem &joint,
                            const std::vector<uint32_t> &choice);

} // namespace accord
