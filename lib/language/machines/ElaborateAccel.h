// `accelerator` and `cluster` declarations -> the accel dialect, every key checked against its
// schema.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/language/machines/Calibration.h"
#include "lib/language/syntax/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord {

/// A microarchitecture that was declared, and the constants of its file.
struct DeclaredMicroarchitecture {
  const ast::Declaration *declaration = nullptr;
  Lookup globals;
};
/// By name, as it is written in an accelerator; nothing after an error.
using MicroarchitectureLookup =
    std::function<std::optional<DeclaredMicroarchitecture>(llvm::StringRef name, SourceRange at)>;

/// Null after errors; all errors of the declaration are reported in one run.
accel::AcceleratorOp elaborateAccelerator(const ast::Declaration &declaration, mlir::ModuleOp module,
                                          Diagnostics &diags, const Lookup &globals,
                                          const MicroarchitectureLookup &microarchitectures);
accel::ClusterOp elaborateCluster(const ast::Declaration &declaration, mlir::ModuleOp module, Diagnostics &diags,
                                  const Lookup &globals, llvm::function_ref<bool(llvm::StringRef)> isAccelerator);

/// A complaint of the dialect or of `machineFrom` as an error with its code; `otherwise` is where
/// it has no place.
void reportMachineError(mlir::Diagnostic &problem, Diagnostics &diags, SourceRange otherwise);

/// Settles the efficiency of the machine (lib/language/machines/Calibration.h); false after errors.
bool prepareMachine(accel::AcceleratorOp machine, const EfficiencyOptions &options, Diagnostics &diags);

} // namespace accord
