// Steps whose weights have zeros: what they take on a machine, what they keep in memory, and what shares bounds may
// count on.
#pragma once
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/sparsity/cost/TrainingSparsity.h"
#include "lib/sparsity/problem/ZeroShares.h"
#include "lib/support/Result.h"

namespace accord {

/// As `accord prune` prices them: static, stored as N:M.
LinearSparsity linearSparsityOf(const MinedZeros &zeros);

/// Operations that zeros touch: products in all phases, and updates of their weights.
struct ZeroOperation {
  OperationId id = kNone;
  LinearSparsity zeros;
};
/// In the order of the layers. A layer that the graph does not have touches nothing.
std::vector<ZeroOperation> zeroOperations(const WorkGraph &graph, const StepZeros &zeros);

/// Puts the price with zeros (`sparseCost`, on the core of the dense one) in place of the dense price of each of these
/// operations, in all of its forms. `costs` are those of `estimate`, tiles included.
Result<void> priceZeros(const WorkGraph &graph, const Machine &machine, const std::vector<ZeroOperation> &operations,
                        Costs &costs);

/// The step with what its zeros leave of weights, gradients and states of the optimizer in memory.
Result<WorkGraph> withZeros(WorkGraph dense, const StepZeros &zeros);

/// What no machine of the space takes less of than without zeros.
StepZeroShares minZeroShares(const WorkGraph &graph, const StepZeros &zeros);

} // namespace accord
