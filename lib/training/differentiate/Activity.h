// Which values matter to training: those that depend on a parameter.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace accord {

/// Forward activity: a float value is varied when it depends on a parameter, directly or around a repeat.
class Activity {
public:
  explicit Activity(mlir::Block &block) { visit(block); }
  bool varied(mlir::Value value) const { return variedValues.contains(value); }

  /// Carried values of `repeat` whose gradient is wanted in some iteration, given the carried results that have one and
  /// the values of the body whose stash has one.
  llvm::SmallBitVector usefulCarried(dnn::RepeatOp repeat, llvm::SmallBitVector results,
                                     llvm::ArrayRef<mlir::Value> stashed) const;

private:
  void visit(mlir::Block &block);
  void visit(dnn::RepeatOp repeat);
  llvm::DenseSet<mlir::Value> variedValues;
};

/// A value made of parameters only: its gradient is a weight gradient.
bool parametersOnly(mlir::Value value);

} // namespace accord
