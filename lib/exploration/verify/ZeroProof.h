// What zeros that a certificate states leave of a step, computed anew from their patterns.
#pragma once
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/machine/model/Machine.h"
#include "lib/sparsity/problem/ZeroShares.h"
#include "lib/support/Result.h"

namespace accord {

/// What the tensor cores of a machine make of zeros; nothing: they compute them. An error where they differ, or use
/// zeros in another way than N:M of the operand that stays.
Result<std::optional<SparseCore>> zeroCoreOf(const Machine &machine);

/// Shares of a layer that follow from its pattern: of the arithmetic of its forward product, of its weights where they
/// are kept, of their gradients and of the states of the optimizer.
Result<StatedZeroShares> sharesOfPattern(const WorkGraph &dense, const MinedZeros &zeros,
                                         const std::optional<SparseCore> &core);

/// What zeros leave of each operation: N / M of the core (its depth padded to whole groups) of the arithmetic of the
/// products that see groups along their reduction; of weights N / M with positions; N / M of updates.
Result<StepZeroShares> zeroShares(const WorkGraph &graph, const StepZeros &zeros);

/// Puts what alternatives with zeros keep in memory into their graphs, from those of the dense ones that they name.
/// Wrong: what an alternative states otherwise than its patterns and this machine of the space give.
Errors readZeros(MiningCertificate &certificate, const Machine &machine);

} // namespace accord
