// The passes: the program of one of several devices, by tensors and by samples.
#include "lib/training/shard/DataParallel.h"
#include "lib/training/shard/Partitioner.h"
#include "passes/shard/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace accord {
#define GEN_PASS_DEF_SHARD
#include "passes/shard/Passes.h.inc"

namespace {

struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>()) {
      shard::Partitioner partitioner(graph, {axis, devices, sequence, keepGathered});
      if (failed(partitioner.run()))
        return signalPassFailure();
      for (dnn::ParameterOp parameter : partitioner.whole())
        parameter.emitRemark() << "parameter '" << parameter.getSymName() << "', " << parameter.getTensorType()
                               << ", stays whole on each of the " << int64_t(devices) << " devices of axis '" << axis
                               << "'";
    }
  }
};

} // namespace

#define GEN_PASS_DEF_REPLICATE
#include "passes/shard/Passes.h.inc"

namespace {

struct Replicate : impl::ReplicateBase<Replicate> {
  using ReplicateBase::ReplicateBase;

  void runOnOperation() override {
    auto split = llvm::StringSwitch<std::optional<shard::TableSplit>>(tables)
                     .Case("whole", shard::TableSplit::None)
                     .Case("rows", shard::TableSplit::Rows)
                     .Case("columns", shard::TableSplit::Columns)
                     .Default(std::nullopt);
    if (!split) {
      getOperation().emitError() << "tables are whole, or split by rows or columns, not '" << tables << "'";
      return signalPassFailure();
    }
    auto division = llvm::StringSwitch<std::optional<shard::ExpertSplit>>(experts)
                        .Case("whole", shard::ExpertSplit::None)
                        .Case("divided", shard::ExpertSplit::Divided)
                        .Default(std::nullopt);
    if (!division) {
      getOperation().emitError() << "experts are whole or divided, not '" << experts << "'";
      return signalPassFailure();
    }
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>()) {
      shard::DataParallel replicas(graph, {axis, devices, *split, *division});
      if (failed(replicas.run()))
        return signalPassFailure();
      for (dnn::ParameterOp table : replicas.whole())
        table.emitRemark() << (table.getTensorType().getRank() == 3 ? "experts' weight '" : "table '")
                           << table.getSymName() << "', " << table.getTensorType() << ", stays whole on each of the "
                           << int64_t(devices) << " devices of axis '" << axis << "'";
    }
  }
};

} // namespace

} // namespace accord
