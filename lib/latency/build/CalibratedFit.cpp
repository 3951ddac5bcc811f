#include "lib/latency/build/CalibratedFit.h"
#include "lib/machine/calibration/OperationTimes.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace accord {
using calibrate::Parameter;
using calibrate::ProfileItem;
using calibrate::WorkClass;

namespace {
constexpr int64_t kAnyMore = std::numeric_limits<int64_t>::max();
/// Latency models know one device of a layout; what its exchanges take besides is the network's.
const calibrate::Layout kAlone;
} // namespace

bool isCalibrated(const Plan &plan) {
  return std::ranges::any_of(plan.costs.operations,
                             [](const OperationCost &cost) { return cost.model == kCalibratedModel; });
}

std::string calibrationNote(const Plan &plan) {
  return fmt::format("the parameters of the calibration '{}' are held, whatever rates and bandwidths are asked for",
                     plan.machine.fitted.source);
}

CalibratedFit::CalibratedFit(const Plan &plan, const std::vector<LatencySample> &samples, const PolynomialFit &points,
                             Expressions &nodes, const MachineNodes &machine)
    : plan_(plan), samples_(samples), points_(points), nodes_(nodes), machine_(machine),
      parameters_(calibrate::calibratedParametersOf(plan.machine).value_or(calibrate::Parameters{})),
      times_(plan.graph.operations.size(), kNoNode), device_(nodes.real(0)) {
  for (const LatencySample &sample : samples)
    lookups_.push_back(calibrate::equalLookupsOf(*sample.graph));
}

Error CalibratedFit::error(OperationId id, const std::string &what) const {
  const Operation &op = plan_.graph.operations[id];
  return {Code::NoLatencyModel, fmt::format("operation '{}': {}", op.name, what), op.location};
}

template <typename Get> Result<NodeId> CalibratedFit::count(OperationId id, const char *what, Get get) const {
  std::vector<int64_t> values;
  for (const LatencySample &sample : samples_) {
    double value = get(sample.graph->operations[id]);
    if (!(std::fabs(value) < 9e18) || value != std::floor(value))
      return error(id, fmt::format("its {} are no whole number", what));
    values.push_back(static_cast<int64_t>(value));
  }
  auto polynomial = points_.through(values);
  if (!polynomial)
    return error(
        id, fmt::format("its {} are no polynomial of the micro-batch (degree 1) and the sequence (degree 2)", what));
  return nodes_.polynomial(*polynomial, machine_.microbatch, machine_.sequence);
}

Result<NodeId> CalibratedFit::bytesOf(OperationId id) const {
  calibrate::TrafficShares shares = calibrate::trafficSharesOf(plan_.graph.operations[id]);
  ACCORD_TRY(read, count(id, "bytes", [](const Operation &op) { return static_cast<double>(op.bytesRead); }));
  ACCORD_TRY(written, count(id, "bytes", [](const Operation &op) { return static_cast<double>(op.bytesWritten); }));
  Expressions &e = nodes_;
  NodeId sum = e.real(0);
  for (auto [share, bytes] : {std::pair(shares.read, read), {shares.written, written}})
    if (share != 0)
      sum = e.add(sum, e.multiply(e.real(share), e.toReal(bytes)));
  if (shares.smaller != 0)
    sum = e.add(sum, e.multiply(e.real(shares.smaller), e.toReal(e.minimum({read, written}))));
  return sum;
}

Result<CalibratedFit::Sizes> CalibratedFit::sizesOf(OperationId id) const {
  auto extent = [](double ProfileItem::*which) {
    return [which](const Operation &op) {
      auto item = calibrate::itemOf(op);
      return item ? (*item).*which : std::numeric_limits<double>::quiet_NaN();
    };
  };
  Sizes sizes{};
  ACCORD_TRY(bytes, bytesOf(id));
  sizes.bytes = bytes;
  for (auto [node, which, what] : {std::tuple(&Sizes::flops, &ProfileItem::flops, "FLOPs"),
                                   {&Sizes::batch, &ProfileItem::batch, "extents"},
                                   {&Sizes::m, &ProfileItem::m, "extents"},
                                   {&Sizes::n, &ProfileItem::n, "extents"},
                                   {&Sizes::k, &ProfileItem::k, "extents"}}) {
    ACCORD_TRY(found, count(id, what, extent(which)));
    sizes.*node = found;
  }
  return sizes;
}

NodeId CalibratedFit::moved(NodeId bytes, Parameter efficiency, double passes) const {
  Expressions &e = nodes_;
  const Memory &memory = plan_.machine.memories.front();
  NodeId bandwidth = machine_.bandwidths.front();
  if (memory.kind != "dram" && !memory.kind.empty()) // what lies on the chip runs at its clock
    bandwidth = e.multiply(bandwidth, machine_.clock);
  return e.divide(e.multiply(bytes, e.real(passes)), e.multiply(bandwidth, e.real(parameter(efficiency))));
}

