// Cuts a training graph into the equal shares of the devices of one axis.
#pragma once
#include "dialects/dnn/Names.h"
#include "lib/training/shard/ShardingRules.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace accord::shard {

struct PartitionOptions {
  std::string axis = "tensor";
  int64_t devices = 2;
  /// Sequence parallelism (Korthikanti et al., 2022, section 4.2): what lies between the layers whose weights are
  /// split, [batch, sequence, width], is split along the sequence, and not replicated.
  bool sequence = false;
  /// What the forward pass has gathered along the sequence is kept for the backward pass, instead of its parts, which
  /// are gathered again there.
  bool keepGathered = false;
  /// Replicas that divide the experts of every mixture after this. Experts are divided among the devices only if each
  /// replica's part can be, too; else the matrices of each expert are.
  int64_t expertReplicas = 1;
};

/// Parameters of contractions and lookups become parts, and with them the work; the collectives that this needs,
/// forward and backward, are inserted. Every operation takes the rule whose operands cost the fewest bytes to exchange;
/// a contraction with a weight that nobody has split yet is row parallel if its operand comes split that way, else
/// column parallel.
///
/// A graph of a training step becomes the program that every device of the axis runs.
class Partitioner {
public:
  Partitioner(dnn::TrainingGraphOp graph, const PartitionOptions &options);
  ~Partitioner();
  /// Errors are emitted at operations: an axis that the graph already has, fewer than 2 devices.
  llvm::LogicalResult run();
  /// Parameters of two or more dimensions that no device has a part of.
  llvm::ArrayRef<dnn::ParameterOp> whole() const { return unshardedParameters; }

private:
  using Key = std::pair<mlir::Value, std::tuple<uint8_t, int64_t, uint8_t>>;
  /// A value of the graph as it was: what stands for it, and how the devices hold that.
  struct ShardedValue {
    mlir::Value value;
    Sharding sharding;
    mlir::StringAttr parameter; ///< of a read
  };
  struct Parameter {
    dnn::ParameterOp op;
    std::optional<Sharding> sharding;
    llvm::SmallVector<dnn::ReadOp> reads; ///< typed anew when the sharding is known
  };

  void block(mlir::Block &from, mlir::OpBuilder &to);
  void operation(mlir::Operation *op, mlir::OpBuilder &to);
  void repeat(dnn::RepeatOp op, mlir::OpBuilder &to);
  std::unique_ptr<mlir::Block> body(dnn::RepeatOp op, llvm::MutableArrayRef<Sharding> carried,
                                    llvm::SmallVectorImpl<Sharding> &stashed);
  void read(dnn::ReadOp op, mlir::OpBuilder &to);
  void gradient(dnn::GradientOp op, mlir::OpBuilder &to);
  void emit(mlir::Operation *op, const Rule &rule, mlir::OpBuilder &to);
  void crossEntropy(mlir::Operation *op, const Rule &rule, mlir::OpBuilder &to);
  mlir::Value statistics(mlir::Value logits, mlir::Value labels, mlir::Operation *op, mlir::OpBuilder &to);
  bool detachBias(mlir::Operation *op, const Rule &rule, mlir::OpBuilder &to);

  const Rule &choose(mlir::Operation *op, llvm::ArrayRef<Rule> rules);
  int rank(mlir::Operation *op, const Rule &rule);
  bool splitsTable(mlir::Operation *op, const Rule &rule);
  double cost(mlir::Operation *op, const Rule &rule);
  double cost(mlir::Value value, Sharding to, bool backward);
  Sharding preferredSharding(mlir::Value value, Sharding now) const;

  mlir::Value as(mlir::Value value, Sharding sharding, mlir::OpBuilder &to, bool backward);
  mlir::Value converted(mlir::Value value, ShardedValue shardedValues, Sharding sharding, mlir::OpBuilder &to);
  mlir::Value known(const Key &key) const;
  void decide(mlir::StringAttr parameter, Sharding sharding);
  void define(mlir::Value old, mlir::Value value, Sharding sharding);
  template <typename OpTy, typename... Args>
  OpTy create(mlir::OpBuilder &to, mlir::Location location, const llvm::Twine &name, dnn::Phase phase, Args &&...args);
  void finish();

  dnn::TrainingGraphOp graph;
  PartitionOptions options;
  Names names;
  llvm::DenseMap<mlir::Value, ShardedValue> shardedValues;
  llvm::MapVector<mlir::StringAttr, Parameter> parameters;
  llvm::DenseMap<mlir::Value, mlir::StringAttr> gradients;         ///< values that end in a parameter's gradient
  llvm::SmallVector<llvm::DenseMap<Key, mlir::Value>> conversions; ///< by nesting of the repeats
  llvm::DenseSet<mlir::StringAttr> lookedUp;                       ///< parameters that nothing but lookups reads
  llvm::DenseMap<mlir::Value, mlir::Value> stats;                  ///< logits, as split -> statistics of all devices
  llvm::SmallVector<dnn::ParameterOp> unshardedParameters;
  /// Operations that the graph might have had; kept to the end because maps are keyed by their results.
  llvm::SmallVector<mlir::Operation *> replacedOperations;
  llvm::SmallVector<std::unique_ptr<mlir::Block>> discardedBlocks;
};

} // namespace accord::shard
