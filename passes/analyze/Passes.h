// Passes that write what an operation costs, and how critical it is, beside it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/analyze/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/analyze/Passes.h.inc"
} // namespace accord
