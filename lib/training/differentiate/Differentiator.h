// Reverse-mode differentiation of a block with repeats.
#pragma once
#include "dialects/dnn/Names.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
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

/// Appends to a block the gradients of its `dnn.loss` for all parameters it reads, each ending in one `dnn.gradient`.
///
/// A repeat is differentiated as a region: the forward repeat stashes exactly the values that its backward asks for
/// (views, parameter reads and operations marked `dnn.recompute` are executed again instead), the backward repeat runs
/// in reverse and carries the gradients of the carried values, then one accumulator per captured value; it takes the
/// gradients of stashes that are read slice by slice, and stashes those of what the forward repeat took by slices. The
/// gradients of the parameters read in the body are given inside it.
class Differentiator {
public:
  Differentiator(mlir::Block &block, Names &names) : activity(block), names(names), block(block) {}
  ~Differentiator();
  /// Errors are emitted at the operation that has no gradient.
  llvm::LogicalResult run();

private:
  /// One forward block and the block its gradients are built in.
  struct Frame {
    Frame(Frame *parent, mlir::Block *forward, mlir::Block *backward)
        : parent(parent), forward(forward), backward(backward), builder(forward->getParentOp()->getContext()) {
      builder.setInsertionPointToEnd(backward);
    }
    Frame *parent; ///< null at the top, where `forward` and `backward` are one block
    mlir::Block *forward, *backward;
    mlir::OpBuilder builder;                             ///< at the end of `backward`
    llvm::MapVector<mlir::Value, mlir::Value> gradients; ///< forward value (also captured ones) -> its gradient so far
    llvm::DenseMap<mlir::Value, mlir::Value> available;  ///< forward value -> the same in `backward`
    llvm::SmallVector<mlir::Value> stashed; ///< values of `forward` that `backward` reads, by unstash argument
    llvm::DenseMap<mlir::StringAttr, mlir::Value> parameters; ///< gradient so far of each parameter read in `forward`
  };

  llvm::LogicalResult differentiate(Frame &frame);
  llvm::LogicalResult differentiate(Frame &frame, mlir::Operation *op);
  llvm::LogicalResult differentiate(Frame &frame, dnn::RepeatOp repeat);
  void finish(Frame &frame, dnn::ReadOp read, bool last);
  /// The value of the forward pass in the frame's backward block.
  mlir::Value forwardValue(Frame &frame, mlir::Value value);
  /// A copy of a forward operation in the backward block.
  void recomputeForward(Frame &frame, mlir::Operation *op, dnn::Phase phase);
  void accumulate(Frame &frame, mlir::Value value, mlir::Value gradient);
  mlir::Value sum(Frame &frame, mlir::Value a, mlir::Value b, mlir::Value of);
  mlir::Value orZero(Frame &frame, mlir::Value gradient, mlir::Value of);
  /// Names and phases for what an operation's gradient added to the frame after `before`.
  void label(Frame &frame, mlir::Operation *op, mlir::Operation *before, llvm::ArrayRef<mlir::Value> operandGradients);
  /// The forward repeat with the frame's stashes among its results.
  dnn::RepeatOp addStashes(Frame &outer, dnn::RepeatOp repeat, llvm::ArrayRef<mlir::Value> stashed);

  Activity activity;
  Names &names;
  mlir::Block &block;
  bool refused = false; ///< gradients that could not be added, reported
  /// Replaced repeats; kept to the end because maps are keyed by their results.
  llvm::SmallVector<mlir::Operation *> replaced;
};

} // namespace accord
