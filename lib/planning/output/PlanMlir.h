// A finished plan in the plan dialect: `out/plan.mlir`, readable, and verified again by
// `accord-opt`.
#pragma once
#include "lib/machine/model/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace accord {

/// One `plan.placement` with every region and slot, the memory at its peak by category, the bound
/// and its proof. Slots wait for what `Dependences` finds in the graph. Loads the dialect. It is
/// not verified here: a plan that contradicts itself (slots that overlap, an objective better than
/// its bound) gives a module that fails `mlir::verify` and says where. Needs a plan whose ids are
/// in range (`check(plan.graph)` is empty).
mlir::OwningOpRef<mlir::ModuleOp> toPlanDialect(mlir::MLIRContext &context, const Plan &plan);

/// The same as text with a final newline, without locations.
std::string planMlir(const Plan &plan);

} // namespace accord
