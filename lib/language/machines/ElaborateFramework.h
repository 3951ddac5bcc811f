// Declarations `framework NAME { … }` of `.accel`.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/machine/model/Framework.h"
#include "mlir/IR/MLIRContext.h"

namespace accord {

/// Nothing after errors: a key that a framework has not, given twice, of another type, dimension or range, left open,
/// or stages of ZeRO without an order.
std::optional<Framework> elaborateFramework(const ast::Declaration &declaration, mlir::MLIRContext &context,
                                            Diagnostics &diags, const Lookup &lookup);

} // namespace accord
