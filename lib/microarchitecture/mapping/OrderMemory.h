// Fences where a kernel passes results on through memory, whose addresses order nothing.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"
#include <functional>

namespace accord::microarchitecture {

/// Puts a fence before a step that may load what an older step stored and what may not be complete yet, if none is
/// between them already: before the outermost loop that is around the load and not around the store; where a later
/// iteration of a loop loads what an earlier one stored, in that loop, before the first step that does. Two steps that
/// both have tokens are in order. So are those with at least `window` instructions from one to the other, since none
/// enters a unit before the one so many places before it is complete; what becomes instructions later only adds.
///
/// A load waits for a store if integers exist, the iterations of the loops around both, with
///   load.offset - store.offset + sum of stride * iteration of the load - sum of those of the store
/// between 1 - columns of the load and columns of the store - 1, and as many instructions between, which is such a sum,
/// too. A search over these integers decides it; where it takes too long, the load waits. Stores that come too early
/// for older loads or stores are not looked for: where kernels have them, the value that is stored depends on what was
/// loaded, or a fence is between.
void orderMemory(LoopKernel &kernel, int64_t window, const std::function<bool(const KernelStep &)> &hasTokens);

} // namespace accord::microarchitecture
