#include "lib/machine/model/RingExchange.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {

bool isRing(const Operation &op) { return op.communication && op.communication->ring; }

/// The contractions beside an operation; views between them are looked through.
std::vector<OperationId> productsBeside(const WorkGraph &graph, const Dependences &deps, OperationId id) {
  std::vector<OperationId> products;
  for (const auto *next : {&deps.predecessors, &deps.successors}) {
    std::vector<OperationId> near = (*next)[id];
    for (size_t at = 0; at < near.size(); ++at) {
      const Operation &other = graph.operations[near[at]];
      // What makes keys and values is done before they travel.
      bool attends = other.kind.starts_with("flash_attention") || other.kind == "matmul" || other.kind == "contract";
      if (other.contraction && attends)
        products.push_back(near[at]);
      else if (other.core == CoreKind::None && other.body == kNone)
        near.insert(near.end(), (*next)[near[at]].begin(), (*next)[near[at]].end());
    }
  }
  return products;
}

} // namespace

std::vector<double> exposedTimes(const WorkGraph &graph, std::vector<double> times) {
  if (std::ranges::none_of(graph.operations, isRing))
    return times;
  Dependences deps = Dependences::of(graph);
  std::map<OperationId, double> left; // of products, what hides nothing yet
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    if (!isRing(graph.operations[id]))
      continue;
    double n = graph.operations[id].communication->devices;
    for (OperationId product : productsBeside(graph, deps, id)) {
      double &rest = left.try_emplace(product, (n - 1) / n * times[product]).first->second;
      double hidden = std::min(rest, times[id]);
      rest -= hidden;
      times[id] -= hidden;
    }
  }
  return times;
}

} // namespace accord
