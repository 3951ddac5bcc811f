#include "lib/planning/solve/OperationVariants.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord {

OperationVariants::OperationVariants(const WorkGraph &graph, const Machine &machine, const Costs &costs)
    : machine_(machine), links_(machine.cores.size() + machine.memories.size()) {
  for (const Core &core : machine.cores)
    names_.push_back("core " + core.name);
  for (const Memory &memory : machine.memories)
    names_.push_back("memory " + memory.name + " bandwidth");
  std::set<std::string> networks;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    if (std::string network = networkOf(graph.operations[id], costs.operations[id]); !network.empty())
      networks.insert("network " + network);
  names_.insert(names_.end(), networks.begin(), networks.end());

  variants_.resize(graph.operations.size());
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    auto variant = [](const OperationCost &cost, size_t alternative) {
      return Variant{&cost, alternative, Picoseconds::ceil(cost.time).value};
    };
    std::vector<Variant> all = {variant(costs.operations[id], 0)};
    if (auto others = costs.alternatives.find(id); others != costs.alternatives.end())
      for (const OperationCost &other : others->second)
        all.push_back(variant(other, all.size()));
    for (const Variant &one : all)
      if (std::all_of(all.begin(), all.end(), [&](const Variant &other) {
            return other.alternative == one.alternative || isBetter(one, other);
          }))
        variants_[id].push_back(one);
  }
}

bool OperationVariants::isBetter(const Variant &a, const Variant &b) const {
  if (a.duration < b.duration)
    return true;
  bool same = a.duration == b.duration;
  for (size_t r = 0; r < resources(); ++r) {
    if (amount(a, r) < amount(b, r))
      return true;
    same &= amount(a, r) == amount(b, r);
  }
  return same && a.alternative < b.alternative;
}

std::string OperationVariants::networkOf(const Operation &operation, const OperationCost &cost) {
  static const std::string model = "network ";
  bool exchange = operation.core == CoreKind::Network && cost.core < 0;
  return exchange && cost.model.rfind(model, 0) == 0 ? cost.model.substr(model.size()) : "";
}

int64_t OperationVariants::capacity(size_t resource) const {
  if (resource < machine_.cores.size())
    return operationsAtOnce(machine_.cores[resource]);
  return resource < links_ ? kFullBandwidth : 1;
}

int64_t OperationVariants::amount(const Variant &variant, size_t resource) const {
  const OperationCost &cost = *variant.cost;
  if (resource < machine_.cores.size()) {
    int64_t instances = occupiedInstances(machine_, cost, resource);
    return std::min(instances, capacity(resource));
  }
  if (resource >= links_)
    return cost.core < 0 && names_[resource] == cost.model;
  double transfer = cost.transfer[resource - machine_.cores.size()].value * 1e12, time = variant.duration;
  if (time <= 0 || transfer <= 0)
    return 0;
  double share = std::floor(transfer / time * kFullBandwidth);
  return std::clamp<double>(share, 0, kFullBandwidth);
}

int64_t OperationVariants::work(const Variant &variant, size_t resource) const {
  if (resource >= machine_.cores.size() && resource < links_) {
    double transfer = variant.cost->transfer[resource - machine_.cores.size()].value * 1e12;
    return std::min<double>(std::floor(transfer), variant.duration);
  }
  return __int128{amount(variant, resource)} * variant.duration / capacity(resource);
}

int64_t OperationVariants::minWork(OperationId id, size_t resource) const {
  int64_t min = INT64_MAX;
  for (const Variant &variant : of(id))
    min = std::min(min, work(variant, resource));
  return min;
}

} // namespace accord
