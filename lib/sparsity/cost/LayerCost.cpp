#include "lib/sparsity/cost/LayerCost.h"
#include <algorithm>
#include <map>

namespace accord {
bool updatesWeights(const Operation &op, const PrunedLayer &layer) {
  double elements = op.domain.empty() ? 0 : 1;
  for (const Loop &loop : op.domain)
    elements *= loop.extent;
  return elements >= static_cast<double>(layer.weights.outputs) * layer.weights.reduction;
}

std::vector<PrunedLayer> prunedLayers(const WorkGraph &graph) {
  std::vector<PrunedLayer> layers;
  std::map<std::string, size_t> byName;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.phase != Phase::Forward)
      continue;
    auto product = productOf(graph, op);
    if (!product)
      continue;
    byName[op.name] = layers.size();
    layers.push_back({op.name, id, {}, {product->columns, product->depth}, product->stationaryBits});
    layers.back().weights.outputs *= product->batch; // groups of a convolution have weights of their own
  }
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone || op.core == CoreKind::None || op.communication)
      continue;
    for (const std::string &name : namedAfter(op.name))
      if (auto layer = byName.find(name); layer != byName.end()) {
        layers[layer->second].operations.push_back(id);
        break;
      }
  }
  return layers;
}

Result<LayerCost> layerCost(const WorkGraph &graph, const Machine &machine, const Costs &costs,
                            const PrunedLayer &layer, const LinearSparsity &sparsity, double confidence) {
  LayerCost result;
  for (OperationId id : layer.operations) {
    if (id >= costs.operations.size() || costs.operations[id].core < 0)
      continue;
    // A bias has no mask.
    const Operation &op = graph.operations[id];
    const bool other = op.phase == Phase::Update && !updatesWeights(op, layer);
    auto cost = sparseCost(graph, op, machine, costs.operations[id], other ? LinearSparsity{} : sparsity, confidence);
    if (!cost)
      return cost.takeError();
    SparseCost &one = *cost;
    const auto times = static_cast<double>(graph.executions(id));
    result.time += one.mean.time * times;
    result.quantile += one.quantile * times;
    result.energy += one.mean.energy * times;
    result.quantileEnergy += one.quantileEnergy * times;
    if (!one.mean.bytes.empty())
      result.moved += one.mean.bytes[0] * times;
    result.metadata += one.metadata * times;
    result.sampled |= one.sampled;
    result.used |= one.used;
    result.parts.emplace_back(id, std::move(one));
  }
  // All iterations of the repeats around it have weights of their own; micro-batches use the same.
  const double copies = static_cast<double>(graph.executions(layer.forward)) / std::max<int64_t>(1, graph.microbatches);
  const double dense =
      static_cast<double>(layer.weights.outputs) * layer.weights.reduction * layer.weightBits / 8 * copies;
  double kept = dense;
  const int core = layer.forward < costs.operations.size() ? costs.operations[layer.forward].core : -1;
  for (const auto &[id, part] : result.parts)
    if (id == layer.forward && core >= 0 && machine.cores[core].sparse &&
        machine.cores[core].sparse->stationary.compress && part.stationary.value > 0)
      kept = part.stationary.value * copies;
  if (sparsity.weights.pattern.dynamic && kept != dense)
    kept += dense;
  result.weights = Bytes(kept);
  return result;
}

} // namespace accord
