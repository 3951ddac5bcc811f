// The pass that runs a training graph.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/interpret/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/interpret/Passes.h.inc"
} // namespace accord
