#include "lib/partitioning/solve/LayerPlanner.h"
#include "lib/partitioning/solve/ConfigurationChoice.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace accord {
namespace {

using namespace partitioning;
using Id = LayerGraph::Id;
using Set = std::vector<uint64_t>; ///< of layers

/// Relaxations of one choice of configurations.
constexpr int64_t kMaxNodes = 20'000;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool contains(const Set &set, Id v) { return set[v / 64] >> (v % 64) & 1; }
void insert(Set &set, Id v) { set[v / 64] |= uint64_t(1) << (v % 64); }
void erase(Set &set, Id v) { set[v / 64] &= ~(uint64_t(1) << (v % 64)); }

struct SetHash {
  size_t operator()(const Set &set) const { return llvm::hash_combine_range(set.begin(), set.end()); }
};

/// What is the same for all stages.
class LayerCosts {
public:
  explicit LayerCosts(const LayerGraph &graph) : g(graph), in(graph.layers.size()), out(graph.layers.size()) {
    for (uint32_t e = 0; e < g.edges.size(); ++e) {
      out[g.edges[e].from].push_back(e);
      in[g.edges[e].to].push_back(e);
    }
    std::set<int64_t> degrees;
    for (const auto &layer : g.layers)
      for (const auto &one : layer.configurations)
        if (one.tensor <= g.devices)
          degrees.insert(one.tensor);
    tensors.assign(degrees.begin(), degrees.end());
    for (int64_t tensor : tensors) {
      std::vector<double> &min = minTime.emplace_back(g.layers.size(), kInfinite);
      for (Id v = 0; v < g.layers.size(); ++v)
        for (const auto &one : g.layers[v].configurations)
          if (one.tensor == tensor)
            min[v] = std::min(min[v], one.time);
    }
    for (Id v = 0; v < g.layers.size(); ++v) {
      double shortest = kInfinite;
      for (size_t t = 0; t < tensors.size(); ++t)
        shortest = std::min(shortest, minTime[t][v] * double(tensors[t]));
      minWork.push_back(shortest);
    }
  }

  /// The cost of a layer of a stage, without its memory: see `LayerGraph`.
  double cost(const LayerGraph::Configuration &one, Id v, const Set &stage, int64_t data) const {
    double bytes = 0;
    for (size_t i = 0; i < in[v].size(); ++i)
      if (!contains(stage, g.edges[in[v][i]].from))
        bytes += 2 * (g.edges[in[v][i]].bytes + one.syncIn[i]);
    for (size_t i = 0; i < out[v].size(); ++i)
      if (!contains(stage, g.edges[out[v][i]].to))
        bytes += 2 * (g.edges[out[v][i]].bytes + one.syncOut[i]);
    double d = double(data);
    double reduced = g.reductionFactor * (d - 1) / d * one.parameterBytes / double(g.microbatches);
    return one.time / d + (bytes / d + reduced) / g.bandwidth;
  }

  const LayerGraph &g;
  std::vector<std::vector<uint32_t>> in, out; ///< edges by layer, in the order of the graph
  std::vector<int64_t> tensors;
  std::vector<std::vector<double>> minTime; ///< by tensor degree and layer
  std::vector<double> minWork;              ///< device seconds, by layer
};

/// Layers so that each comes after all that read it: breadth or depth first.
std::vector<Id> reverseOrder(const LayerCosts &costs, bool depthFirst) {
  std::vector<size_t> waiting;
  std::vector<Id> ready, order;
  for (Id v = 0; v < costs.g.layers.size(); ++v)
    if (waiting.push_back(costs.out[v].size()); waiting[v] == 0)
      ready.push_back(v);
  while (!ready.empty()) {
    auto next = depthFirst ? std::prev(ready.end()) : ready.begin();
    Id v = *next;
    ready.erase(next);
    order.push_back(v);
    for (uint32_t e : costs.in[v])
      if (Id from = costs.g.edges[e].from; --waiting[from] == 0)
        ready.push_back(from);
  }
  return order;
}

/// One dynamic program: over intervals of an order, or over all stages.
class StageSearch {
public:
  struct Found {
    double load = kInfinite;
    std::vector<LayerStage> stages;
  };

