#include "lib/sparsity/cost/ErdosRenyi.h"
#include "lib/sparsity/cost/Occupancy.h"
#include <algorithm>
#include <cmath>

namespace accord {

ErdosRenyiLayer erdosRenyiLayer(const WorkGraph &graph, OperationId operation, size_t stationary) {
  const Operation &op = graph.operations[operation];
  const LoopTensor &tensor = op.tensors[stationary];
  ErdosRenyiLayer layer;
  layer.elements = 1;
  for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
    double size = d < tensor.sizes.size() ? number(tensor.sizes[d]) : 0;
    if (size < 1) {
      size = 1;
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        size += std::abs(number(term.stride)) * (number(op.domain[term.loop].extent) - 1);
    }
    layer.sum += size, layer.elements *= size;
  }
  layer.copies = double(graph.executions(operation)) / std::max(1.0, number(graph.microbatches));
  return layer;
}

std::vector<double> erdosRenyiDensities(const std::vector<ErdosRenyiLayer> &layers, double density) {
  std::vector<double> densities(layers.size(), 1.0);
  double elements = 0;
  for (const ErdosRenyiLayer &layer : layers)
    elements += layer.copies * layer.elements;
  std::vector<size_t> open(layers.size());
  for (size_t i = 0; i < open.size(); ++i)
    open[i] = i;
  // What is to be kept of layers below 1; each round takes those that reach 1 out.
  double kept = density * elements;
  while (!open.empty()) {
    double sums = 0;
    for (size_t i : open)
      sums += layers[i].copies * layers[i].sum;
    const double factor = std::max(0.0, kept) / sums;
    std::vector<size_t> below;
    for (size_t i : open) {
      densities[i] = std::min(1.0, factor * layers[i].sum / layers[i].elements);
      if (densities[i] < 1)
        below.push_back(i);
      else
        kept -= layers[i].copies * layers[i].elements;
    }
    if (below.size() == open.size())
      break;
    open = std::move(below);
  }
  return densities;
}

} // namespace accord
