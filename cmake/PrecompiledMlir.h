// What most files include that speak of operations: the dnn dialect, MLIR's own, and all of Precompiled.h. Of Accord's
// headers only the dialect is here, whose change compiles these files again anyway.
#pragma once
#include "cmake/Precompiled.h"
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/DynamicAPInt.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
