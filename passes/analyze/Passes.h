// Passes that write what an operation costs, and how critical it is, beside it.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
namespace accord {
struct Planning;
/// The phase `cost`: `estimate-cost` as the request says, on the fabric of `planning` if there is one.
std::unique_ptr<mlir::Pass> createCostPass(const Planning *planning);
#define GEN_PASS_DECL
#include "passes/analyze/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/analyze/Passes.h.inc"
} // namespace accord
