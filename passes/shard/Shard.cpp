// The passes: the program of one of several devices, by tensors, by sequences and by samples.
#include "lib/training/shard/ContextParallel.h"
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
      shard::Partitioner partitioner(graph, {axis, devices, sequence, keepGathered, expertReplicas});
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

#define GEN_PASS_DEF_DIVIDESEQUENCE
#include "passes/shard/Passes.h.inc"

namespace {

struct DivideSequence : impl::DivideSequenceBase<DivideSequence> {
  using DivideSequenceBase::DivideSequenceBase;

  void runOnOperation() override {
    auto how = llvm::StringSwitch<std::optional<shard::KeyExchange>>(exchange)
                   .Case("ring", shard::KeyExchange::Ring)
                   .Case("all_gather", shard::KeyExchange::AllGather)
                   .Case("all_to_all", shard::KeyExchange::AllToAll)
                   .Default(std::nullopt);
    if (!how) {
      getOperation().emitError() << "keys and values are exchanged by ring, all_gather or all_to_all, not '" << exchange
                                 << "'";
      return signalPassFailure();
    }
    for (auto graph : getOperation().getOps<dnn::TrainingGraphOp>())
      if (failed(shard::ContextParallel(graph, {axis, devices, *how}).run()))
        return signalPassFailure();
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
