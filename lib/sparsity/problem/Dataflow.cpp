#include "lib/sparsity/problem/Dataflow.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kMostExtent = int64_t(1) << 20;
constexpr int64_t kMostWindow = 1024;
constexpr size_t kMostLayers = 10'000;

std::string checkZeros(const DataflowZeros &zeros, int64_t window) {
  if (zeros.label == "dense")
    return "zeros must not be called 'dense'";
  if (zeros.windows.size() != static_cast<size_t>(window) + 1)
    return fmt::format("'{}' has {} shares of windows, not {}", zeros.label, zeros.windows.size(),
                       window + 1);
  double sum = 0;
  for (double share : zeros.windows) {
    if (!(share >= 0 && share <= 1))
      return fmt::format("'{}' has a share that is not from 0 to 1", zeros.label);
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-9)
    return fmt::format("shares of '{}' have the sum {}, not 1", zeros.label, sum);
  return zeros.loss < 0 ? fmt::format("'{}' has a negative loss", zeros.label) : "";
}

std::string checkLayer(const DataflowLayer &layer) {
  for (int64_t extent :
       {layer.channels, layer.filters, layer.groups, layer.inputRows, layer.inputColumns,
        layer.rows, layer.columns, layer.kernelRows, layer.kernelColumns})
    if (extent < 1 || extent > kMostExtent)
      return fmt::format("an extent of {}", extent);
  if (layer.kernelRows * layer.kernelColumns > kMostWindow)
    return fmt::format("windows of {} products, of at most {}",
                       layer.kernelRows * layer.kernelColumns, kMostWindow);
  for (int64_t bits : {layer.weightBits, layer.activationBits})
    if (bits < 1 || bits > 1024)
      return fmt::format("numbers of {} bits", bits);
  if (layer.channels % layer.groups != 0 || layer.filters % layer.groups != 0)
    return fmt::format("{} groups do not divide {} channels and {} filters", layer.groups,
                       layer.channels, layer.filters);
  for (const DataflowZeros &zeros : layer.zeros)
    if (std::string wrong = checkZeros(zeros, layer.kernelRows * layer.kernelColumns);
        !wrong.empty())
      return wrong;
  return "";
}

} // namespace

double DataflowCycles::most() const { return std::max({products, input, output}); }

DataflowLimit DataflowCycles::limit() const {
  return products >= std::max(input, output) ? DataflowLimit::Products
         : input >= output                   ? DataflowLimit::Input
                                             : DataflowLimit::Output;
}

const char *name(DataflowLimit limit) {
  switch (limit) {
  case DataflowLimit::Products:
    return "products";
  case DataflowLimit::Input:
    return "input";
  case DataflowLimit::Output:
    return "output";
  }
  return "";
}

std::string check(const DataflowProblem &problem) {
  if (problem.layers.empty())
    return "there are no layers";
  if (problem.layers.size() > kMostLayers)
    return fmt::format("{} layers of at most {}", problem.layers.size(), kMostLayers);
  const DataflowFabric &fabric = problem.fabric;
  if (fabric.multipliers < 1 || fabric.multiplierRows < 1 || fabric.multiplierColumns < 1)
    return "the device has no multipliers";
  if (!(problem.hertz >= 1 && problem.hertz <= 1e12))
    return fmt::format("a clock of {} Hz", problem.hertz);
  for (const DataflowLayer &layer : problem.layers)
    if (std::string wrong = checkLayer(layer); !wrong.empty())
      return fmt::format("layer '{}': {}", layer.name, wrong);
  return "";
}

} // namespace accord