Result<NodeId> CalibratedFit::productTime(OperationId id, const ProfileItem &item) const {
  ACCORD_TRY(sizes, sizesOf(id));
  Expressions &e = nodes_;
  if (e[sizes.batch].kind == NodeKind::Integer)
    return productTimeOf(id, item, sizes);
  ProfileItem single = item, several = item;
  single.work = WorkClass::Product, several.work = WorkClass::Batched;
  ACCORD_TRY(once, productTimeOf(id, single, sizes));
  ACCORD_TRY(often, productTimeOf(id, several, sizes));
  return e.select(sizes.batch, {{1, once}, {kAnyMore, often}});
}

Result<NodeId> CalibratedFit::productTimeOf(OperationId id, const ProfileItem &item, const Sizes &x) const {
  auto work = calibrate::workOf(item, plan_.machine, 1);
  calibrate::ProductPeak peak = calibrate::productPeakOf(plan_.machine, item.type);
  auto rate = machine_.rates.find({peak.core, peak.type});
  if (!work || rate == machine_.rates.end())
    return error(id, "the rate of its arithmetic is no argument");
  Expressions &e = nodes_;
  NodeId shape = e.real(1), one = e.real(1);
  if (item.m > 0) {
    Parameter depth = item.work == WorkClass::Batched ? Parameter::AttentionDepth : Parameter::ProductDepth;
    NodeId k = e.toReal(x.k), results = e.multiply(e.multiply(e.toReal(x.batch), e.toReal(x.m)), e.toReal(x.n));
    NodeId split = e.add(one, e.divide(k, e.real(calibrate::kSplitDepth)));
    NodeId filled =
        e.divide(e.real(work->rate * parameter(Parameter::ProductWave)), e.maximum({e.multiply(results, split), one}));
    NodeId deep = e.divide(e.real(work->rate * parameter(depth)), k);
    shape = e.multiply(e.add(one, filled), e.add(one, deep));
  }
  NodeId flopsPerSecond = e.multiply(e.multiply(rate->second, machine_.clock), e.real(parameter(work->efficiency)));
  NodeId traffic = moved(x.bytes, Parameter::MemoryEfficiency);
  NodeId time = e.maximum({e.divide(e.multiply(e.toReal(x.flops), shape), flopsPerSecond), traffic});
  if (item.window && item.type == "tf32") // each operand and result is transposed
    time = e.add(time, e.multiply(e.real(2), traffic));
  return time;
}

Result<NodeId> CalibratedFit::collectiveTime(OperationId id, const ProfileItem &item) const {
  ACCORD_TRY(payload, count(id, "payload", [](const Operation &op) {
               auto item = calibrate::itemOf(op);
               return item ? item->payload : 0;
             }));
  // A device alone sends nothing, but what is no norm's gradient has a latency.
  double latency = parameter(Parameter::LinkLatency) * (item.communication == "all_reduce" ? 1 : 0.5);
  if (plan_.graph.isInference() && parameter(Parameter::Launch) == 0) // nothing is joined
    return nodes_.real(latency);
  return nodes_.select(
      payload, {{static_cast<int64_t>(calibrate::kJoinedBytes), nodes_.real(0)}, {kAnyMore, nodes_.real(latency)}});
}

Result<NodeId> CalibratedFit::exchangeTime(OperationId id) const {
  ACCORD_TRY(payload, count(id, "payload", [](const Operation &op) {
               return op.communication ? static_cast<double>(op.communication->payload) : 0;
             }));
  Expressions &e = nodes_;
  const Communication &communication = *plan_.graph.operations[id].communication;
  NodeId devices = machine_.devices ? machine_.devices(communication) : e.integer(communication.devices);
  NodeId replicas = e.toReal(devices);
  NodeId each = e.divide(e.toReal(payload), replicas);
  double within = kAlone.link * parameter(Parameter::LinkEfficiency),
         across = kAlone.network * parameter(Parameter::NetworkEfficiency), here = kAlone.devicesPerNode;
  auto others = [&](double fewer) { return e.multiply(e.add(replicas, e.real(-fewer)), each); };
  NodeId links = e.divide(e.multiply(e.real(here - 1), each), e.real(within));
  return e.select(devices, {{static_cast<int64_t>(here), e.divide(others(1), e.real(within))},
                            {kAnyMore, e.maximum({links, e.divide(others(here), e.real(across))})}});
}

