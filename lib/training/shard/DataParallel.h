// Replicas of a training step that take samples of their own.
#pragma once
#include "dialects/dnn/Names.h"
#include "lib/training/shard/Sharding.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace accord::shard {

enum class TableSplit : uint8_t {
  None,   ///< every replica has all tables
  Rows,   ///< each device has some rows of every table: partial sums travel
  Columns ///< each device has some columns of every table: rows' parts travel
};

enum class ExpertSplit : uint8_t {
  None,   ///< every replica has all experts
  Divided ///< each device has some experts: tokens travel to them and back
};

struct DataParallelOptions {
  std::string axis = "data";
  int64_t devices = 2;
  /// Embedding tables are not replicated but divided among the replicas: each device looks up the ids of all samples in
  /// its part, and all-to-all or reduce-scatter brings the rows to where the samples are (Naumov et al., DLRM, 2019,
  /// section 4; Mudigere et al., ZionEX, 2022).
  TableSplit tables = TableSplit::None;
  ExpertSplit experts = ExpertSplit::None;
};

/// Each device of the axis runs the step on its own samples; after the last micro-batch gradients are replaced by their
/// mean. The loss and so the gradients are means over the samples of all devices, provided that each has as many. Batch
/// normalization takes the statistics of a device's own samples.
class DataParallel {
public:
  DataParallel(dnn::TrainingGraphOp graph, const DataParallelOptions &options);
  /// Errors are emitted at operations: an axis that the graph already has, fewer than 2 devices.
  llvm::LogicalResult run();
  /// Tables and weights of experts that the devices cannot divide, and so stay whole.
  llvm::ArrayRef<dnn::ParameterOp> whole() const { return unshardedParameters; }

private:
  void divide(dnn::ParameterOp table);
  void lookUp(mlir::Operation *op);
  void lookUpGradient(mlir::Operation *op);
  mlir::Value nameCollective(mlir::Operation *collective, const llvm::Twine &name);
  mlir::Value gather(mlir::Value value, const llvm::Twine &name, mlir::OpBuilder &to);
  /// The same, once for all lookups of a block and their gradients.
  mlir::Value gatherIds(mlir::Value ids, const llvm::Twine &name, mlir::OpBuilder &to);

  dnn::TrainingGraphOp graph;
  DataParallelOptions options;
  Names names;
  llvm::DenseSet<mlir::StringAttr> divided;
  llvm::SmallVector<dnn::ParameterOp> unshardedParameters;
  llvm::DenseMap<mlir::Value, mlir::Value> gathered; ///< ids of all replicas
};

} // namespace accord::shard
