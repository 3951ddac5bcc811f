// accord-opt: runs any part of the compiler by pass name on MLIR text.
#include "dialects/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/decide/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  accord::registerAllDialects(registry);
  mlir::registerTransformsPasses();
  accord::registerAllPasses();
  accord::registerDecidePasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "Accord optimizer\n", registry));
}
