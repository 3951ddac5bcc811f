#include "lib/machine/calibration/WorkTime.h"
#include <algorithm>
#include <cmath>

namespace accord::calibrate {
namespace {

/// Bytes per second of PCI Express 3.0 x16, as NCCL counts with it (src/graph/topo.h).
constexpr double kHostBus = 12e9;
/// Share of a backward pass in which gradients become ready and can be sent.
constexpr double kHiddenOfBackward = 0.8;

/// `runs`: the type in which the machine computes a product of the item.
Parameter efficiencyOf(const ProfileItem &item, const std::string &runs) {
  if (runs == "fp8" || runs == "int8")
    return Parameter::Fp8Efficiency;
  if (item.work == WorkClass::Batched)
    return Parameter::AttentionEfficiency;
  if (item.type == "fp32" || item.type == "fp64")
    return Parameter::Fp32Efficiency;
  return item.type == "tf32" ? Parameter::Tf32Efficiency : Parameter::ProductEfficiency;
}

/// Among the devices of a context, `tensor` apart. In a ring each sends to the next one, in n - 1 steps; in an
/// all-gather and what is like it, those of one server have all its links to others together.
WorkTime contextTime(const ProfileItem &item, const Layout &l, const Parameters &p) {
  double n = l.context, together = std::clamp(l.devicesPerNode / l.tensor, 1.0, n);
  bool intraNode = n <= together;
  double bandwidth = l.link * p[Parameter::LinkEfficiency];
  if (!intraNode)
    bandwidth = std::min(bandwidth, (item.ring ? 1 : together) * l.network * p[Parameter::StreamEfficiency]);
  double steps = item.ring ? n - 1 : 0.5;
  WorkTime t;
  t.collective = ((n - 1) / n * item.payload / bandwidth +
                  steps * p[intraNode ? Parameter::LinkLatency : Parameter::NetworkLatency]) *
                 item.count;
  t.host = p[Parameter::LaunchCollective] * (n - 1) * item.count;
  return t;
}

WorkTime collectiveTime(const ProfileItem &item, const Layout &l, const Parameters &p) {
  if (item.axis == "context")
    return contextTime(item, l, p);
  WorkTime t;
  bool intraNode = l.tensor <= l.devicesPerNode;
  double between = l.network * p[Parameter::NetworkEfficiency];
  double link = l.link * p[Parameter::LinkEfficiency];
  if (!intraNode)
    link = std::min(link, between * l.devicesPerNode);
  double n = l.tensor;
  bool whole = item.communication == "all_reduce"; // gathers and scatters are half of one
  double time = (whole ? 2 : 1) * (n - 1) / n * item.payload / link;
  if (item.payload > kJoinedBytes || l.replayed) {
    time += p[intraNode ? Parameter::LinkLatency : Parameter::NetworkLatency] * (whole ? 1 : 0.5);
    t.host += p[Parameter::LaunchCollective] * (n - 1) * item.count;
  }
  t.collective = time * item.count;
  return t;
}

} // namespace

double kernelsOf(const ProfileItem &item) {
  if (item.recurrent && item.work != WorkClass::Product && item.work != WorkClass::Batched)
    return 0;
  return item.work == WorkClass::Lookup ? std::min(item.count, 1.0) : item.count;
}

std::optional<Work> workOf(const ProfileItem &item, const Machine &machine, double parts) {
  double sixteen = peakOf(machine, "bf16") / parts;
  ProductPeak product = productPeakOf(machine, item.type);
  double peak = product.flopsPerSecond / parts;
  if (!(peak > 0) && (item.work == WorkClass::Product || item.work == WorkClass::Batched))
    return std::nullopt;
  double rate = sixteen > 0 && peak > 0 ? std::sqrt(peak / sixteen) : 1;
  return Work{item, peak, rate, efficiencyOf(item, product.type)};
}

WorkTime &WorkTime::operator+=(const WorkTime &other) {
  product += other.product, attention += other.attention, streaming += other.streaming;
  collective += other.collective, host += other.host;
  return *this;
}

WorkTime workTime(const Work &work, const Layout &layout, double memoryBandwidth, const Parameters &parameters) {
  const ProfileItem &item = work.item;
  const Parameters &p = parameters;
  WorkTime t;
  if (item.place == Place::Update)
    return t;
  if (item.work == WorkClass::Collective)
    t = collectiveTime(item, layout, p);
  double kernels = kernelsOf(item), floor = p[Parameter::KernelLaunchOverhead] * kernels;
  // A library starts the steps of its recurrent layers itself, without the framework.
  t.host += p[item.recurrent ? Parameter::KernelLaunchOverhead : Parameter::Launch] * kernels;
  auto streamed = [&](Parameter efficiency, double passes) {
    t.streaming += item.bytes * passes / (memoryBandwidth * p[efficiency]) * item.count + floor;
  };
  switch (item.work) {
  case WorkClass::Product:
  case WorkClass::Batched: {
    bool batched = item.work == WorkClass::Batched;
    double shape = 1;
    if (item.m > 0)
      shape = (1 + work.rate * p[Parameter::ProductWave] /
                       std::max(item.batch * item.m * item.n * (1 + item.k / kSplitDepth), 1.0)) *
              (1 + work.rate * p[batched ? Parameter::AttentionDepth : Parameter::ProductDepth] / item.k);
    double compute = item.flops * shape / (work.peak * p[work.efficiency]);
    double moved = item.bytes / (memoryBandwidth * p[Parameter::MemoryEfficiency]);
    double time = std::max(compute, moved);
    // Tensor cores take convolutions with channels innermost. Training in tf32 keeps them
    // outermost, as in fp32, so that each operand and result is transposed.
    if (item.window && item.type == "tf32")
      time += 2 * moved;
    (batched ? t.attention : t.product) += time * item.count + floor;
    break;
  }
  case WorkClass::Streaming:
    streamed(Parameter::MemoryEfficiency, 1);
    break;
  case WorkClass::Softmax:
    streamed(Parameter::SoftmaxEfficiency, 1);
    break;
  case WorkClass::Loss:
    streamed(Parameter::MemoryEfficiency, p[Parameter::LossPasses]);
    break;
  case WorkClass::Lookup:
    streamed(Parameter::LookupEfficiency, 1);
    break;
  case WorkClass::Collective:
    break;
  }
  if (layout.replayed)
    t.host = 0;
  return t;
}

double updateTime(double bytes, double memoryBandwidth, const Parameters &parameters) {
  const Parameters &p = parameters;
  return bytes * p[Parameter::UpdatePasses] / (memoryBandwidth * p[Parameter::MemoryEfficiency]);
}

double updatedRowsTime(double bytes, double memoryBandwidth, const Parameters &parameters) {
  return bytes / (memoryBandwidth * parameters[Parameter::LookupEfficiency]);
}

double rowsTime(double bytes, const Layout &l, const Parameters &parameters) {
  const Parameters &p = parameters;
  double intraNode = l.link * p[Parameter::LinkEfficiency];
  if (l.tensor * l.data > l.devicesPerNode) {
    double each = bytes / (l.data - 1), together = std::max(1.0, std::floor(l.devicesPerNode / l.tensor));
    return std::max((together - 1) * each / intraNode,
                    (l.data - together) * each / (l.network * p[Parameter::NetworkEfficiency]));
  }
  return std::max((1 - l.unlinked) * bytes / intraNode, l.unlinked * bytes / kHostBus);
}

Line transferLine(const Layout &layout, const Parameters &parameters, bool interNode) {
  const Parameters &p = parameters;
  return {
      p[interNode ? Parameter::NetworkLatency : Parameter::LinkLatency],
      1 / (interNode ? layout.network * p[Parameter::StreamEfficiency] : layout.link * p[Parameter::LinkEfficiency])};
}

double gradientSyncBandwidth(const Layout &layout, double replicasPerNode, const Parameters &parameters) {
  const Parameters &p = parameters;
  double bandwidth = layout.link * p[Parameter::LinkEfficiency];
  if (layout.data > replicasPerNode)
    bandwidth = std::min(bandwidth, replicasPerNode * layout.network * p[Parameter::StreamEfficiency]);
  return bandwidth;
}

GradientOverlap gradientOverlapOf(const Parameters &parameters) {
  double maxOverlap = 1 - parameters[Parameter::DataParallelExposed];
  return {maxOverlap, maxOverlap * kHiddenOfBackward};
}

} // namespace accord::calibrate
