// What a machine's memories must be able to do, seen together with its cores and clock.
#pragma once
#include "lib/machine/cost/MemoryOrder.h"
#include "lib/machine/model/Machine.h"

namespace accord {

/// The least a scratchpad holds of one fold on an array of rows x cols: the operand or result that
/// stays in the array, whole, and of the two others what meets it in one step (k = 1 output
/// stationary, one row of the result weight stationary, one column of it input stationary).
/// `operand` and `result` are bytes of an element; unknown dataflows count as weight stationary.
double smallestTileBytes(int64_t rows, int64_t cols, const std::string &dataflow, int operand, int result);

/// Errors at the place of the key, with a note at the other side:
/// - a bandwidth above banks * ports * port_width * clock (unstated banks and ports are 1);
/// - a scratchpad smaller than two of the smallest tile of an array that reads it, or one where it
///   says `double_buffered = false`.
bool checkMemories(accel::AcceleratorOp accelerator, const MemoryOrder &order, const Machine &machine);
/// The same of one memory, and of one core and the memory it reads.
bool checkPorts(accel::MemoryOp op, const Memory &memory, Hertz clock);
bool checkTile(accel::CoreOp op, accel::MemoryOp holder, const Core &core, const Memory &memory);

} // namespace accord
