#include "lib/placement/builder/CalibratedPrices.h"

namespace accord {

namespace {
double picoseconds(double seconds) { return seconds * 1e12; }
} // namespace

std::optional<CalibratedPrices> CalibratedPrices::of(const Cluster &group, double unlinked) {
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

Result<std::vector<double>> CalibratedPrices::times(const WorkGraph &graph, int64_t tensor, int64_t context) const {
  calibrate::Layout sharing = layout(tensor, context);
  sharing.context = context;
  return calibrate::operationTimes(graph, machine_, parameters_, sharing);
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

} // namespace accord