  StageSearch(const LayerCosts &costs, const LayerPlanOptions &options, std::vector<Id> order, bool intervals,
              int64_t maxWork, double cutoff)
      : costs(costs), g(costs.g), options(options), order(std::move(order)), intervals(intervals), maxWork(maxWork),
        cutoff(cutoff) {}

  /// Plans of less than the cutoff.
  Found run() {
    Set none((g.layers.size() + 63) / 64, 0);
    indexOf(none, 0);
    states[0].entries.push_back({});
    for (size_t count = 0; count < g.layers.size(); ++count)
      for (size_t i = 0; i < bySize[count].size() && !ended(); ++i)
        expand(bySize[count][i]);
    return std::move(best);
  }

  int64_t work = 0;
  bool complete = true; ///< no stage was left out, and each was evaluated exactly

private:
  struct Entry {
    int64_t devices = 0, data = 0; ///< used so far
    double load = 0;
    uint32_t state = 0, entry = 0; ///< where it came from
    int64_t tensor = 0, replicas = 0;
  };
  struct State {
    Set done;
    double rest = 0; ///< device seconds of the layers that are not done
    std::vector<Entry> entries;
  };

  bool ended() {
    if (work >= maxWork || options.stopped())
      complete = false;
    return work >= maxWork || options.stopped();
  }

  uint32_t indexOf(const Set &set, size_t count) {
    auto [known, isNew] = index.try_emplace(set, static_cast<uint32_t>(states.size()));
    if (isNew) {
      State &made = states.emplace_back();
      made.done = set;
      for (Id v = 0; v < g.layers.size(); ++v)
        if (!contains(set, v))
          made.rest += costs.minWork[v];
      bySize[count].push_back(known->second);
    }
    return known->second;
  }

  void expand(uint32_t state) {
    current = state;
    from = states[state].done;
    entries = states[state].entries; // states move
    llvm::erase_if(entries, [&](const Entry &entry) { return entry.load >= cutoff; });
    if (entries.empty())
      return;
    available = 0;
    for (const Entry &entry : entries)
      available = std::max(available, g.devices - entry.devices);
    count = 0;
    for (uint64_t word : from)
      count += static_cast<size_t>(llvm::popcount(word));
    stage.assign(from.size(), 0);
    members.clear();
    sums.assign(costs.tensors.size(), 0);
    extend(intervals ? count : 0);
  }

  /// All stages that have the present one and layers from this place of the order on.
  void extend(size_t at) {
    for (size_t i = at; i < order.size() && !ended(); ++i) {
      Id v = order[i];
      if (!contains(from, v)) {
        bool open = llvm::all_of(
            costs.out[v], [&](uint32_t e) { return contains(from, g.edges[e].to) || contains(stage, g.edges[e].to); });
        if (open)
          extendBy(v, i);
      }
      if (intervals)
        return;
    }
  }

  void extendBy(Id v, size_t at) {
    std::vector<double> before = sums;
    double shortest = kInfinite;
    for (size_t t = 0; t < sums.size(); ++t) {
      sums[t] += costs.minTime[t][v];
      if (int64_t replicas = options.allowReplicas ? available / costs.tensors[t] : 1; replicas > 0)
        shortest = std::min(shortest, sums[t] / double(replicas));
    }
    if (shortest < cutoff) {
      insert(stage, v);
      members.push_back(v);
      evaluate();
      extend(at + 1);
      members.pop_back();
      erase(stage, v);
    }
    sums = std::move(before);
  }

