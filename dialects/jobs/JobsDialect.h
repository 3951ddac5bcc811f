// The jobs dialect: include this to read or build `jobs` operations.
#pragma once
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/jobs/JobsDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/jobs/JobsOps.h.inc"
