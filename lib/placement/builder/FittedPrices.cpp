#include "lib/placement/builder/FittedPrices.h"
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
LookupKey keyOf(const calibrate::ProfileItem &item) {
  return {item.phase, item.type, item.flops, item.bytes};
}
} // namespace

std::optional<FittedPrices> FittedPrices::of(const Cluster &group, bool eightBit, double unlinked) {
  auto parameters = calibrate::fittedOf(group.machine);
  if (!parameters || group.machine.memories.empty() ||
      !(group.machine.memories.front().bandwidth.value > 0))
    return std::nullopt;
  FittedPrices made;
  made.machine_ = group.machine;
  made.parameters_ = *parameters;
  made.source_ = group.machine.fitted.source;
  made.memoryBandwidth_ = group.machine.memories.front().bandwidth.value;
  made.perServer_ = static_cast<double>(group.devicesPerServer);
  made.across_ = group.servers > 1 && !group.fabric.levels.empty();
  made.eightBit_ = eightBit;
  made.unlinked_ = unlinked;
  if (made.across_) {
    const Network &network = group.fabric.levels.back();
    double rate = endpointBandwidth(network, 2).value / network.oversubscription;
    if (!(rate > 0))
      return std::nullopt;
    made.network_ = rate / made.perServer_;
  } else {
    made.network_ = (*parameters)[static_cast<size_t>(Parameter::LinkBandwidth)];
  }
  return made;
}

calibrate::Layout FittedPrices::layout(double tensor, double data) const {
  calibrate::Layout layout;
  layout.tensor = tensor, layout.data = data;
  layout.devicesPerServer = perServer_, layout.network = network_, layout.unlinked = unlinked_;
  return layout;
}

std::variant<std::vector<OperationTime>, Issue> FittedPrices::times(const WorkGraph &graph,
                                                                    int64_t tensor) const {
  std::vector<OperationTime> times(graph.operations.size());
  calibrate::Layout layout = this->layout(static_cast<double>(tensor), 1);
  for (RegionId r = 0; r < graph.regions.size(); ++r) {
    bool recurrent = false;
    for (RegionId at = r; !recurrent && at != kMicrobatchRegion && at != kUpdateRegion;
         at = graph.operations[graph.regions[at].owner].region)
      recurrent = calibrate::isOverTime(graph.regions[at]);
    std::map<LookupKey, double> lookups;
    for (OperationId id : graph.regions[r].operations)
      if (auto item = calibrate::itemOf(graph.operations[id]);
          item && item->work == calibrate::WorkClass::Lookup)
        ++lookups[keyOf(*item)];
    for (OperationId id : graph.regions[r].operations) {
      const Operation &op = graph.operations[id];
      if (op.body != kNone)
        continue;
      auto item = calibrate::itemOf(op);
      if (!item)
        continue;
      if (r == kUpdateRegion) {
        times[id].device =
            item->work == calibrate::WorkClass::Lookup
                ? calibrate::updatedRowsTime(item->bytes, memoryBandwidth_, parameters_)
                : calibrate::updateTime(item->bytes, memoryBandwidth_, parameters_);
        continue;
      }
      if (op.exchange && op.exchange->axis == "data") { // of what replicas divide
        auto n = static_cast<double>(op.exchange->devices);
        times[id].device = calibrate::rowsTime(
            (n - 1) / n * item->payload, this->layout(static_cast<double>(tensor), n), parameters_);
        continue;
      }
      // Equal ones are one kernel, as in a profile, of which each has its share.
      item->count = item->work == calibrate::WorkClass::Lookup ? lookups[keyOf(*item)] : 1;
      item->recurrent = recurrent;
      auto work = calibrate::workOf(*item, machine_, 1, eightBit_);
      if (!work)
        return Issue{"A0451",
                     fmt::format("'{}' has no peak for {}, which '{}' needs", machine_.name,
                                 calibrate::typeOf(*item, eightBit_), op.name),
                     machine_.location,
                     {}};
      calibrate::WorkTime time = calibrate::workTime(*work, layout, memoryBandwidth_, parameters_);
      times[id] = {time.device() / item->count, time.host / item->count};
    }
  }
  return times;
}

PlacementProblem::Link FittedPrices::link() const {
  auto line = [&](bool across) {
    calibrate::Line one = calibrate::transferLine(layout(1, 1), parameters_, across);
    return LinearTime{picoseconds(one.latency), picoseconds(one.perByte)};
  };
  return {line(false), line(across_)};
}

double FittedPrices::half(const PlacementProblem::Form &form, int64_t together) const {
  auto n = static_cast<double>(form.data);
  calibrate::Layout layout = this->layout(static_cast<double>(form.tensor), n);
  return picoseconds(
      (n - 1) / n /
      calibrate::exchangeBandwidth(layout, static_cast<double>(together), parameters_));
}

std::vector<LinearTime> FittedPrices::exchange(const PlacementProblem::Form &form, int64_t together,
                                               double perGradient) const {
  double one = half(form, together);
  return {{0, form.zero == 0   ? 2 * one
              : form.zero == 1 ? one * (1 + perGradient)
              : form.zero == 2 ? one * perGradient
                               : one}};
}

std::vector<LinearTime> FittedPrices::gather(const PlacementProblem::Form &form, int64_t together,
                                             double perWeight) const {
  double waits = (1 - hiding().hides) * half(form, together);
  if (form.zero < 2)
    return {};
  return {{0, form.zero == 2 ? waits * perWeight / 2 : waits}}; // half of a scatter in each pass
}

Seconds FittedPrices::perMicrobatch() const {
  return Seconds(parameters_[static_cast<size_t>(Parameter::MicrobatchCost)]);
}
Seconds FittedPrices::perStep() const {
  return Seconds(parameters_[static_cast<size_t>(Parameter::StepCost)]);
}

} // namespace accord
