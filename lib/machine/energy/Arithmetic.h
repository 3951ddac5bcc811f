// What number formats are called in the words of the two languages.
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace accord {

/// "bf16" for a tensor of bf16, in the words of the machine language.
std::string arithmetic(mlir::Type type);
/// In the words of the training language: "mixed(bf16)", "fp32".
std::string describe(dnn::PrecisionAttr precision);
/// Arithmetic of an operation's inner loop: that of its first float operand.
std::string typeOf(mlir::Operation &op);

} // namespace accord
