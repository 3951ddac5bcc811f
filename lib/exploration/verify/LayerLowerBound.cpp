#include "lib/exploration/verify/LayerLowerBound.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace accord {
namespace {

using Classes = std::map<std::string, uint32_t>;

/// Of the longest name that it begins with, up to a dot.
const uint32_t *named(const Classes &classes, std::string name) {
  for (size_t end = name.size(); end != std::string::npos; end = name.rfind('.')) {
    name.resize(end);
    if (auto found = classes.find(name); found != classes.end())
      return &found->second;
  }
  return nullptr;
}

uint32_t ownerOf(const Classes &classes, const WorkGraph &graph, const std::string &parameter) {
  if (const uint32_t *cls = named(classes, parameter))
    return *cls;
  size_t dot = parameter.rfind('.'), from = dot == std::string::npos ? 0 : dot + 1;
  std::string scope = parameter.substr(0, from), end = "." + parameter.substr(from) + "_gradient";
  uint32_t first = kNone;
  for (const Operation &op : graph.operations)
    if (op.name.size() > end.size() && op.name.starts_with(scope) && op.name.ends_with(end))
      if (const uint32_t *cls = named(classes, op.name))
        first = std::min(first, *cls);
  return first == kNone ? 0 : first;
}

bool isGradient(const WorkGraph &graph, OperationId id) {
  const Operation &op = graph.operations[id];
  if (op.phase == Phase::DataGradient || op.phase == Phase::WeightGradient || op.phase == Phase::Recompute)
    return true;
  if (op.body == kNone)
    return false;
  const auto &inner = graph.regions[op.body].operations;
  return std::any_of(inner.begin(), inner.end(), [&](OperationId one) { return isGradient(graph, one); });
}

/// Of what an iteration of a repeat stashes. What the next one stashes as its argument counts once.
int64_t stashedBytes(const WorkGraph &graph, const Dependences &deps, RegionId region) {
  const Region &body = graph.regions[region];
  std::set<ValueId> stashed;
  for (const Region::Slice &slice : body.stashed)
    stashed.insert(deps.root[slice.inside]);
  for (const Region::Carried &carried : body.carried)
    if (deps.root[carried.argument] != deps.root[carried.yielded] && stashed.count(deps.root[carried.argument]))
      stashed.erase(deps.root[carried.yielded]);
  int64_t bytes = 0;
  for (ValueId root : stashed) {
    const Value &value = graph.values[root];
    if (value.region == region && value.category != Category::Weights && value.category != Category::Gradients &&
        value.category != Category::OptimizerStates)
      bytes += value.bytes;
  }
  return bytes;
}

std::string parameterOf(const std::string &update) { return update.substr(0, update.rfind(".update")); }

} // namespace

StepLayers::StepLayers(const WorkGraph &graph, const PlacementProblem &problem, const Classes &classOf)
    : floor_(graph), counts_(problem.classes.size()), bytes_(problem.classes.size()) {
  for (const PlacementProblem::Layer &layer : problem.layers)
    ++counts_[layer.of];
  for (double &count : counts_)
    count = std::max(count, 1.0);
  for (const Operation &op : graph.operations)
    again_ |= op.phase == Phase::Recompute;
  addMicrobatch(graph, classOf);
  addUpdate(graph, classOf);
}

void StepLayers::addMicrobatch(const WorkGraph &graph, const Classes &classOf) {
  Dependences deps = Dependences::of(graph);
  std::vector<bool> behind(graph.operations.size()); // the first gradient, or one that it depends on
  std::map<OperationId, uint32_t> known;
  bool gradients = false;
  for (OperationId id : graph.regions[kMicrobatchRegion].operations) {
    const Operation &op = graph.operations[id];
    gradients |= isGradient(graph, id);
    behind[id] = gradients;
    uint32_t first = kNone, last = 0;
    for (OperationId before : deps.predecessors[id]) {
      behind[id] = behind[id] || behind[before];
      if (auto at = known.find(before); at != known.end())
        first = std::min(first, at->second), last = std::max(last, at->second);
    }
    const uint32_t *mine = named(classOf, op.name);
    uint32_t cls = mine ? *mine : first == kNone ? 0 : behind[id] ? first : last;
    known[id] = cls;
    parts_.push_back({cls, behind[id] ? &LayerLowerBound::backward : &LayerLowerBound::forward});
    if (!behind[id] && op.body != kNone && graph.regions[op.body].count == counts_[cls])
      bytes_[cls].activations += stashedBytes(graph, deps, op.body);
  }
}

void StepLayers::addUpdate(const WorkGraph &graph, const Classes &classOf) {
  std::set<std::string> tables;
  for (OperationId id : graph.regions[kUpdateRegion].operations) {
    const Operation &op = graph.operations[id];
    std::string parameter = parameterOf(op.name);
    parts_.push_back({ownerOf(classOf, graph, parameter), &LayerLowerBound::update});
    if (op.kind == "update_rows")
      tables.insert(parameter);
  }
  for (const StaticTensor &resident : graph.staticTensors) {
    if (resident.quantized) // neither gathered nor in the host's memory; a bound may leave it out
      continue;
    uint32_t cls = ownerOf(classOf, graph, resident.name);
    LayerLowerBound &of = bytes_[cls];
    auto bytes = static_cast<int64_t>(resident.bytes / counts_[cls]);
    (resident.category == Category::Weights     ? of.weights
     : resident.category == Category::Gradients ? of.gradients
                                                : of.states) += bytes;
    if (resident.category == Category::Gradients && tables.count(resident.name))
      of.rows += bytes;
  }
}

std::vector<LayerLowerBound> StepLayers::lowerBound(const Machine &machine, const Costs *prices) {
  floor_.times(machine, prices, seconds_);
  std::vector<std::array<double, 3>> sums(bytes_.size());
  for (size_t i = 0; i < parts_.size();
       ++i) // one of each operation of a micro-batch and of the update, as `times` has them
    sums[parts_[i].cls][parts_[i].into == &LayerLowerBound::forward    ? 0
                        : parts_[i].into == &LayerLowerBound::backward ? 1
                                                                       : 2] += seconds_[i];
  std::vector<LayerLowerBound> layers = bytes_;
  auto picoseconds = [](double seconds) { return static_cast<int64_t>(std::floor(std::min(seconds * 1e12, 0x1p61))); };
  for (size_t c = 0; c < layers.size(); ++c) {
    layers[c].forward = picoseconds(sums[c][0] / counts_[c]);
    layers[c].backward = picoseconds(sums[c][1] / counts_[c]);
    layers[c].update = picoseconds(sums[c][2] / counts_[c]);
  }
  return layers;
}

} // namespace accord
