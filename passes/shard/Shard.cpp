// The pass: the program of one of several devices.
#include "lib/training/shard/Partitioner.h"
#include "passes/shard/Passes.h"

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
} // namespace accord
