#include "lib/sparsity/solve/DataflowLayers.h"
#include "lib/machine/array/Convolution.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kMaxLayers = 10'000;

/// The positions that a tensor has in a dimension.
int64_t sizeOf(const LoopTensor &tensor, size_t dimension, const std::vector<Loop> &domain) {
  if (dimension < tensor.sizes.size())
    return tensor.sizes[dimension];
  int64_t reach = 1;
  for (const LoopTensor::Term &term : tensor.dimensions[dimension])
    reach += (domain[term.loop].extent - 1) * std::abs(term.stride);
  return reach;
}

std::optional<DataflowLayer> layerOf(const std::string &name, const std::vector<Loop> &domain,
                                     const std::vector<LoopTensor> &tensors, int64_t images) {
  std::optional<Convolution> conv = convolutionOf(domain, tensors);
  if (!conv || tensors.size() < 2)
    return std::nullopt;
  DataflowLayer layer;
  layer.name = name;
  layer.groups = conv->groups;
  layer.channels = conv->groups * conv->channels;
  layer.filters = conv->groups * conv->filters;
  layer.kernelRows = conv->filterRows;
  layer.kernelColumns = conv->filterCols;
  layer.rows = conv->outRows;
  layer.columns = conv->outCols;
  // Images are lines more; of a batch each image has its part of them.
  int64_t lines = std::max<int64_t>(1, conv->images);
  if ((lines * layer.columns) % images != 0)
    return std::nullopt;
  layer.columns = lines * layer.columns / images;
  const LoopTensor &input = tensors.front();
  layer.activationBits = input.elementBits;
  layer.weightBits = tensors[1].elementBits;
  std::vector<int64_t> window;
  int64_t words = 1;
  for (size_t d = 0; d < input.dimensions.size(); ++d) {
    int64_t size = std::max<int64_t>(1, sizeOf(input, d, domain));
    words *= size;
    if (input.dimensions[d].size() == 2)
      window.push_back(size);
  }
  if (window.size() == 2) {
    layer.inputRows = window[0];
    layer.inputColumns = window[1];
  } else {
    layer.inputColumns = std::max<int64_t>(1, words / images / layer.channels);
  }
  return layer;
}

} // namespace

std::vector<DataflowLayer> dataflowLayers(const WorkGraph &graph, std::string &error) {
  std::vector<DataflowLayer> out;
  auto add = [&](const std::string &name, const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors,
                 int64_t count) {
    std::optional<DataflowLayer> layer = layerOf(name, domain, tensors, std::max<int64_t>(1, graph.microbatch));
    if (!layer)
      error = fmt::format("operation '{}' is no product of activations and weights", name);
    else if (static_cast<int64_t>(out.size()) + count > kMaxLayers)
      error = fmt::format("more than {} layers", kMaxLayers);
    for (int64_t i = 0; error.empty() && i < count; ++i) {
      out.push_back(*layer);
      if (i > 0)
        out.back().name = fmt::format("{} #{}", name, i + 1);
    }
  };
  for (const Operation &op : graph.operations) {
    if (op.phase != Phase::Forward)
      continue;
    int64_t count = 1;
    for (RegionId r = op.region; r != kNone && count <= kMaxLayers; r = graph.regions[r].parent)
      count *= std::max<int64_t>(1, graph.regions[r].parent == kNone ? 1 : graph.regions[r].count);
    if (op.parts.empty() && op.contraction)
      add(op.name, op.domain, op.tensors, count);
    for (const FusedPart &part : op.parts)
      if (part.contraction)
        add(part.name, part.domain, part.tensors, count);
  }
  if (!error.empty())
    out.clear();
  return out;
}

} // namespace accord
