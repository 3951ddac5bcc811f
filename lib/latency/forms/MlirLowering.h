// From the MLIR form of a latency model to LLVM's.
#pragma once
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class DialectRegistry;
}

namespace accord {

/// The dialects of the model's MLIR form: func, arith and math.
void registerLatencyDialects(mlir::DialectRegistry &registry);

/// Parses operations of func, arith, math and llvm, simplifies and lowers them; null, and why, where that fails.
std::unique_ptr<llvm::Module> lowerToLlvm(const std::string &text, llvm::LLVMContext &target, std::string &error);

} // namespace accord
