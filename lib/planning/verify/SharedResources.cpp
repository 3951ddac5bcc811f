#include "lib/planning/verify/SharedResources.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {
namespace {

/// Shares of a bandwidth that add up to no more than this may be rounding.
constexpr long double kFull = 1 + 1e-9L;

int64_t durationOf(const OperationCost &cost) { return Picoseconds::ceil(cost.time).value; }

long double coreShare(const Proof &p, const OperationCost &cost, size_t core) {
  return static_cast<long double>(p.instances(cost, core)) / static_cast<long double>(p.plan.machine.cores[core].count);
}

/// Of a memory's bandwidth, while it runs.
long double bandwidthShare(const OperationCost &cost, size_t memory) {
  long double duration = static_cast<long double>(durationOf(cost)),
              transfer = static_cast<long double>(cost.transfer[memory].value) * 1e12L;
  return duration > 0 ? std::min(1.0L, transfer / duration) : 0;
}

template <typename Work> SharedResource sharedResource(const Proof &p, std::string name, Work work) {
  SharedResource made{std::move(name), std::vector<std::vector<Demand>>(p.plan.graph.operations.size())};
  for (OperationId id = 0; id < made.of.size(); ++id)
    if (p.operation(id).body == kNone)
      p.variants(id, [&](const OperationCost &cost) { made.of[id].push_back({durationOf(cost), work(id, cost)}); });
  return made;
}

/// Least of all forms, or 0 for a repeat.
template <typename Share> long double minShare(const Proof &p, OperationId id, Share share) {
  long double min = 1;
  if (p.operation(id).body != kNone)
    return 0;
  p.variants(id, [&](const OperationCost &cost) { min = std::min(min, share(cost)); });
  return min;
}

/// Those that use core and memory in whatever form, as they take the core; those that leave none of
/// these its bandwidth take all of it.
SharedResource pair(const Proof &p, size_t core, size_t memory) {
  auto onCore = [&](const OperationCost &cost) { return coreShare(p, cost, core); };
  auto onMemory = [&](const OperationCost &cost) { return bandwidthShare(cost, memory); };
  size_t operations = p.plan.graph.operations.size();
  std::vector<char> uses(operations), fills(operations);
  long double min = 1;
  for (OperationId id = 0; id < operations; ++id) {
    long double bandwidth = minShare(p, id, onMemory);
    uses[id] = bandwidth > 0 && minShare(p, id, onCore) > 0;
    if (uses[id])
      min = std::min(min, bandwidth);
  }
  bool any = false;
  for (OperationId id = 0; id < operations; ++id) {
    long double bandwidth = minShare(p, id, onMemory);
    // Neither beside the one that uses least, nor beside another like itself.
    fills[id] = bandwidth + std::min(min, bandwidth) > kFull;
    any = any || (fills[id] && !uses[id]);
  }
  SharedResource made = sharedResource(p, "", [&](OperationId id, const OperationCost &cost) {
    long double duration = static_cast<long double>(durationOf(cost));
    return fills[id] ? duration : duration * coreShare(p, cost, core);
  });
  for (OperationId id = 0; id < operations; ++id)
    if (!any || (!fills[id] && !uses[id]))
      made.of[id].clear();
  if (!any)
    made.of.clear();
  return made;
}

} // namespace

long double SharedResource::min(OperationId id) const {
  long double min = of[id].empty() ? 0 : of[id].front().work;
  for (const Demand &demand : of[id])
    min = std::min(min, demand.work);
  return min;
}

bool SharedResource::depends() const {
  for (const std::vector<Demand> &variants : of)
    for (const Demand &demand : variants)
      if (demand.work != variants.front().work)
        return true;
  return false;
}

std::vector<SharedResource> findSharedResources(const Proof &p) {
  const Machine &machine = p.plan.machine;
  std::vector<SharedResource> all;
  for (size_t core = 0; core < machine.cores.size(); ++core)
    all.push_back(sharedResource(p, machine.cores[core].name, [&](OperationId, const OperationCost &cost) {
      return static_cast<long double>(durationOf(cost)) * coreShare(p, cost, core);
    }));
  for (size_t memory = 0; memory < machine.memories.size(); ++memory)
    all.push_back(sharedResource(p, machine.memories[memory].name, [&](OperationId, const OperationCost &cost) {
      return std::min(static_cast<long double>(cost.transfer[memory].value) * 1e12L,
                      static_cast<long double>(durationOf(cost)));
    }));
  std::set<std::string> networks;
  for (OperationId id = 0; id < p.plan.costs.operations.size(); ++id)
    if (std::string network = p.network(id); !network.empty())
      networks.insert(network);
  for (const std::string &network : networks)
    all.push_back(sharedResource(p, network, [&](OperationId id, const OperationCost &cost) {
      return p.network(id) == network ? static_cast<long double>(durationOf(cost)) : 0;
    }));
  for (size_t core = 0; core < machine.cores.size(); ++core)
    for (size_t memory = 0; memory < machine.memories.size(); ++memory)
      if (SharedResource both = pair(p, core, memory); !both.of.empty()) {
        both.name = fmt::format("{} and {}", machine.cores[core].name, machine.memories[memory].name);
        all.push_back(std::move(both));
      }
  return all;
}

} // namespace accord
