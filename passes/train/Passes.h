// Passes that turn a model into a training step.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/train/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/train/Passes.h.inc"
} // namespace accord
