// The one function that `--load-pass-plugin` looks for.
#include "Plugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "custom-pass", "0.1.0", [] {
            custom::registerDropDropout();
            custom::registerLaunchFloor();
          }};
}
