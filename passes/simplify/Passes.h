// Passes that rewrite a training graph to less traffic and the same result.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "mlir/Pass/Pass.h"
namespace accord {
#define GEN_PASS_DECL
#include "passes/simplify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/simplify/Passes.h.inc"
} // namespace accord
