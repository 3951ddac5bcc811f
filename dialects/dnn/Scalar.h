// Expressions over one element of each operand: how they are built, derived, counted and computed (`#dnn.scalar`).
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace accord::dnn {

/// Different steps of one expression, leaves included.
constexpr unsigned kMaxScalarSteps = 4096;

ScalarAttr scalarNumber(mlir::MLIRContext *context, double value);
ScalarAttr scalarOperand(mlir::MLIRContext *context, unsigned operand);
ScalarAttr scalarPosition(mlir::MLIRContext *context, unsigned dimension);
/// kind(operands), simplified: what is known of numbers is computed, and x + 0, x - 0, x * 1, x * 0, x / 1, x ^ 1, x ^
/// 0, -(-x), a choice that is decided or makes no difference fall away. The number of operands must be that of the
/// kind.
ScalarAttr scalar(ScalarKind kind, llvm::ArrayRef<ScalarAttr> operands);
/// How many operands a kind has; 0 for a leaf.
unsigned arityOf(ScalarKind kind);

/// Every different step, each after its operands.
llvm::SmallVector<ScalarAttr> stepsOf(ScalarAttr body);

/// d(body) / d(element of operand `operand`), where it exists; a choice, `max`, `min` and `abs` have at the border the
/// derivative of one side. A step function (floor, round, sign, a condition) has the derivative 0.
ScalarAttr derivative(ScalarAttr body, unsigned operand);

/// The same expression with other leaves in the place of operand k and position d.
ScalarAttr replaceLeaves(ScalarAttr body, llvm::function_ref<ScalarAttr(unsigned)> operand,
                         llvm::function_ref<ScalarAttr(unsigned)> position = {});

/// An expression as the list of its different steps, each after what it needs.
class ScalarProgram {
public:
  explicit ScalarProgram(ScalarAttr body);
  /// Different steps that are no leaves: FLOPs of one evaluation.
  unsigned flops() const;
  unsigned size() const { return steps.size(); }
  /// Which operands and positions are read.
  const llvm::SmallBitVector &operands() const { return reads; }
  const llvm::SmallBitVector &positions() const { return places; }
  double operator()(llvm::ArrayRef<double> operands, llvm::ArrayRef<int64_t> positions) const;

private:
  struct Step {
    ScalarKind kind;
    unsigned inputs[3];
    int64_t index;
    double number;
  };
  std::vector<Step> steps;
  llvm::SmallBitVector reads, places;
  mutable std::vector<double> values;
};

/// The expression as the language writes it, with these names for its leaves: `v[d] * tanh(q[i, d] + k[j, d])`.
std::string scalarText(ScalarAttr body, llvm::function_ref<std::string(unsigned)> operand,
                       llvm::function_ref<std::string(unsigned)> position);

} // namespace accord::dnn
