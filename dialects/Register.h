// All dialects of Accord, for tools and plugins.
#pragma once
namespace mlir {
class DialectRegistry;
}
namespace accord {
void registerAllDialects(mlir::DialectRegistry &registry);
} // namespace accord
