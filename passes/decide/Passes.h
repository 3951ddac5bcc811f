// Passes that read a training from a file and write a decision about it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/decide/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/decide/Passes.h.inc"
} // namespace accord
