// Passes that divide a training step among devices.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/shard/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/shard/Passes.h.inc"
} // namespace accord
