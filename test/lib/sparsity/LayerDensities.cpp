#include "test/lib/sparsity/LayerDensities.h"
#include "lib/sparsity/cost/TrainingSparsity.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>

namespace accord {
namespace {

std::optional<Error> check(const std::vector<MaskedLayer> &layers, double density) {
  if (layers.empty())
    return Error{Code::NotSkipped, "no layer has weights that a mask could have zeros in", {}, {}};
  if (!(density >= 0 && density <= 1))
    return Error{Code::NotSkipped, fmt::format("a density is {}; it is a share from 0 to 1", density), {}, {}};
  for (const MaskedLayer &layer : layers)
    if (layer.dims.empty() || !(layer.count >= 1) ||
        std::any_of(layer.dims.begin(), layer.dims.end(), [](int64_t dim) { return dim < 1; }))
      return Error{Code::NotSkipped, fmt::format("layer '{}' has no elements", layer.name), {}, {}};
  return std::nullopt;
}

/// Elements of each dimension of a tensor, those of a single one left out.
std::vector<int64_t> dimsOf(const LoopTensor &tensor, const std::vector<Loop> &domain) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < tensor.dimensions.size(); ++d) {
    int64_t size = d < tensor.sizes.size() ? tensor.sizes[d] : 0;
    if (size < 1) {
      size = 1;
      for (const LoopTensor::Term &term : tensor.dimensions[d])
        size += std::abs(term.stride) * (domain[term.loop].extent - 1);
    }
    dims.push_back(size);
  }
  return dims;
}

/// Densities of the layers' own operations and of those that are named after one: "x", "x.data_gradient".
class Densities {
public:
  Densities(const WorkGraph &graph, const std::vector<MaskedLayer> &layers, const std::vector<double> &densities) {
    for (size_t i = 0; i < layers.size() && i < densities.size(); ++i)
      byName_[graph.operations[layers[i].operation].name] = densities[i];
  }
  /// 1 of what is no contraction of a layer.
  double of(const Operation &op) const {
    if (!op.contraction)
      return 1;
    for (const std::string &name : namedAfter(op.name))
      if (auto layer = byName_.find(name); layer != byName_.end())
        return layer->second;
    return 1;
  }

private:
  std::map<std::string, double> byName_;
};

double flopsOf(const WorkGraph &graph, OperationId id) {
  return static_cast<double>(graph.operations[id].flops) * graph.executions(id);
}

} // namespace

double MaskedLayer::elements() const {
  return std::accumulate(dims.begin(), dims.end(), 1.0, [](double all, int64_t dim) { return all * dim; });
}

std::vector<MaskedLayer> maskedLayers(const WorkGraph &graph) {
  std::vector<MaskedLayer> layers;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.phase != Phase::Forward)
      continue;
    auto product = productOf(graph, op);
    if (!product)
      continue;
    double executions = static_cast<double>(graph.executions(id)) / std::max<int64_t>(1, graph.microbatches);
    layers.push_back({id, op.name, dimsOf(op.tensors[product->stationary], op.domain), executions});
  }
  return layers;
}

Result<std::vector<double>> erkDensities(const std::vector<MaskedLayer> &layers, double density) {
  if (auto error = check(layers, density))
    return *error;
  std::vector<double> result(layers.size(), 0.0);
  std::vector<bool> whole(layers.size(), false);
  double elements = 0;
  for (const MaskedLayer &layer : layers)
    elements += layer.count * layer.elements();
  for (;;) {
    double kept = density * elements, weight = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (whole[i])
        kept -= layers[i].count * layers[i].elements();
      else // its elements times sum / product
        weight += layers[i].count * std::accumulate(layers[i].dims.begin(), layers[i].dims.end(), int64_t{0});
    }
    bool more = false;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (whole[i])
        continue;
      const auto sum = static_cast<double>(std::accumulate(layers[i].dims.begin(), layers[i].dims.end(), int64_t{0}));
      result[i] = kept / weight * (sum / layers[i].elements());
      if (result[i] >= 1) {
        result[i] = 1;
        more = whole[i] = true;
      }
    }
    if (!more)
      break;
  }
  return result;
}

Result<std::vector<double>> uniformDensities(const std::vector<MaskedLayer> &layers, double density) {
  if (auto error = check(layers, density))
    return *error;
  std::vector<double> result(layers.size(), density);
  result.front() = 1;
  return result;
}

MaskedFlops inferenceFlops(const WorkGraph &graph, const std::vector<MaskedLayer> &layers,
                           const std::vector<double> &densities) {
  const Densities left(graph, layers, densities);
  MaskedFlops flops;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.phase != Phase::Forward || op.body != kNone)
      continue;
    double each = flopsOf(graph, id);
    if (op.kind == "batch_norm") {
      each = static_cast<double>(graph.executions(id));
      for (const Loop &loop : op.domain)
        each *= loop.extent;
    }
    flops.dense += each;
    flops.masked += each * left.of(op);
  }
  return flops;
}

MaskedFlops trainingFlops(const WorkGraph &graph, const std::vector<MaskedLayer> &layers,
                          const std::vector<double> &densities, bool contractionsAlone) {
  const Densities left(graph, layers, densities);
  MaskedFlops flops;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone || (contractionsAlone && !op.contraction))
      continue;
    const double each = flopsOf(graph, id);
    flops.dense += each;
    flops.masked += each * left.of(op);
  }
  return flops;
}

} // namespace accord
