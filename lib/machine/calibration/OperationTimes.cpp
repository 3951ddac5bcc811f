#include "lib/machine/calibration/OperationTimes.h"
#include "lib/machine/model/RingExchange.h"
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accord::calibrate {
namespace {

/// What equal lookups have in common: all of them are one kernel, of which each has its share.
using LookupKey = std::tuple<Phase, std::string, double, double>;
LookupKey keyOf(const ProfileItem &item) { return {item.phase, item.type, item.flops, item.bytes}; }

class Timer {
public:
  Timer(const WorkGraph &graph, const Machine &machine, const Parameters &parameters, const Layout &layout)
      : graph_(graph), machine_(machine), parameters_(parameters), layout_(layout),
        memoryBandwidth_(machine.memories.front().bandwidth.value / layout.parts), lookups_(equalLookupsOf(graph)),
        times_(graph.operations.size()) {}

  Result<std::vector<double>> run() {
    for (RegionId r = 0; r < graph_.regions.size(); ++r)
      if (auto error = region(r))
        return std::move(*error);
    double factor = hostFactor(device_, host_);
    for (OperationId id = 0; id < times_.size(); ++id)
      if (graph_.operations[id].region != kUpdateRegion)
        times_[id] *= factor;
    return exposedTimes(graph_, std::move(times_));
  }

private:
  std::optional<Error> region(RegionId r) {
    bool recurrent = isRecurrent(graph_, r);
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      auto item = op.body == kNone ? itemOf(op) : std::nullopt;
      if (!item)
        continue;
      if (r == kUpdateRegion) {
        times_[id] = item->work == WorkClass::Lookup ? updatedRowsTime(item->bytes, memoryBandwidth_, parameters_)
                                                     : updateTime(item->bytes, memoryBandwidth_, parameters_);
        continue;
      }
      double executions = static_cast<double>(graph_.executions(id)) / static_cast<double>(graph_.microbatches);
      if (op.communication && op.communication->axis == "data") { // of what replicas divide
        Layout replicas = layout_;
        replicas.data = op.communication->devices;
        replicas.tensor *= layout_.context; // that many devices lie between them
        times_[id] = rowsTime((replicas.data - 1) / replicas.data * item->payload, replicas, parameters_);
        device_ += times_[id] * executions;
        continue;
      }
      item->count = lookups_[id];
      item->recurrent = recurrent;
      auto work = workOf(*item, machine_, layout_.parts);
      if (!work)
        return Error{Code::MissingRate,
                     fmt::format("'{}' has no peak for {}, which '{}' needs", machine_.name, item->type, op.name),
                     machine_.location,
                     {}};
      WorkTime time = workTime(*work, layout_, memoryBandwidth_, parameters_);
      times_[id] = time.device() / item->count;
      device_ += times_[id] * executions;
      host_ += time.host / item->count * executions;
    }
    return std::nullopt;
  }

  const WorkGraph &graph_;
  const Machine &machine_;
  const Parameters &parameters_;
  const Layout &layout_;
  double memoryBandwidth_;
  std::vector<double> lookups_, times_;
  double device_ = 0, host_ = 0; ///< of one micro-batch
};

} // namespace

std::vector<double> equalLookupsOf(const WorkGraph &graph) {
  std::vector<double> counts(graph.operations.size(), 1);
  for (const Region &region : graph.regions) {
    std::map<LookupKey, std::vector<OperationId>> equal;
    for (OperationId id : region.operations)
      if (auto item = itemOf(graph.operations[id]); item && item->work == WorkClass::Lookup)
        equal[keyOf(*item)].push_back(id);
    for (const auto &[key, all] : equal)
      for (OperationId id : all)
        counts[id] = static_cast<double>(all.size());
  }
  return counts;
}

Machine::HostOverhead hostOverheadOf(const WorkGraph &graph, const Parameters &parameters) {
  double share = hostShareOf(graph);
  return {Seconds(parameters[Parameter::KernelLaunchOverhead]),
          Seconds(share * parameters[Parameter::HostOverheadPerMicrobatch]),
          Seconds(share * parameters[Parameter::HostOverheadPerStep])};
}

Result<std::vector<double>> operationTimes(const WorkGraph &graph, const Machine &machine, const Parameters &parameters,
                                           const Layout &layout) {
  Layout own = layout;
  own.replayed |= graph.isInference() && parameters[Parameter::Launch] == 0;
  return Timer(graph, machine, parameters, own).run();
}

} // namespace accord::calibrate
