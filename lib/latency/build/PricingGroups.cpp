// Which plans of several parallel degrees have the same operations.
#include "lib/latency/build/ClusterBuilder.h"
#include <algorithm>

namespace accord {

static bool sameLoops(const std::vector<Loop> &a, const std::vector<Loop> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Loop &x, const Loop &y) { return x.extent == y.extent && x.kind == y.kind; });
}

bool sameWork(const WorkGraph &a, const WorkGraph &b) {
  if (a.operations.size() != b.operations.size() || a.regions.size() != b.regions.size() ||
      a.values.size() != b.values.size() || a.staticTensors.size() != b.staticTensors.size())
    return false;
  for (size_t i = 0; i < a.operations.size(); ++i) {
    const Operation &x = a.operations[i], &y = b.operations[i];
    if (x.name != y.name || x.kind != y.kind || x.region != y.region || x.core != y.core || x.type != y.type ||
        x.flops != y.flops || x.bytesRead != y.bytesRead || x.bytesWritten != y.bytesWritten ||
        x.operands != y.operands || x.results != y.results || !sameLoops(x.domain, y.domain) ||
        x.parts.size() != y.parts.size() || x.communication.has_value() != y.communication.has_value())
      return false;
    for (size_t p = 0; p < x.parts.size(); ++p)
      if (x.parts[p].flops != y.parts[p].flops || !sameLoops(x.parts[p].domain, y.parts[p].domain))
        return false;
    if (x.communication &&
        (x.communication->kind != y.communication->kind || x.communication->axis != y.communication->axis ||
         x.communication->payload != y.communication->payload))
      return false;
  }
  for (size_t i = 0; i < a.regions.size(); ++i)
    if (a.regions[i].count != b.regions[i].count)
      return false;
  for (size_t i = 0; i < a.values.size(); ++i)
    if (a.values[i].bytes != b.values[i].bytes)
      return false;
  for (size_t i = 0; i < a.staticTensors.size(); ++i)
    if (a.staticTensors[i].bytes != b.staticTensors[i].bytes)
      return false;
  return true;
}

std::vector<PricingGroup> pricingGroups(const ClusterJob &job,
                                        const std::function<bool(const DegreePlan &, const DegreePlan &)> &same) {
  std::vector<const DegreePlan *> sorted;
  for (const DegreePlan &one : job.plans)
    sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const DegreePlan *a, const DegreePlan *b) {
    return std::pair(a->tensor, a->data) < std::pair(b->tensor, b->data);
  });
  std::vector<PricingGroup> groups;
  for (const DegreePlan *one : sorted) {
    auto found = std::find_if(groups.begin(), groups.end(), [&](const PricingGroup &group) {
      const DegreePlan &first = *group.plans.front();
      return group.tensor == one->tensor && first.plan.graph.operations.size() == one->plan.graph.operations.size() &&
             same(first, *one);
    });
    if (found == groups.end())
      groups.push_back({one->tensor, {one}});
    else
      found->plans.push_back(one);
  }
  return groups;
}

} // namespace accord
