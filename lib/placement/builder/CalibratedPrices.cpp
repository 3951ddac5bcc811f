#include "lib/placement/builder/CalibratedPrices.h"
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accord {

using calibrate::Parameter;
using calibrate::Place;

namespace {
double picoseconds(double seconds) { return seconds * 1e12; }

/// What equal lookups have in common.
using LookupKey = std::tuple<Phase, std::string, double, double>;
LookupKey keyOf(const calibrate::ProfileItem &item) { return {item.phase, item.type, item.flops, item.bytes}; }
} // namespace

std::optional<CalibratedPrices> CalibratedPrices::of(const Cluster &group, bool fp8, double unlinked) {
  auto parameters = calibrate::calibratedParametersOf(group.machine);
  if (!parameters || group.machine.memories.empty() || !(group.machine.memories.front().bandwidth.value > 0))
    return std::nullopt;
  CalibratedPrices made;
  made.machine_ = group.machine;
  made.parameters_ = *parameters;
  made.source_ = group.machine.fitted.source;
  made.memoryBandwidth_ = group.machine.memories.front().bandwidth.value;
  made.devicesPerNode_ = group.devicesPerNode;
  made.interNode_ = group.servers > 1 && !group.fabric.levels.empty();
  made.fp8_ = fp8;
  made.link_ = group.devicesPerNode > 1 && !group.fabric.levels.empty()
                   ? group.fabric.levels.front().bandwidth.value
                   : made.memoryBandwidth_; // a device alone sends nothing
  made.unlinked_ = unlinked;
  if (made.interNode_) {
    const Network &network = group.fabric.levels.back();
    double rate = endpointBandwidth(network, 2).value / network.oversubscription;
    if (!(rate > 0))
      return std::nullopt;
    made.network_ = rate / made.devicesPerNode_;
    if (group.devicesPerNode <= 1)
      made.link_ = made.network_;
  } else {
    made.network_ = made.link_;
  }
  return made;
}

calibrate::Layout CalibratedPrices::layout(double tensor, double data) const {
  calibrate::Layout layout;
  layout.tensor = tensor, layout.data = data;
  layout.devicesPerNode = devicesPerNode_, layout.network = network_, layout.link = link_, layout.unlinked = unlinked_;
  return layout;
}

Result<std::vector<OperationTime>> CalibratedPrices::times(const WorkGraph &graph, int64_t tensor) const {
  std::vector<OperationTime> times(graph.operations.size());
  calibrate::Layout layout = this->layout(tensor, 1);
  for (RegionId r = 0; r < graph.regions.size(); ++r) {
    bool recurrent = false;
    for (RegionId at = r; !recurrent && at != kMicrobatchRegion && at != kUpdateRegion;
         at = graph.operations[graph.regions[at].owner].region)
      recurrent = calibrate::isTimeLoop(graph.regions[at]);
    std::map<LookupKey, double> lookups;
    for (OperationId id : graph.regions[r].operations)
      if (auto item = calibrate::itemOf(graph.operations[id]); item && item->work == calibrate::WorkClass::Lookup)
        ++lookups[keyOf(*item)];
    for (OperationId id : graph.regions[r].operations) {
      const Operation &op = graph.operations[id];
      if (op.body != kNone)
        continue;
      auto item = calibrate::itemOf(op);
      if (!item)
        continue;
      if (r == kUpdateRegion) {
        times[id].device = item->work == calibrate::WorkClass::Lookup
                               ? calibrate::updatedRowsTime(item->bytes, memoryBandwidth_, parameters_)
                               : calibrate::updateTime(item->bytes, memoryBandwidth_, parameters_);
        continue;
      }
      if (op.communication && op.communication->axis == "data") { // of what replicas divide
        double n = op.communication->devices;
        times[id].device = calibrate::rowsTime((n - 1) / n * item->payload, this->layout(tensor, n), parameters_);
        continue;
      }
      // Equal ones are one kernel, as in a profile, of which each has its share.
      item->count = item->work == calibrate::WorkClass::Lookup ? lookups[keyOf(*item)] : 1;
      item->recurrent = recurrent;
      auto work = calibrate::workOf(*item, machine_, 1, fp8_);
      if (!work)
        return Error{Code::MissingRate,
                     fmt::format("'{}' has no peak for {}, which '{}' needs", machine_.name,
                                 calibrate::typeOf(*item, fp8_), op.name),
                     machine_.location,
                     {}};
      calibrate::WorkTime time = calibrate::workTime(*work, layout, memoryBandwidth_, parameters_);
      times[id] = {time.device() / item->count, time.host / item->count};
    }
  }
  return times;
}

PlacementProblem::Link CalibratedPrices::link() const {
  auto line = [&](bool interNode) {
    calibrate::Line one = calibrate::transferLine(layout(1, 1), parameters_, interNode);
    return AlphaBetaModel{picoseconds(one.latency), picoseconds(one.perByte)};
  };
  return {line(false), line(interNode_)};
}

double CalibratedPrices::half(const ParallelConfig &parallelConfig, int64_t replicasPerNode) const {
  double n = parallelConfig.data;
  calibrate::Layout layout = this->layout(parallelConfig.tensor, n);
  return picoseconds((n - 1) / n / calibrate::gradientSyncBandwidth(layout, replicasPerNode, parameters_));
}

std::vector<AlphaBetaModel> CalibratedPrices::exchange(const ParallelConfig &parallelConfig, int64_t replicasPerNode,
                                                       double perGradient) const {
  double one = half(parallelConfig, replicasPerNode);
  return {{0, parallelConfig.zero == 0   ? 2 * one
              : parallelConfig.zero == 1 ? one * (1 + perGradient)
              : parallelConfig.zero == 2 ? one * perGradient
                                         : one}};
}

std::vector<AlphaBetaModel> CalibratedPrices::gather(const ParallelConfig &parallelConfig, int64_t replicasPerNode,
                                                     double perWeight) const {
  double waits = (1 - hiding().maxOverlap) * half(parallelConfig, replicasPerNode);
  if (parallelConfig.zero < 2)
    return {};
  return {{0, parallelConfig.zero == 2 ? waits * perWeight / 2 : waits}}; // half of a scatter in each pass
}

Seconds CalibratedPrices::hostOverheadPerMicrobatch() const {
  return Seconds(parameters_[static_cast<size_t>(Parameter::HostOverheadPerMicrobatch)]);
}
Seconds CalibratedPrices::hostOverheadPerStep() const {
  return Seconds(parameters_[static_cast<size_t>(Parameter::HostOverheadPerStep)]);
}

} // namespace accord