  /// The present stage in front of all that is done.
  void evaluate() {
    std::map<std::tuple<size_t, int64_t, int64_t>, double> known; // by tensor degree, replicas, micro-batches in flight
    Set next = from;
    for (size_t w = 0; w < next.size(); ++w)
      next[w] |= stage[w];
    uint32_t to = ~0u;
    for (uint32_t e = 0; e < entries.size(); ++e)
      for (size_t t = 0; t < costs.tensors.size(); ++t)
        for (int64_t data = 1; entries[e].devices + data * costs.tensors[t] <= g.devices; ++data) {
          if (data > 1 && !options.allowReplicas)
            break;
          if (g.microbatches % data != 0 || entries[e].data + data > g.microbatches || sums[t] / double(data) >= cutoff)
            continue;
          int64_t flight = (entries[e].data + 2 * data - 1) / data;
          auto [cached, isNew] = known.try_emplace({t, data, flight}, 0);
          if (isNew)
            cached->second = loadOf(costs.tensors[t], data, flight);
          double load = std::max(entries[e].load, cached->second);
          if (load >= cutoff)
            continue;
          if (to == ~0u)
            to = indexOf(next, count + members.size());
          reach(to, {entries[e].devices + data * costs.tensors[t], entries[e].data + data, load, current,
                     placeOf(entries[e]), costs.tensors[t], data});
        }
  }

  /// Of an entry of the current state, among all of it.
  uint32_t placeOf(const Entry &entry) const {
    const std::vector<Entry> &all = states[current].entries;
    for (uint32_t i = 0; i < all.size(); ++i)
      if (all[i].devices == entry.devices && all[i].data == entry.data && all[i].load == entry.load)
        return i;
    return 0;
  }

  std::vector<std::vector<ChoiceItem>> itemsOf(int64_t tensor, int64_t data, int64_t flight,
                                               const std::vector<Id> &layers) const {
    std::vector<std::vector<ChoiceItem>> items;
    for (Id v : layers) {
      auto &mine = items.emplace_back();
      const auto &all = g.layers[v].configurations;
      for (uint32_t c = 0; c < all.size(); ++c)
        if (all[c].tensor == tensor)
          mine.push_back({costs.cost(all[c], v, stage, data),
                          all[c].memoryPerMicrobatch * double(flight) + all[c].memoryFixed, c});
    }
    return items;
  }

  double loadOf(int64_t tensor, int64_t data, int64_t flight) {
    ChoiceEffort effort;
    auto found =
        chooseItems(itemsOf(tensor, data, flight, members), g.memory, cutoff, intervals ? 1 : kMaxNodes, effort);
    work += 1 + effort.work;
    complete &= effort.isExact;
    return found ? found->cost : kInfinite;
  }

  void reach(uint32_t to, Entry entry) {
    State &state = states[to];
    bool whole = count + members.size() == g.layers.size();
    if (!whole && state.rest >= cutoff * double(g.devices - entry.devices))
      return;
    for (const Entry &other : state.entries)
      if (other.devices <= entry.devices && other.data <= entry.data && other.load <= entry.load)
        return;
    llvm::erase_if(state.entries, [&](const Entry &other) {
      return entry.devices <= other.devices && entry.data <= other.data && entry.load <= other.load;
    });
    state.entries.push_back(entry);
    if (whole)
      record(entry, state.done);
  }

  /// The stages that lead to an entry, the first one last reached.
  void record(Entry entry, Set set) {
    best.load = entry.load;
    cutoff = entry.load * (1 - options.gap);
    best.stages.clear();
    Set kept = stage;
    for (;;) {
      const State &before = states[entry.state];
      LayerStage made;
      made.tensor = entry.tensor;
      made.data = entry.replicas;
      for (Id v = 0; v < g.layers.size(); ++v)
        if (contains(set, v) && !contains(before.done, v))
          made.layers.push_back(v);
      stage.assign(set.size(), 0);
      for (Id v : made.layers)
        insert(stage, v);
      ChoiceEffort effort;
      auto found = chooseItems(itemsOf(made.tensor, made.data, (entry.data + made.data - 1) / made.data, made.layers),
                               g.memory, kInfinite, intervals ? 1 : kMaxNodes, effort);
      made.configuration = found->index;
      made.load = found->cost;
      made.memory = found->weight;
      best.stages.push_back(std::move(made));
      if (entry.state == 0)
        break;
      set = before.done;
      entry = before.entries[entry.entry];
    }
    stage = std::move(kept);
    best.load = 0;
    for (const LayerStage &one : best.stages)
      best.load = std::max(best.load, one.load);
  }

