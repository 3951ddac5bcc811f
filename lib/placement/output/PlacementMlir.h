// A placement on a cluster in the plan dialect: `out/plan.mlir`.
#pragma once
#include "lib/placement/problem/PlacementPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace accord {

/// One `plan.cluster_placement` with every stage; of an infeasible problem its conflicts. Loads the dialect.
mlir::OwningOpRef<mlir::ModuleOp> toPlanDialect(mlir::MLIRContext &context, const PlacementPlan &plan);

} // namespace accord
