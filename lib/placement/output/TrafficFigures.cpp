#include "lib/placement/output/TrafficFigures.h"
#include "lib/placement/output/PlacementFigures.h"
#include <map>
#include <numeric>

namespace accord {

double LinkFigures::total() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

TrafficFigures trafficFiguresOf(const PlacementPlan &plan) {
  const LinkTraffic &traffic = *plan.traffic;
  PlacementFigures figures = figuresOf(plan);
  TrafficFigures all;
  all.links.resize(traffic.links.size());
  std::vector<std::map<int64_t, double>> carried(traffic.links.size()); // bytes, by first rank of those that share it
  std::vector<std::map<uint32_t, double>> each(traffic.links.size());   // of one device, by group
  for (const LinkTraffic::Flow &flow : traffic.flows) {
    auto devices = static_cast<double>(figures.groups[flow.group].devices);
    all.links[flow.link].bytes[static_cast<size_t>(flow.kind)] += flow.bytes * devices;
    each[flow.link][flow.group] += flow.bytes;
  }
  for (size_t l = 0; l < traffic.links.size(); ++l) {
    int64_t sharing = traffic.links[l].devices;
    for (auto [g, bytes] : each[l]) {
      const GroupFigures &group = figures.groups[g];
      int64_t tensor = plan.problem.parallelConfigs[group.parallelConfig].tensor;
      for (int64_t replica = 0; replica * tensor < group.devices; ++replica)
        for (int64_t at = group.first + replica * group.stride, end = at + tensor; at < end;) {
          int64_t link = at / sharing * sharing, next = std::min(end, link + sharing);
          carried[l][link] += bytes * static_cast<double>(next - at);
          at = next;
        }
    }
    LinkFigures &of = all.links[l];
    of.used = static_cast<int64_t>(carried[l].size());
    for (auto [rank, bytes] : carried[l])
      if (bytes > of.busiestBytes * (1 + 1e-12))
        of.busiestRank = rank, of.busiestBytes = bytes;
    double capacity = traffic.links[l].bandwidth * figures.seconds;
    of.utilization = capacity > 0 ? of.busiestBytes / capacity : 0;
    if (of.busiestBytes > 0 && (!all.busiestLink || of.utilization > all.links[*all.busiestLink].utilization))
      all.busiestLink = l;
  }
  return all;
}

} // namespace accord
