// Ways through a model: from a value back to what made it and on to what takes it, past operations that only move it.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace accord {

/// A product with a trained matrix, and the vector that is added to it.
struct TrainedProduct {
  mlir::Operation *op = nullptr;
  mlir::Value x, y;
  llvm::StringRef weight; ///< the parameter
  int64_t in = 0, out = 0;
  bool bias = false;
};

/// What lay on a way.
struct PassedOperations {
  double scale = 1, dropout = 0, rotaryBase = 0;
  int64_t normalized = 0; ///< norms; the way does not go past them
};

/// Every operation that a way or a pattern passes is remembered as understood. Repeats are entered by their results,
/// so that a block is looked at once, however often it is executed.
class ModelWalk {
public:
  enum Through : unsigned { Views = 0, Dropout = 1, Scale = 2, Cuts = 4, Rotary = 8 };

  /// What made a value, before reshapes, transposes and casts, and before what `through` names.
  mlir::Value source(mlir::Value value, unsigned through = Views, PassedOperations *passed = nullptr);
  /// Operands that take a value behind reshapes, transposes and casts, and behind what `through` names.
  llvm::SmallVector<mlir::OpOperand *> uses(mlir::Value value, unsigned through = Views,
                                            PassedOperations *passed = nullptr);
  /// The product that made a value; without `op` if none did.
  TrainedProduct productOf(mlir::Value value);
  TrainedProduct productBy(mlir::Operation *op);
  /// The parameter that a value is, empty if it is none.
  llvm::StringRef parameterOf(mlir::Value value);

  void understand(mlir::Operation *op) {
    if (op)
      understood.insert(op);
  }
  bool isUnderstood(mlir::Operation *op) const { return understood.contains(op); }

private:
  dnn::AddOp biasBehind(dnn::MatmulOp product);

  llvm::DenseSet<mlir::Operation *> understood;
};

/// Elements of one sample.
int64_t elementsOf(mlir::Value value);
/// The last extent.
int64_t widthOf(mlir::Value value);
/// How often an operation is executed in a step: the product of the counts of its repeats; the highest number past it.
int64_t executionsOf(mlir::Operation *op);

} // namespace accord
