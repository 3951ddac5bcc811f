// Passes that decide when each operation runs.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"
} // namespace accord
