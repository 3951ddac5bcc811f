// The dnn dialect's enumerations and attributes alone: a quarter of what Dnn.h costs to compile.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "dialects/dnn/DnnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dnn/DnnAttributes.h.inc"
