// What mining makes least, as an expression of the accel dialect.
#pragma once
#include "lib/language/requests/TrainingJob.h"
#include "lib/support/Diagnostics.h"
#include "mlir/IR/Attributes.h"

namespace accord {

/// References and applications as in requirements of an accelerator. Null after an error: a
/// function that there is none of.
mlir::Attribute attributeOf(const ObjectiveExpression &expression, mlir::MLIRContext &context, Diagnostics &diags);
/// Where the part of it is that operands lead to, from the whole expression inwards.
SourceRange partOf(const ObjectiveExpression &expression, const std::vector<size_t> &operands);

} // namespace accord
