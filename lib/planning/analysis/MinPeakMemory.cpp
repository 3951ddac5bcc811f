#include "lib/planning/analysis/MinPeakMemory.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <map>
#include <set>

namespace accord {

namespace {

/// Who comes before whom takes a bit for each pair.
constexpr size_t kMaxOperations = 20'000;

/// By operation of a micro-batch: itself and those before it.
std::vector<std::vector<bool>> ancestorsOf(const std::vector<OperationId> &operations, const Dependences &deps) {
  size_t n = operations.size();
  std::map<OperationId, size_t> place;
  for (size_t i = 0; i < n; ++i)
    place[operations[i]] = i;
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n));
  for (size_t i = 0; i < n; ++i) {
    before[i][i] = true;
    for (OperationId other : deps.predecessors[operations[i]])
      if (auto found = place.find(other); found != place.end())
        for (size_t j = 0; j < n; ++j)
          if (before[found->second][j])
            before[i][j] = true;
  }
  return before;
}

/// Operations of a micro-batch by their position.
struct Held {
  size_t maker;
  std::vector<size_t> readers;
};

/// By root: values that operations of a micro-batch make, and no other value shares storage with.
std::map<ValueId, Held> heldValues(const WorkGraph &graph, const std::vector<OperationId> &operations,
                                   const Dependences &deps) {
  std::map<ValueId, Held> held;
  for (size_t i = 0; i < operations.size(); ++i)
    for (ValueId result : graph.operations[operations[i]].results) {
      const Value &value = graph.values[result];
      if (deps.root[result] == result && value.category != Category::Weights && value.category != Category::Gradients &&
          value.category != Category::OptimizerStates)
        held[result].maker = i;
    }
  // Slices of one value, or of what goes from one iteration to the next, may be stored once.
  for (const Region &body : graph.regions) {
    for (const Region::Carried &carried : body.carried)
      held.erase(carried.result);
    std::set<ValueId> inside;
    for (const Region::Slice &slice : body.stashed) {
      ValueId root = deps.root[slice.inside];
      bool made = deps.producer[root] != kNone && graph.values[root].region == graph.values[slice.inside].region;
      if (!made || !inside.insert(root).second)
        held.erase(slice.stacked);
    }
  }
  for (size_t i = 0; i < operations.size(); ++i)
    for (ValueId used : deps.uses[operations[i]])
      if (auto found = held.find(deps.root[used]); found != held.end())
        found->second.readers.push_back(i);
  return held;
}

} // namespace

double minPeakMemory(const WorkGraph &graph) {
  double staticTensors = 0;
  for (const StaticTensor &resident : graph.staticTensors)
    staticTensors += resident.bytes;
  if (graph.regions.empty())
    return staticTensors;
  Dependences deps = Dependences::of(graph);
  const std::vector<OperationId> &operations = graph.regions[kMicrobatchRegion].operations;
  if (operations.size() > kMaxOperations)
    return staticTensors;
  std::vector<std::vector<bool>> before = ancestorsOf(operations, deps);
  std::map<ValueId, Held> held = heldValues(graph, operations, deps);
  size_t n = operations.size();
  std::vector<double> alive(n);
  for (const auto &[root, one] : held) {
    const Value &value = graph.values[root];
    bool stack = value.slices > 1;
    for (size_t x = 0; x < n; ++x) {
      if (!before[x][one.maker] || (stack && x == one.maker))
        continue;
      if (std::any_of(one.readers.begin(), one.readers.end(),
                      [&](size_t reader) { return reader != x && before[reader][x]; }))
        alive[x] += value.bytes;
    }
  }
  return staticTensors + (n ? *std::max_element(alive.begin(), alive.end()) : 0);
}

} // namespace accord
