// A placement on a cluster in the plan dialect: `out/plan.mlir`.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace accord {

/// One `plan.cluster_placement` with every stage; of an infeasible problem its conflicts. Loads the dialect.
mlir::OwningOpRef<mlir::ModuleOp> toPlanDialect(mlir::MLIRContext &context, const PlacementPlan &plan);

/// The same as text with a final newline, without locations.
std::string planMlir(const PlacementPlan &plan);

} // namespace accord
