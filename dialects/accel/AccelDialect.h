// The machine dialect: include this to read or build `accel` operations.
#pragma once
#include "lib/support/Quantity.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DynamicAPInt.h"
#include <optional>

namespace accord::accel {
/// The number behind a `[…]` after a name: 1 when absent, nothing when it is a choice or an
/// expression.
std::optional<int64_t> instancesOf(mlir::Attribute count);
} // namespace accord::accel

#include "dialects/accel/AccelDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/accel/AccelAttributes.h.inc"
#define GET_OP_CLASSES
#include "dialects/accel/AccelOps.h.inc"
