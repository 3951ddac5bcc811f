// `accelerator` and `cluster` declarations -> the accel dialect, every key checked against its
// schema.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/language/machines/Calibration.h"
#include "lib/language/syntax/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord {

/// Null after errors; all errors of the declaration are reported in one run.
accel::AcceleratorOp elaborateAccelerator(const ast::Declaration &declaration, mlir::ModuleOp module,
                                          Diagnostics &diags, const Lookup &globals);
accel::ClusterOp elaborateCluster(const ast::Declaration &declaration, mlir::ModuleOp module, Diagnostics &diags,
                                  const Lookup &globals, llvm::function_ref<bool(llvm::StringRef)> isAccelerator);

/// A complaint of the dialect or of `machineFrom` as an error with its code; `otherwise` is where
/// it has no place.
void reportMachineError(mlir::Diagnostic &problem, Diagnostics &diags, SourceRange otherwise);

/// Refuses what no analysis understands yet (A0704 at the microarchitecture of a core), and settles the efficiency of
/// the machine (lib/language/machines/Calibration.h); false after errors.
bool prepareMachine(accel::AcceleratorOp machine, const EfficiencyOptions &options, Diagnostics &diags);

} // namespace accord
