#include "lib/partitioning/solve/PartitioningGraph.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace accord::partitioning {
namespace {

using Id = PartitioningGraph::Id;

using Arcs = std::vector<std::vector<Id>>;

void sortUnique(std::vector<Id> &ids) {
  llvm::sort(ids);
  ids.erase(llvm::unique(ids), ids.end());
}

struct Vertex {
  std::vector<const Vertex *> after;
};

} // namespace
} // namespace accord::partitioning

template <> struct llvm::GraphTraits<const accord::partitioning::Vertex *> {
  using NodeRef = const accord::partitioning::Vertex *;
  using ChildIteratorType = std::vector<NodeRef>::const_iterator;
  static NodeRef getEntryNode(NodeRef root) { return root; }
  static ChildIteratorType child_begin(NodeRef node) { return node->after.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->after.end(); }
};

namespace accord::partitioning {
namespace {

/// Nodes of a strongly connected component become one.
void uniteCycles(const Arcs &after, llvm::IntEqClasses &unions) {
  std::vector<Vertex> vertices(after.size() + 1); // the last one leads to all
  for (size_t v = 0; v < after.size(); ++v) {
    vertices.back().after.push_back(&vertices[v]);
    for (Id to : after[v])
      vertices[v].after.push_back(&vertices[to]);
  }
  const Vertex *root = &vertices.back();
  for (auto component = llvm::scc_begin(root); !component.isAtEnd(); ++component)
    for (const Vertex *vertex : *component)
      if (vertex != root)
        unions.join(component->front() - vertices.data(), vertex - vertices.data());
}

/// Nodes of one number are one; a node of no time that touches one other only joins it.
struct Contracted {
  std::vector<Id> group; ///< of each node of the problem
  size_t groups = 0;
  Arcs after;
};

Contracted contracted(const PartitioningProblem &problem, llvm::IntEqClasses &unions) {
  Contracted result;
  size_t n = problem.nodes.size();
  auto order = stageOrder(problem);
  Arcs arcs(n);
  for (auto [a, b] : order)
    if (unions.findLeader(a) != unions.findLeader(b))
      arcs[unions.findLeader(a)].push_back(unions.findLeader(b));
  uniteCycles(arcs, unions);
  llvm::IntEqClasses numbered = unions;
  numbered.compress();
  result.groups = numbered.getNumClasses();
  for (Id i = 0; i < n; ++i)
    result.group.push_back(numbered[i]);
  result.after.resize(result.groups);
  for (auto [a, b] : order)
    if (result.group[a] != result.group[b])
      result.after[result.group[a]].push_back(result.group[b]);
  for (auto &list : result.after)
    sortUnique(list);
  return result;
}

/// Joining such a node to its one neighbour takes no answer away: moved there, no stage has more
/// time, and no transfer is added. Its memory must not matter.
bool joinLeaves(const PartitioningProblem &problem, const Contracted &now, llvm::IntEqClasses &unions) {
  int64_t all = 0;
  for (const PartitioningProblem::Node &node : problem.nodes)
    all += node.memory;
  bool roomy = problem.rule == PartitioningProblem::Rule::Sum && all <= problem.memory;
  struct Sums {
    int64_t time = 0, memory = 0, gradients = 0;
    bool onAccelerator = true;
    std::set<Id> touches;
    Id first = 0;
  };
  std::vector<Sums> sums(now.groups);
  for (Id i = 0; i < problem.nodes.size(); ++i) {
    const PartitioningProblem::Node &node = problem.nodes[i];
    Sums &sum = sums[now.group[i]];
    sum.time += node.time + node.processorTime;
    sum.memory += node.memory;
    sum.gradients += node.gradients;
    sum.onAccelerator &= node.onAccelerator;
    sum.first = i;
  }
  auto touch = [&](Id a, Id b) {
    if (a != b) {
      sums[a].touches.insert(b);
      sums[b].touches.insert(a);
    }
  };
  for (Id g = 0; g < now.groups; ++g)
    for (Id to : now.after[g])
      touch(g, to);
  for (const PartitioningProblem::Transfer &transfer : problem.transfers)
    for (Id to : transfer.to)
      touch(now.group[transfer.from], now.group[to]);
  bool any = false;
  std::vector<bool> joined(now.groups, false), joinedTo(now.groups, false);
  for (Id g = 0; g < now.groups; ++g) {
    const Sums &sum = sums[g];
    if (sum.time > 0 || sum.touches.size() != 1 || (!roomy && sum.memory > 0) || sum.gradients > 0)
      continue;
    Id other = *sum.touches.begin();
    if (joinedTo[g] || joined[other] || (!sum.onAccelerator && sums[other].onAccelerator))
      continue;
    joined[g] = joinedTo[other] = any = true;
    unions.join(sum.first, sums[other].first);
  }
  return any;
}

} // namespace

PartitioningGraph partitioningGraph(const PartitioningProblem &problem) {
  llvm::IntEqClasses unions(problem.nodes.size());
  std::map<int64_t, Id> first;
  for (Id i = 0; i < problem.nodes.size(); ++i)
    if (problem.nodes[i].colocationGroup >= 0)
      unions.join(i, first.try_emplace(problem.nodes[i].colocationGroup, i).first->second);
  Contracted now = contracted(problem, unions);
  while (joinLeaves(problem, now, unions))
    now = contracted(problem, unions);

  PartitioningGraph graph;
  graph.incoming = problem.rule == PartitioningProblem::Rule::Overlap;
  Arcs after(now.groups), before(now.groups);
  for (Id a = 0; a < now.groups; ++a)
    for (Id b : now.after[a]) {
      after[graph.incoming ? b : a].push_back(graph.incoming ? a : b);
      before[graph.incoming ? a : b].push_back(graph.incoming ? b : a);
    }
  // Depth first: what was just reached goes on first, so that branches stay in one piece.
  std::vector<size_t> waiting(now.groups);
  std::vector<Id> place(now.groups, 0), ready;
  Id placed = 0;
  for (Id g = now.groups; g-- > 0;)
    if ((waiting[g] = before[g].size()) == 0)
      ready.push_back(g);
  while (!ready.empty()) {
    Id g = ready.back();
    ready.pop_back();
    place[g] = placed++;
    for (auto to = after[g].rbegin(); to != after[g].rend(); ++to)
      if (--waiting[*to] == 0)
        ready.push_back(*to);
  }
  graph.nodes.resize(now.groups);
  for (Id g = 0; g < now.groups; ++g) {
    for (Id to : after[g])
      graph.nodes[place[g]].after.push_back(place[to]);
    for (Id from : before[g])
      graph.nodes[place[g]].before.push_back(place[from]);
  }
  for (Id i = 0; i < problem.nodes.size(); ++i) {
    const PartitioningProblem::Node &from = problem.nodes[i];
    PartitioningGraph::Node &node = graph.nodes[place[now.group[i]]];
    node.time += from.time;
    node.processorTime += from.processorTime;
    node.memory += from.memory;
    node.gradients += from.gradients;
    node.onAccelerator &= from.onAccelerator;
    node.members.push_back(i);
  }
  std::map<std::pair<Id, std::vector<Id>>, int64_t> nets;
  for (const PartitioningProblem::Transfer &transfer : problem.transfers) {
    Id from = place[now.group[transfer.from]];
    std::vector<Id> ends{from};
    for (Id to : transfer.to)
      ends.push_back(place[now.group[to]]);
    sortUnique(ends);
    if (ends.size() > 1 && transfer.time > 0)
      nets[{graph.incoming ? from : 0, ends}] += transfer.time;
  }
  for (const auto &[key, time] : nets) {
    for (Id end : key.second)
      graph.nodes[end].nets.push_back(graph.nets.size());
    graph.nets.push_back({key.first, key.second, time});
  }
  graph.words = (now.groups + 63) / 64;
  graph.below.assign(now.groups, std::vector<uint64_t>(graph.words, 0));
  for (size_t g = now.groups; g-- > 0;) {
    graph.below[g][g / 64] |= uint64_t(1) << (g % 64);
    for (Id to : graph.nodes[g].after)
      for (size_t w = 0; w < graph.words; ++w)
        graph.below[g][w] |= graph.below[to][w];
  }
  return graph;
}

} // namespace accord::partitioning
