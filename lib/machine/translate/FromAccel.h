// Machine dialect -> plain data, in base units, each number with where it was written and its
// source.
#pragma once
#include "lib/machine/model/Machine.h"
#include "mlir/Support/LLVM.h"

namespace accord {
namespace accel {
class AcceleratorOp;
}

/// Attributes of an accelerator with a calibration: its parameters by name, and its file.
constexpr const char *kFittedAttribute = "fitted", *kFittedFromAttribute = "fitted_from";

/// The machine that costs are computed on.
/// - Memories from the farthest to the nearest: in the order of the paths; without a path dram
/// first, then as declared.
/// - Peak of one core: what the data sheet says of the block divided by its count, FLOP/cycle times
/// clock; for an array 2 * rows *
///   cols * clock (a multiply-accumulate per cell and cycle), for a vector core lanes * clock (one
///   operation per lane and cycle: no fused multiply-add is assumed). Without `multiply` or `types`
///   an array's or a vector core's peak is left empty: it then holds for whatever type is asked
///   for.
/// - Energy per FLOP is half that of a multiply-accumulate.
/// - A core reads what it says, else the last memory of a path that ends in it, else nothing known
/// (-1).
/// - The area is the stated one, else that of the `area` block. Where `technology` is stated,
/// energies that are not come from lib/catalog/energy.csv (see Energy.h).
/// - It is at the power level that the accelerator is used at (PowerLevels.h).
/// - The cost model is the accelerator's, else the one that all its cores with one agree on.
///
/// Errors at the place of the key: a value left open for mining or an expression, something in
/// cycles without a clock, a memory outside every path, memories that are not one behind the other,
/// cores with different cost models; a
/// bandwidth above its ports', a scratchpad below its arrays' tiles; an area model that there is
/// not or that does not cover the machine.
mlir::FailureOr<Machine> machineFrom(accel::AcceleratorOp accelerator);

} // namespace accord
