// Passes that decide when each operation runs.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
struct Planning;
/// The passes `place` and `schedule`, which search as `planning` says and leave what they find there, too; null:
/// defaults.
std::unique_ptr<mlir::Pass> createPlacePass(Planning *planning);
std::unique_ptr<mlir::Pass> createSchedulePass(Planning *planning);
#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"
} // namespace accord
