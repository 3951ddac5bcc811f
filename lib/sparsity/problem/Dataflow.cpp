#include "lib/sparsity/problem/Dataflow.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kMaxExtent = int64_t(1) << 20;
constexpr int64_t kMaxWindow = 1024;
constexpr int64_t kMaxResources = int64_t(1) << 40;
constexpr size_t kMaxLayers = 10'000, kMaxDetours = 100;

std::string checkShares(const std::string &label, const std::vector<double> &windows, int64_t window) {
  if (std::ssize(windows) != window + 1)
    return fmt::format("'{}' has {} shares of windows, not {}", label, windows.size(), window + 1);
  double sum = 0;
  for (double share : windows) {
    if (!(share >= 0 && share <= 1))
      return fmt::format("'{}' has a share that is not from 0 to 1", label);
    sum += share;
  }
  return std::abs(sum - 1) > 1e-9 ? fmt::format("shares of '{}' have the sum {}, not 1", label, sum) : "";
}

std::string checkSparsity(const DataflowSparsity &sparsity, int64_t window, int64_t channels) {
  if (sparsity.label == "dense")
    return "zeros must not be called 'dense'";
  if (std::string error = checkShares(sparsity.label, sparsity.windows, window); !error.empty())
    return error;
  if (!sparsity.channels.empty() && std::ssize(sparsity.channels) != channels)
    return fmt::format("'{}' has histograms of {} channels of {}", sparsity.label, sparsity.channels.size(), channels);
  for (const std::vector<double> &windows : sparsity.channels)
    if (std::string error = checkShares(sparsity.label, windows, window); !error.empty())
      return error;
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
    if (std::string error = checkSparsity(sparsity, layer.kernelRows * layer.kernelColumns, layer.channels);
        !error.empty())
      return error;
  if (layer.detours.size() > kMaxDetours)
    return fmt::format("more than {} detours", kMaxDetours);
  for (const DataflowDetour &detour : layer.detours)
    for (int64_t extent : {detour.rows, detour.columns, detour.channels, detour.bits})
      if (extent < 1 || extent > kMaxExtent)
        return fmt::format("a detour with an extent of {}", extent);
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

const char *name(WeightPlace place) {
  constexpr const char *kNames[] = {"block_ram", "ultra_ram", "streamed"};
  return kNames[llvm::to_underlying(place)];
}

double transferCycles(const DataflowProblem &problem, int64_t bits) {
  const double bytesPerSecond = problem.resources.bytesPerSecond;
  return bytesPerSecond > 0 ? static_cast<double>(bits) / 8 * problem.hertz / bytesPerSecond : 0;
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
  const FabricResources &resources = problem.resources;
  if (std::min({resources.blockRams, resources.ultraRams, resources.luts}) < 0 ||
      std::max({resources.blockRams, resources.ultraRams, resources.luts}) > kMaxResources)
    return fmt::format("a device with less than none or more than {} memories or look-up tables", kMaxResources);
  if (!(resources.bytesPerSecond >= 0 && resources.bytesPerSecond <= 1e18))
    return fmt::format("a memory of {} bytes a second", resources.bytesPerSecond);
  for (const DataflowLayer &layer : problem.layers)
    if (std::string error = checkLayer(layer); !error.empty())
      return fmt::format("layer '{}': {}", layer.name, error);
  return "";
}

} // namespace accord
