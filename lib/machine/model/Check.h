// Structural checks of the plain data, for graphs that come from a converter, a plugin or a file.
#pragma once
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Repeats nest at most this deep; deeper graphs are refused rather than analysed slowly.
constexpr unsigned kMaxNesting = 8;

/// Whether every other room may compute on the graph: regions 0 and 1 exist, ids are in range, each
/// operation is in one region and after the producers of its operands, each value has one producer
/// at most, repeats own one body each and agree with it, nothing is negative, and the FLOPs and
/// bytes of a step fit a 128-bit count. Empty when all is well; else at most 20 issues of code
/// A0920. A view shares the storage of an operand. A body may use values of its ancestors; the
/// update may use values of the micro-batch.
Errors check(const WorkGraph &graph);

/// Memories and cores have names, finite non-negative numbers, and `reads` in range; there is a
/// memory; no energy per byte or FLOP is above 1e30 J, no area above 1e12 m2. Code A0921.
Errors check(const Machine &machine);

} // namespace accord
