// From an MLIR location back to the user's source.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "mlir/IR/Location.h"

namespace accord {
/// The first file location inside fused, named or call-site locations; empty when there is none.
SourceLocation sourceOf(mlir::Location location);
} // namespace accord
