// Sums over the iterations of a repeat as one operation behind it.
#pragma once
#include "dialects/dnn/Names.h"

namespace accord {

/// Moves what the iterations of a backward repeat add up (weight gradients: products, sums, gradients of look-ups)
/// behind it. A carried value that only gets such summands is carried no more; what they are made of is stashed, if it
/// is not yet, and one operation with one more reduced dimension takes their place. The same sum in another order.
/// FLOPs of products stay, the additions go.
class Gatherer {
public:
  Gatherer(dnn::RepeatOp repeat, Names &names);
  /// Replaces the repeat if there is something to move.
  void run();

private:
  /// A carried value that starts somewhere and has summands added in every iteration.
  struct Accumulator {
    unsigned index;                                ///< among the carried values
    llvm::SmallVector<mlir::Operation *> adds;     ///< of the body, the one that is yielded first
    llvm::SmallVector<mlir::Operation *> summands; ///< contractions, sums and gradients of look-ups
    mlir::Value start, end;                        ///< before and after the repeat
  };

  bool isInLoopBody(mlir::Value value) { return value.getParentBlock() == &repeat.getBlock(); }
  std::optional<Accumulator> accumulator(unsigned index);
  /// The stash that holds a value of the body of every iteration; null if there is none.
  mlir::Value stackOf(mlir::Value value);
  /// The repeat without the accumulators, with all that is stashed.
  void rebuild();
  /// A value of the body, of all iterations: with one more dimension after the batch.
  mlir::Value whole(mlir::Value value, mlir::Operation *user);
  mlir::Operation *gathered(mlir::Operation *summand);
  void sumUp(const Accumulator &accumulator);

  dnn::RepeatOp repeat, replaced;
  Names &names;
  mlir::OpBuilder builder;
  llvm::SmallVector<Accumulator> accumulators;
};

} // namespace accord
