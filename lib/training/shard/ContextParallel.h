// Devices that have equal parts of the sequence of each sample.
#pragma once
#include "dialects/dnn/Names.h"
#include "lib/training/shard/Sharding.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace accord::shard {

/// How keys and values of the whole sequence come to each device.
enum class KeyExchange : uint8_t {
  Ring,      ///< one peer's after the other's, beside the attention to what is there (Liu et al., Ring Attention, 2023)
  AllGather, ///< all before the attention (Grattafiori et al., Llama 3, 2024, section 3.3.2)
  AllToAll   ///< each device attends with a part of the heads (Jacobs et al., DeepSpeed Ulysses, 2023)
};

struct ContextOptions {
  std::string axis = "context";
  int64_t devices = 2;
  KeyExchange exchange = KeyExchange::Ring;
};

/// Inputs, and all that is computed for one token after the other, are divided along the sequence; parameters are whole
/// on each device. Attention takes the keys and values of all devices and a device's own queries: these are gathered,
/// in the backward pass again, and their gradients reduce-scattered; or heads are divided for it instead of the
/// sequence. The loss is the mean of the devices', and so are the gradients of parameters, once per step.
///
/// Parts follow each other in the order of the ranks. A launcher that gives each device an early and a late piece of
/// the sequence instead, so that a causal mask leaves all as much work, computes the same: only positions tell.
///
/// Where heads are divided, what the gradient of attention reads is kept as it arrived; what is kept besides for others
/// (the result of attention, values before a view) is exchanged once more.
///
/// Runs after the division of tensors, whose parts of a sequence become parts of a device's own.
class ContextParallel {
public:
  ContextParallel(dnn::TrainingGraphOp graph, const ContextOptions &options);
  /// Errors are emitted at operations: an axis that the graph already has, fewer than 2 devices, no sequence that they
  /// divide, an operation that needs all of one.
  llvm::LogicalResult run();

private:
  /// Positions of a sequence along a dimension (of a tensor, or of the slices of a stash): between those of one and the
  /// next lie `inner` elements along it.
  struct Along {
    int64_t dimension = -1, inner = 1, extent = 0;
    explicit operator bool() const { return dimension >= 0; }
    bool operator==(const Along &) const = default;
    Along at(int64_t other) const { return {other, inner, extent}; }
  };
  /// How the devices hold a value.
  struct Held {
    Along part;         ///< a part of the sequence lies along this
    Along full;         ///< all of it lies along this: gathered keys
    int64_t heads = -1; ///< and along this dimension a part of the heads
    bool any() const { return part || full || heads >= 0; }
    bool operator==(const Held &) const = default;
  };
  /// What becomes of an operation.
  struct Change {
    llvm::SmallVector<unsigned> gathered;                    ///< operands that it needs whole
    llvm::SmallVector<std::pair<unsigned, Along>> taken;     ///< operands that are whole, of which it needs a part
    llvm::SmallVector<std::pair<unsigned, Along>> scattered; ///< results that are partial sums of all of the sequence
    int64_t iterator = -1;                                   ///< of a domain that is stated
    int64_t position = -1; ///< the dimension of the first operand whose positions it counts
    bool heads = false;    ///< attention of a part of the heads
  };

  /// Iterators of an operation whose maps say all.
  struct Mapping {
    Change change;
    llvm::SmallVector<std::optional<unsigned>> divided; ///< by operand: the iterator along which it is a part
    llvm::SmallVector<std::pair<unsigned, Along>> full; ///< iterators along which there is all of a sequence
    std::optional<unsigned> iterator;                   ///< the one that is divided; nothing: all is whole
    Along along;                                        ///< its
  };

  // What each value becomes; nothing changes yet.
  llvm::LogicalResult inputs();
  llvm::LogicalResult block(mlir::Block &block);
  llvm::LogicalResult operation(mlir::Operation *op);
  llvm::LogicalResult repeat(dnn::RepeatOp op);
  llvm::LogicalResult mapped(mlir::Operation *op);
  llvm::LogicalResult iteratorOf(mlir::Operation *op, const Work &work, Mapping &mapping);
  llvm::LogicalResult takeParts(mlir::Operation *op, const Work &work, Mapping &mapping);
  llvm::LogicalResult countPositions(mlir::Operation *op, Mapping &mapping);
  llvm::LogicalResult results(mlir::Operation *op, const Work &work, const Mapping &mapping);
  llvm::LogicalResult follow(mlir::Operation *op);
  llvm::LogicalResult reshape(dnn::ReshapeOp op);
  llvm::LogicalResult alongOthers(mlir::Operation *op, int64_t axis);
  llvm::LogicalResult attention(mlir::Operation *op);
  llvm::LogicalResult experts(mlir::Operation *op);
  llvm::LogicalResult collective(mlir::Operation *op);
  llvm::LogicalResult needsAll(mlir::Operation *op);

  // Then all of it does.
  void retype();
  void change(mlir::Operation *op, const Change &change);
  void sink(dnn::GradientOp op);
  void exchangeHeads(mlir::Operation *op);
  mlir::Value join(mlir::Value value, int64_t dimension, mlir::StringAttr axis, int64_t devices, mlir::OpBuilder &to);
  mlir::Value cut(mlir::Value value, int64_t dimension, mlir::StringAttr axis, int64_t devices, mlir::OpBuilder &to);
  mlir::Value gather(mlir::Value value, Along along, mlir::Operation *before);
  mlir::Value part(mlir::Value value, Along along, mlir::Operation *before);
  mlir::Value toHeads(mlir::Value value, mlir::OpBuilder &to);
  mlir::Value toSequence(mlir::Value value, mlir::OpBuilder &to);
  mlir::Value swapped(mlir::Value value, int64_t split, int64_t join, mlir::OpBuilder &to);
  mlir::Value named(mlir::Operation *op, mlir::Value of, const char *what, dnn::Phase phase);
  void addPart(mlir::Operation *op, int64_t dimension);
  void finish();

  dnn::TrainingGraphOp graph;
  ContextOptions options;
  Names names;
  llvm::DenseMap<mlir::Value, Held> held;
  llvm::MapVector<mlir::Operation *, Change> changes;
  /// Whole values and parts of whole ones that a pass has already, by where they are.
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Block *, uint8_t>, mlir::Value> gathered;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Block *>, mlir::Value> taken;
};

} // namespace accord::shard
