#include "lib/placement/builder/MinLayerUse.h"
#include <algorithm>
#include <cmath>

namespace accord {

MinLayerUse::MinLayerUse(const Layering &layering, const WorkGraph &graph) : bytes_(layering.classes.size()) {
  for (const Layering::Class &one : layering.classes)
    counts_.push_back(one.count);
  Dependences deps = Dependences::of(graph);
  const std::vector<OperationId> &all = graph.regions[kMicrobatchRegion].operations;
  std::vector<layers::Part> parts = layers::partsOf(layering, graph, deps);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto &[cls, backward] = parts[i];
    shares_.push_back({cls, backward ? &LayerUse::backward : &LayerUse::forward});
    const Operation &op = graph.operations[all[i]];
    if (backward || op.body == kNone || !layering.classes[cls].iterated)
      continue;
    for (ValueId root : layers::stashed(graph, deps, op.body))
      if (graph.values[root].region == op.body && layers::counts(graph.values[root]))
        bytes_[cls].activations += graph.values[root].bytes;
  }
  for (OperationId id : graph.regions[kUpdateRegion].operations) {
    const std::string &name = graph.operations[id].name;
    std::vector<uint32_t> owners = layers::ownersOf(layering, graph, name.substr(0, name.rfind(".update")));
    // Replicas exchange gradients elsewhere.
    shares_.push_back({owners.front(), graph.operations[id].communication ? nullptr : &LayerUse::update});
  }
  for (const StaticTensor &resident : graph.staticTensors) {
    uint32_t owner = layers::ownersOf(layering, graph, resident.name).front();
    int64_t share = resident.bytes / layering.classes[owner].count;
    LayerUse &use = bytes_[owner];
    (resident.category == Category::Weights     ? use.weights
     : resident.category == Category::Gradients ? use.gradients
                                                : use.states) += share;
  }
}

std::vector<LayerUse> MinLayerUse::of(const std::vector<double> &seconds) const {
  std::vector<std::array<double, 3>> sums(bytes_.size()); // forward, backward, update
  for (size_t i = 0; i < shares_.size(); ++i)
    if (auto into = shares_[i].into)
      sums[shares_[i].cls][into == &LayerUse::forward ? 0 : into == &LayerUse::backward ? 1 : 2] += seconds[i];
  std::vector<LayerUse> uses = bytes_;
  auto picoseconds = [](double time) { return static_cast<int64_t>(std::floor(std::min(time * 1e12, 0x1p61))); };
  for (size_t c = 0; c < uses.size(); ++c) {
    uses[c].forward = picoseconds(sums[c][0] / counts_[c]);
    uses[c].backward = picoseconds(sums[c][1] / counts_[c]);
    uses[c].update = picoseconds(sums[c][2] / counts_[c]);
  }
  return uses;
}

} // namespace accord
