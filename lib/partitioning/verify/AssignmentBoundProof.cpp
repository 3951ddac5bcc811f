#include "lib/partitioning/verify/AssignmentBoundProof.h"
#include <algorithm>
#include <map>
#include <set>

namespace accord::partitioning {
namespace {

using Id = PartitioningProblem::Id;

/// Groups around which a flow is looked for.
constexpr size_t kLongGroups = 16;

class Divisions {
public:
  Divisions(const PartitioningProblem &p, int64_t bound, uint64_t effort) : p(p), bound(bound), effort(effort) {
    std::map<int64_t, size_t> byColour;
    for (Id v = 0; v < p.nodes.size(); ++v) {
      size_t of = groups.size();
      if (p.nodes[v].colocationGroup >= 0)
        of = byColour.try_emplace(p.nodes[v].colocationGroup, of).first->second;
      if (of == groups.size())
        groups.emplace_back();
      Group &group = groups[of];
      group.nodes.push_back(v);
      group.time += p.nodes[v].time;
      group.processorTime += p.nodes[v].processorTime;
      group.memory += p.nodes[v].memory;
      group.onAccelerator &= p.nodes[v].onAccelerator;
    }
    std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
      return std::pair(b.time, a.nodes[0]) < std::pair(a.time, b.nodes[0]);
    });
    touching.resize(p.nodes.size());
    for (size_t t = 0; t < p.transfers.size(); ++t) {
      touching[p.transfers[t].from].push_back(t);
      for (Id to : p.transfers[t].to)
        touching[to].push_back(t);
    }
    int64_t count = static_cast<int64_t>(groups.size());
    accelerators = std::min(p.accelerators, count);
    processors = std::min(p.processors, count);
    uses.resize(static_cast<size_t>(accelerators + processors));
  }

  BoundVerdict run() {
    for (size_t g = groups.size(); g-- > 0;)
      groups[g].after = (g + 1 < groups.size() ? groups[g + 1].after : 0) + shortest(groups[g]);
    if (isTooMuch(0) || (bound < INT64_MAX && (areShared() || hasLongGroup())))
      return BoundVerdict::Holds;
    bool found = place(0);
    return found ? BoundVerdict::Broken : steps > effort ? BoundVerdict::Open : BoundVerdict::Holds;
  }

private:
  struct Group {
    std::vector<Id> nodes;
    int64_t time = 0, processorTime = 0, memory = 0;
    bool onAccelerator = true;
    __int128 after = 0; ///< shortest times of this and all later ones
  };
  struct Use {
    int64_t time = 0, memory = 0;
    size_t groups = 0;
    std::map<size_t, int> transfers; ///< nodes that have a part in each
  };

  bool isProcessor(size_t d) const { return static_cast<int64_t>(d) >= accelerators; }

  int64_t shortest(const Group &group) const {
    if (accelerators == 0 || !group.onAccelerator)
      return group.processorTime;
    return processors == 0 ? group.time : std::min(group.time, group.processorTime);
  }

  /// Whether some price of a second of each kind of device, of which all devices have 1 together, makes all groups
  /// dear: each pays where that is cheaper. The fullest device then has at least what all pay (duality of the division
  /// in parts).
  bool areShared() const {
    std::vector<double> ratios = {0};
    for (const Group &group : groups)
      if (group.processorTime > 0)
        ratios.push_back(double(group.time) / double(group.processorTime));
    for (double ratio : ratios) { // the price of a processor for that of an accelerator
      double unit = double(accelerators) + ratio * double(processors), paid = 0;
      if (unit == 0)
        continue;
      for (const Group &group : groups) {
        double accelerator = double(group.time), processor = ratio * double(group.processorTime);
        paid += accelerators == 0 || !group.onAccelerator ? processor
                : processors == 0                         ? accelerator
                                                          : std::min(accelerator, processor);
      }
      if (paid / unit > double(bound) * (1 + 1e-12) - 1 + 1e-6)
        return true;
    }
    return false;
  }

  /// Whether one of the longest groups alone keeps its device at the bound, with the nodes for which that is cheapest.
  bool hasLongGroup() const {
    for (size_t g = 0; g < groups.size() && g < kLongGroups; ++g) {
      bool onProcessor = processors > 0 && groups[g].processorTime < bound;
      if (!onProcessor && (accelerators == 0 || !groups[g].onAccelerator || hasFlow(g)))
        return true;
    }
    return false;
  }