  const LayerCosts &costs;
  const LayerGraph &g;
  const LayerPlanOptions &options;
  std::vector<Id> order;
  bool intervals;
  int64_t maxWork;
  double cutoff;
  Found best;
  std::vector<State> states;
  std::unordered_map<Set, uint32_t, SetHash> index;
  std::map<size_t, std::vector<uint32_t>> bySize;
  // Of the state that is expanded, and of its stage.
  uint32_t current = 0;
  Set from, stage;
  std::vector<Entry> entries;
  int64_t available = 0;
  size_t count = 0;
  std::vector<Id> members;
  std::vector<double> sums; ///< by tensor degree: the shortest times together
};

/// No plan has less: all work on all devices; the layer that takes longest whatever its configuration.
double lowerBound(const LayerCosts &costs, bool allowReplicas) {
  double work = 0, longest = 0;
  for (Id v = 0; v < costs.g.layers.size(); ++v) {
    work += costs.minWork[v];
    double shortest = kInfinite;
    for (size_t t = 0; t < costs.tensors.size(); ++t)
      shortest = std::min(shortest, costs.minTime[t][v] /
                                        double(allowReplicas ? costs.g.devices / costs.tensors[t] : int64_t(1)));
    longest = std::max(longest, shortest);
  }
  return std::max(longest, work / double(costs.g.devices));
}

} // namespace

LayerPlan planLayers(const LayerGraph &graph, const LayerPlanOptions &options) {
  LayerPlan plan;
  LayerCosts costs(graph);
  const double lower = lowerBound(costs, options.allowReplicas);
  int64_t budget = int64_t(1) << (14 + std::min(options.effort, kMaxEffort));
  double cutoff = kInfinite;
  auto search = [&](std::vector<Id> order, bool intervals, int64_t work) {
    StageSearch one(costs, options, std::move(order), intervals, work, cutoff);
    auto found = one.run();
    plan.stagesTried += one.work;
    if (!found.stages.empty()) {
      plan.status = LayerPlan::Status::Feasible;
      plan.load = found.load;
      plan.stages = std::move(found.stages);
      cutoff = plan.load * (1 - options.gap);
    }
    if (options.progress)
      options.progress({intervals ? "orders" : "sets", plan.load * 1e12, lower * 1e12});
    return one.complete;
  };
  for (bool depthFirst : {false, true})
    search(reverseOrder(costs, depthFirst), true, budget / 8);
  bool complete = search(reverseOrder(costs, false), false, budget - plan.stagesTried);
  bool feasible = plan.status == LayerPlan::Status::Feasible;
  if (complete && !feasible)
    plan.status = LayerPlan::Status::Infeasible;
  plan.bound = complete && feasible ? std::max(lower, cutoff) : lower;
  plan.bound = feasible ? std::min(plan.bound, plan.load) : 0;
  plan.proof = complete ? "no stages below it" : "all work on all devices";
  plan.stopped = complete ? "" : options.stopped() ? "interrupted" : "work limit";
  for (const auto &layer : graph.layers) {
    double shortest = kInfinite;
    for (const auto &one : layer.configurations)
      if (one.tensor <= graph.devices)
        shortest = std::min(shortest, one.memoryPerMicrobatch + one.memoryFixed);
    if (shortest > graph.memory && shortest < kInfinite)
      plan.minMemory = std::max(plan.minMemory, shortest);
  }
  return plan;
}

} // namespace accord
