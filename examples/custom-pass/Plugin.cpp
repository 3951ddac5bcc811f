// The functions that `--load-pass-plugin` and, for operations in MLIR text, `--load-dialect-plugin`
// look for.
#include "Plugin.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "custom-pass", "0.1.0", [] {
            custom::registerDropDropout();
            custom::registerLaunchFloor();
            custom::registerSquaredRelu();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "custom-pass", "0.1.0", custom::registerDialect};
}