  /// Whether a flow of `bound` goes from a group to the end: through each group as much as its time, and from transfer
  /// to transfer. It is no more than time and transfers of any set of groups around it. Paths of ever smaller capacity.
  bool hasFlow(size_t from) const {
    const size_t n = groups.size(), end = n + 2 * p.transfers.size();
    constexpr int64_t kAll = int64_t(1) << 61;
    std::map<Id, size_t> groupOf;
    for (size_t g = 0; g < n; ++g)
      for (Id v : groups[g].nodes)
        groupOf[v] = g;
    std::vector<std::map<size_t, int64_t>> left(end + 1);
    for (size_t g = 0; g < n; ++g)
      left[g][end] = groups[g].onAccelerator ? groups[g].time : kAll;
    for (size_t t = 0; t < p.transfers.size(); ++t) {
      size_t inside = n + 2 * t, outside = inside + 1;
      left[inside][outside] = p.transfers[t].time;
      std::set<size_t> ends = {groupOf[p.transfers[t].from]};
      for (Id to : p.transfers[t].to)
        ends.insert(groupOf[to]);
      for (size_t g : ends)
        left[g][inside] = left[outside][g] = kAll;
    }
    int64_t flow = 0;
    for (int64_t step = int64_t(1) << 60; step > 0 && flow < bound; step /= 2)
      for (;;) {
        std::vector<size_t> before(end + 1, SIZE_MAX), queue = {from};
        before[from] = from;
        for (size_t i = 0; i < queue.size() && before[end] == SIZE_MAX; ++i)
          for (auto [to, room] : left[queue[i]])
            if (room >= step && before[to] == SIZE_MAX) {
              before[to] = queue[i];
              queue.push_back(to);
            }
        if (before[end] == SIZE_MAX || flow >= bound)
          break;
        int64_t more = kAll;
        for (size_t at = end; at != from; at = before[at])
          more = std::min(more, left[before[at]][at]);
        for (size_t at = end; at != from; at = before[at]) {
          left[before[at]][at] -= more;
          left[at][before[at]] += more;
        }
        flow += more;
      }
    return flow >= bound;
  }

  /// Time of a device: its nodes, and transfers with an end elsewhere already.
  int64_t load(size_t d) const {
    int64_t all = uses[d].time;
    if (!isProcessor(d))
      for (const auto &[transfer, nodes] : uses[d].transfers)
        if (placed.at(transfer) > nodes)
          all += p.transfers[transfer].time;
    return all;
  }

  bool isTooMuch(size_t next) const {
    if (bound == INT64_MAX)
      return false;
    __int128 all = next < groups.size() ? groups[next].after : 0;
    for (size_t d = 0; d < uses.size(); ++d) {
      int64_t mine = load(d);
      if (mine >= bound)
        return true;
      all += mine;
    }
    return all > __int128(bound - 1) * static_cast<int64_t>(uses.size());
  }

  void move(const Group &group, size_t d, int sign) {
    Use &use = uses[d];
    use.time += sign * (isProcessor(d) ? group.processorTime : group.time);
    use.memory += sign * group.memory;
    use.groups += sign;
    for (Id v : group.nodes)
      for (size_t transfer : touching[v]) {
        placed[transfer] += sign;
        if ((use.transfers[transfer] += sign) == 0)
          use.transfers.erase(transfer);
      }
  }

  bool place(size_t next) {
    if (next == groups.size())
      return true;
    std::set<bool> empty; ///< kinds of which an empty device was tried
    const Group &group = groups[next];
    for (size_t d = 0; d < uses.size(); ++d) {
      if (uses[d].groups == 0 && !empty.insert(isProcessor(d)).second)
        continue;
      if (!isProcessor(d) && (!group.onAccelerator || uses[d].memory + group.memory > p.memory))
        continue;
      if (++steps > effort)
        return false;
      move(group, d, 1);
      if (!isTooMuch(next + 1) && place(next + 1))
        return true;
      move(group, d, -1);
    }
    return false;
  }

  const PartitioningProblem &p;
  int64_t bound;
  uint64_t effort, steps = 0;
  int64_t accelerators = 0, processors = 0;
  std::vector<Group> groups;
  std::vector<std::vector<size_t>> touching; ///< transfers by node
  std::map<size_t, int> placed;              ///< by transfer: ends that are on a device
  std::vector<Use> uses;
};

} // namespace

BoundVerdict proveAssignmentBound(const PartitioningProblem &problem, int64_t bound, uint64_t effort) {
  return Divisions(problem, bound, effort).run();
}

} // namespace accord::partitioning
