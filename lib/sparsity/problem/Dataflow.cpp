#include "lib/sparsity/problem/Dataflow.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kMaxExtent = int64_t(1) << 20;
constexpr int64_t kMaxWindow = 1024;
constexpr size_t kMaxLayers = 10'000;

std::string checkSparsity(const DataflowSparsity &sparsity, int64_t window) {
  if (sparsity.label == "dense")
    return "zeros must not be called 'dense'";
  if (std::ssize(sparsity.windows) != window + 1)
    return fmt::format("'{}' has {} shares of windows, not {}", sparsity.label, sparsity.windows.size(), window + 1);
  double sum = 0;
  for (double share : sparsity.windows) {
    if (!(share >= 0 && share <= 1))
      return fmt::format("'{}' has a share that is not from 0 to 1", sparsity.label);
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-9)
    return fmt::format("shares of '{}' have the sum {}, not 1", sparsity.label, sum);
  return sparsity.loss < 0 ? fmt::format("'{}' has a negative loss", sparsity.label) : "";
}

std::string checkLayer(const DataflowLayer &layer) {
  for (int64_t extent : {layer.channels, layer.filters, layer.groups, layer.inputRows, layer.inputColumns, layer.rows,
                         layer.columns, layer.kernelRows, layer.kernelColumns})
    if (extent < 1 || extent > kMaxExtent)
      return fmt::format("an extent of {}", extent);
  if (layer.kernelRows * layer.kernelColumns > kMaxWindow)
    return fmt::format("windows of {} products, of at most {}", layer.kernelRows * layer.kernelColumns, kMaxWindow);
  for (int64_t bits : {layer.weightBits, layer.activationBits})
    if (bits < 1 || bits > 1024)
      return fmt::format("numbers of {} bits", bits);
  if (layer.channels % layer.groups != 0 || layer.filters % layer.groups != 0)
    return fmt::format("{} groups do not divide {} channels and {} filters", layer.groups, layer.channels,
                       layer.filters);
  for (const DataflowSparsity &sparsity : layer.sparsity)
    if (std::string error = checkSparsity(sparsity, layer.kernelRows * layer.kernelColumns); !error.empty())
      return error;
  return "";
}

} // namespace

double DataflowCycles::max() const { return std::max({products, input, output}); }

DataflowBottleneck DataflowCycles::limit() const {
  return products >= std::max(input, output) ? DataflowBottleneck::Products
         : input >= output                   ? DataflowBottleneck::Input
                                             : DataflowBottleneck::Output;
}

const char *name(DataflowBottleneck limit) {
  constexpr const char *kNames[] = {"products", "input", "output"};
  return kNames[llvm::to_underlying(limit)];
}

std::string check(const DataflowProblem &problem) {
  if (problem.layers.empty())
    return "there are no layers";
  if (problem.layers.size() > kMaxLayers)
    return fmt::format("{} layers of at most {}", problem.layers.size(), kMaxLayers);
  const DataflowFabric &fabric = problem.fabric;
  if (fabric.multipliers < 1 || fabric.multiplierRows < 1 || fabric.multiplierColumns < 1)
    return "the device has no multipliers";
  if (!(problem.hertz >= 1 && problem.hertz <= 1e12))
    return fmt::format("a clock of {} Hz", problem.hertz);
  for (const DataflowLayer &layer : problem.layers)
    if (std::string error = checkLayer(layer); !error.empty())
      return fmt::format("layer '{}': {}", layer.name, error);
  return "";
}

} // namespace accord
