// Experts of which each replica of a training step has some.
#pragma once
#include "dialects/dnn/Names.h"
#include "lib/training/shard/Sharding.h"
#include "llvm/ADT/DenseSet.h"

namespace accord::shard {

/// The weights of `dnn.moe_experts` are divided along the experts among the devices of the axis. Every device routes
/// its own samples; the slots travel to the device that has their expert, and the rows come back, forward and backward
/// (Lepikhin et al., GShard, 2020, section 3.2).
class ExpertParallel {
public:
  ExpertParallel(dnn::TrainingGraphOp graph, llvm::StringRef axis, int64_t devices, Names &names)
      : graph(graph), axis(axis), devices(devices), names(names) {}
  void run();
  /// Parameters of which each device has now a part: their gradients take the samples of all devices into account.
  const llvm::DenseSet<mlir::StringAttr> &divided() const { return parts; }
  /// Weights of experts that the devices cannot divide, and so stay whole.
  llvm::ArrayRef<dnn::ParameterOp> whole() const { return unshardedParameters; }

private:
  void find();
  void forward(dnn::MoeExpertsOp op);
  void backward(dnn::MoeExpertsGradOp op);
  mlir::RankedTensorType allToAllType(mlir::RankedTensorType type) const;
  mlir::Value toExperts(mlir::Value slots, const llvm::Twine &name, mlir::OpBuilder &to);
  void fromExperts(mlir::Value rows, const llvm::Twine &name, mlir::OpBuilder &to);

  dnn::TrainingGraphOp graph;
  std::string axis;
  int64_t devices;
  Names &names;
  llvm::DenseSet<mlir::StringAttr> parts;
  llvm::DenseSet<mlir::Operation *> operations; ///< of the experts that are divided
  llvm::SmallVector<dnn::ParameterOp> unshardedParameters;
};

} // namespace accord::shard
