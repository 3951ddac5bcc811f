// What of a layer's collectives products hide that run in pieces.
#include "lib/placement/builder/Layers.h"
#include <algorithm>

namespace accord {

int64_t ringOverlapTime(const WorkGraph &graph, const Dependences &deps, const Schedule &schedule, RegionId region) {
  std::map<OperationId, int64_t> takes;
  int64_t onCores = 0;
  for (const Slot &slot : schedule.regions[region].slots) {
    takes[slot.operation] = slot.duration.value;
    if (!graph.operations[slot.operation].communication)
      onCores += slot.duration.value;
  }
  std::set<OperationId> used;
  int64_t overlap = 0;
  for (const Slot &slot : schedule.regions[region].slots) {
    const Operation &op = graph.operations[slot.operation];
    if (!op.communication || op.communication->axis != "tensor" || op.communication->devices < 2)
      continue;
    // The longest product next to it that hides nothing yet; views in between take no time.
    OperationId best = kNone;
    for (const auto *next : {&deps.predecessors, &deps.successors}) {
      std::vector<OperationId> near = (*next)[slot.operation];
      for (size_t at = 0; at < near.size() && at < 64; ++at) {
        const Operation &other = graph.operations[near[at]];
        if (other.contraction) {
          if (!used.count(near[at]) && (best == kNone || takes[near[at]] > takes[best]))
            best = near[at];
        } else if (other.core == CoreKind::None && other.body == kNone) {
          std::vector<OperationId> further = (*next)[near[at]];
          near.insert(near.end(), further.begin(), further.end());
        }
      }
    }
    if (best == kNone)
      continue;
    used.insert(best);
    int64_t t = op.communication->devices;
    overlap += std::min(takes[best], slot.duration.value) / t * (t - 1);
  }
  return std::clamp<int64_t>(schedule.regions[region].length.value - onCores, 0, overlap);
}

} // namespace accord
