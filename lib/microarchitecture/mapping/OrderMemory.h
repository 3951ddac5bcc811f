// Fences where a kernel passes results on through memory, whose addresses order nothing.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"
#include <functional>

namespace accord::microarchitecture {

/// Puts a fence before a step that may load what an older step stored, if none is between them already: before the
/// outermost loop that is around the load and not around the store; where a later iteration of a loop loads what an
/// earlier one stored, in that loop, before the first step that does. Two steps that both have tokens are in order.
///
/// Accesses are in the same place if integers exist with
///   load.offset - store.offset + sum of stride * iteration of the load - sum of those of the store
/// between 1 - columns of the load and columns of the store - 1; iterations of loops around both are the same, or later
/// by at least 1. A search over these integers, the largest stride first, decides it; where it takes too long, they are
/// taken to be in the same place. Stores that come too early for older loads or stores are not looked for: where the
/// kernels have them, the value that is stored depends on what was loaded, or a fence is between.
void orderMemory(LoopKernel &kernel, const std::function<bool(const KernelStep &)> &hasTokens);

} // namespace accord::microarchitecture
