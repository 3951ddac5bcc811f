// What `efficiency from "…"` does: the numbers of a calibration file as keys of the machine.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Reads `file` (beside the file that `at` is in, if the path is relative) and states in the
/// machine what it does not state itself:
/// - tensor cores: `efficiency` = product_efficiency, `half_performance_work` = 2 product_wave^1.5 (the FLOP of
/// a product whose result is a
///   square of product_wave elements and as deep as it is wide), vector cores: `efficiency` =
///   fp32_efficiency;
/// - the farthest memory: `efficiency` = memory_efficiency, at most 1;
/// - the machine: kernel_launch_overhead, host_overhead_per_microbatch, host_overhead_per_step;
/// and the whole set of parameters as the attribute `fitted` (Machine::fitted).
/// A file of fitted single operations is told by its first word, and does what `applyOperations` says.
/// False after errors: the file's (A0469 and those of reading), a machine of another name (A0469).
bool applyCalibration(accel::AcceleratorOp machine, llvm::StringRef file, SourceRange at, Diagnostics &diags);

} // namespace accord
