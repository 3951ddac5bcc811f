// Device memory that a step takes in whatever order its operations run.
#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <set>

namespace accord {

double StepLowerBound::minBytes() const {
  double staticTensors = 0;
  for (const StaticTensor &resident : graph_.staticTensors)
    staticTensors += resident.bytes;
  const std::vector<Item> &items = regions_[kMicrobatchRegion];
  Dependences deps = Dependences::of(graph_);
  std::vector<std::vector<bool>> before(items.size(), std::vector<bool>(items.size()));
  std::map<OperationId, size_t> place;
  for (size_t i = 0; i < items.size(); ++i) {
    place[items[i].operation] = i;
    for (uint32_t other : items[i].before) {
      before[i][other] = true;
      for (size_t j = 0; j < other; ++j)
        if (before[other][j])
          before[i][j] = true;
    }
  }
  // Slices may share storage: what repeats stack or hand on is left out.
  std::set<ValueId> out;
  for (const Region &region : graph_.regions) {
    for (const Region::Carried &carried : region.carried)
      out.insert(carried.result);
    std::set<ValueId> inside;
    for (const Region::Slice &slice : region.stashed) {
      ValueId root = deps.root[slice.inside];
      bool made = deps.producer[root] != kNone && graph_.values[root].region == graph_.values[slice.inside].region;
      if (!made || !inside.insert(root).second)
        out.insert(slice.stacked);
    }
  }
  std::vector<double> alive(items.size());
  std::map<ValueId, std::vector<size_t>> readers;
  for (size_t i = 0; i < items.size(); ++i)
    for (ValueId used : deps.uses[items[i].operation])
      readers[deps.root[used]].push_back(i);
  for (size_t maker = 0; maker < items.size(); ++maker)
    for (ValueId made : graph_.operations[items[maker].operation].results) {
      const Value &value = graph_.values[made];
      bool resident = value.category == Category::Weights || value.category == Category::Gradients ||
                      value.category == Category::OptimizerStates;
      if (resident || deps.root[made] != made || out.count(made))
        continue;
      auto read = readers.find(made);
      for (size_t x = 0; x < items.size() && read != readers.end(); ++x) {
        bool there = before[x][maker] || (x == maker && value.slices <= 1);
        if (there &&
            std::any_of(read->second.begin(), read->second.end(), [&](size_t reader) { return before[reader][x]; }))
          alive[x] += value.bytes;
      }
    }
  return staticTensors + (alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end()));
}

} // namespace accord