Result<NodeId> CalibratedFit::updateTime(OperationId id, const ProfileItem &item) const {
  ACCORD_TRY(bytes, bytesOf(id));
  return item.work == WorkClass::Lookup ? moved(bytes, Parameter::LookupEfficiency)
                                        : moved(bytes, Parameter::MemoryEfficiency, parameter(Parameter::UpdatePasses));
}

Result<CalibratedFit::Times> CalibratedFit::timesOf(OperationId id, const ProfileItem &item) const {
  Expressions &e = nodes_;
  double kernels = calibrate::kernelsOf(item), floor = parameter(Parameter::KernelLaunchOverhead) * kernels;
  // A library starts the steps of its recurrent layers itself, without the framework.
  Times times;
  times.host = parameter(item.recurrent ? Parameter::KernelLaunchOverhead : Parameter::Launch) * kernels;
  auto withFloor = [&](NodeId each) { return e.add(e.multiply(each, e.real(item.count)), e.real(floor)); };
  auto streamed = [&](Parameter efficiency, double passes) -> Result<Times> {
    ACCORD_TRY(bytes, bytesOf(id));
    times.device = withFloor(moved(bytes, efficiency, passes));
    return times;
  };
  switch (item.work) {
  case WorkClass::Product:
  case WorkClass::Batched: {
    ACCORD_TRY(time, productTime(id, item));
    times.device = withFloor(time);
    return times;
  }
  case WorkClass::Collective: {
    ACCORD_TRY(time, collectiveTime(id, item));
    times.device = time;
    return times;
  }
  case WorkClass::Streaming:
    return streamed(Parameter::MemoryEfficiency, 1);
  case WorkClass::Softmax:
    return streamed(Parameter::SoftmaxEfficiency, 1);
  case WorkClass::Loss:
    return streamed(Parameter::MemoryEfficiency, parameter(Parameter::LossPasses));
  case WorkClass::Lookup:
    return streamed(Parameter::LookupEfficiency, 1);
  }
  return error(id, "it has no class of work");
}

std::optional<Error> CalibratedFit::region(RegionId r) {
  const WorkGraph &graph = plan_.graph;
  RegionId root = r;
  while (root > kUpdateRegion)
    root = graph.regions[root].parent;
  if (root == kUpdateRegion && r != kUpdateRegion)
    return error(graph.regions[r].owner, "a repeat of the update has no calibrated time");
  bool recurrent = calibrate::isRecurrent(graph, r);
  for (OperationId id : graph.regions[r].operations) {
    const Operation &op = graph.operations[id];
    auto item = op.body == kNone ? calibrate::itemOf(op) : std::nullopt;
    if (!item)
      continue;
    if (r == kUpdateRegion) {
      auto time = updateTime(id, *item);
      if (!time)
        return time.takeError();
      times_[id] = *time;
      continue;
    }
    double executions = static_cast<double>(graph.executions(id)) / static_cast<double>(graph.microbatches);
    Times times;
    if (op.communication && op.communication->axis == "data") {
      auto time = exchangeTime(id);
      if (!time)
        return time.takeError();
      times.device = *time;
    } else {
      item->count = lookups_.front()[id];
      if (!std::ranges::all_of(lookups_, [&](const auto &sample) { return sample[id] == item->count; }))
        return error(id, "other lookups are equal to it at other sizes");
      item->recurrent = recurrent;
      auto found = timesOf(id, *item);
      if (!found)
        return found.takeError();
      times = *found;
    }
    times_[id] = nodes_.divide(times.device, nodes_.real(item->count > 0 ? item->count : 1));
    device_ = nodes_.add(device_, nodes_.multiply(times_[id], nodes_.real(executions)));
    host_ += item->count > 0 ? times.host / item->count * executions : 0;
  }
  return std::nullopt;
}

Result<std::vector<NodeId>> CalibratedFit::run() {
  Expressions &e = nodes_;
  for (RegionId r = 0; r < plan_.graph.regions.size(); ++r)
    if (auto error = region(r))
      return std::move(*error);
  bool idle = e[device_].kind == NodeKind::Real && e[device_].real <= 0;
  factor_ = idle ? e.real(1) : e.maximum({e.real(1), e.divide(e.real(host_), device_)});
  for (OperationId id = 0; id < times_.size(); ++id) {
    if (plan_.costs.operations[id].model != kCalibratedModel)
      times_[id] = kNoNode;
    else if (times_[id] == kNoNode) // a view of its operand
      times_[id] = e.real(0);
    else if (plan_.graph.operations[id].region != kUpdateRegion)
      times_[id] = e.multiply(times_[id], factor_);
  }
  return std::move(times_);
}

} // namespace accord
