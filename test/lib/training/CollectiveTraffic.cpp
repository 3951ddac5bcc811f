#include "test/lib/training/CollectiveTraffic.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accord::shard {

std::optional<Traffic> trafficOf(dnn::TrainingGraphOp graph, int64_t batch) {
  Traffic traffic;
  bool overflow = false;
  auto add = [&](Operation *op, StringRef axis, std::optional<int64_t> payload, int64_t devices, int64_t passes,
                 bool update) {
    std::optional<int64_t> times = 1;
    std::string where;
    for (auto repeat = op->getParentOfType<dnn::RepeatOp>(); repeat;
         repeat = repeat->getParentOfType<dnn::RepeatOp>()) {
      times = checkedMultiply(times, repeat.getCount());
      where = where.empty() ? repeat.getLabel().str() : where;
    }
    std::optional<int64_t> total = checkedMultiply(payload, times);
    std::optional<int64_t> sent = checkedMultiply(total, passes * (devices - 1));
    CollectiveTraffic &entry = traffic[{axis.str(), op->getName().stripDialect().str(), where, update}];
    if (!sent || !checkedAdd(entry.sent, *sent) || !checkedAdd(entry.payload, *total)) {
      overflow = true;
      return;
    }
    entry.count += *times;
    entry.payload += *total;
    entry.sent += *sent / devices;
  };
  graph.walk([&](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](dnn::AllReduceOp one) {
          add(op, one.getAxis(), bytesOf(one.getX().getType(), batch), one.getDevices(), 2, false);
        })
        .Case([&](dnn::AllGatherOp one) {
          add(op, one.getAxis(), bytesOf(one.getY().getType(), batch), one.getDevices(), 1, false);
        })
        .Case<dnn::ReduceScatterOp, dnn::AllToAllOp>(
            [&](auto one) { add(op, one.getAxis(), bytesOf(one.getX().getType(), batch), one.getDevices(), 1, false); })
        .Case([&](dnn::GradientAllReduceOp one) {
          if (!one.getLocal())
            add(op, one.getAxis(), one.getBytesWritten(batch), one.getDevices(), one.getRowsAttr() ? 1 : 2, true);
        });
  });
  return overflow ? std::nullopt : std::optional(std::move(traffic));
}

} // namespace accord::shard
