// What this plugin adds to Accord.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace custom {
void registerDropDropout();
void registerLaunchFloor();
void registerSquaredRelu(); ///< the pass; it brings the operation along
void registerDialect(mlir::DialectRegistry *registry);
} // namespace custom
