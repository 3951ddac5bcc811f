#include "lib/partitioning/solve/LayerPlanner.h"
#include "lib/partitioning/solve/ConfigurationChoice.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace accord {
namespace {

using namespace partitioning;
using Id = LayerGraph::Id;
using Set = std::vector<uint64_t>; ///< of layers

/// Relaxations of one choice of configurations; choices by two costs that are kept, and of the first search.
constexpr int64_t kMaxNodes = 20'000;
constexpr size_t kMaxChoices = 4096, kFewChoices = 16;
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
    if (!g.profiles.empty()) {
      readProfiles();
      return;
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
      shortest = kInfinite;
      for (size_t t = 0; t < tensors.size(); ++t)
        shortest = std::min(shortest, minTime[t][v]);
      minLatency.push_back(shortest);
    }
  }

  /// What each layer has of the shortest stage with it, divided evenly: no stage is shorter than its layers together.
  void readProfiles() {
    std::set<int64_t> degrees;
    for (uint32_t i = 0; i < g.profiles.size(); ++i) {
      const auto &one = g.profiles[i];
      if (one.tensor > g.devices)
        continue;
      degrees.insert(one.tensor);
      profiles[{one.first, one.last, one.tensor}].push_back(i);
    }
    tensors.assign(degrees.begin(), degrees.end());
    minTime.assign(tensors.size(), std::vector<double>(g.layers.size(), kInfinite));
    minWork.assign(g.layers.size(), kInfinite);
    minLatency.assign(g.layers.size(), kInfinite);
    for (const auto &one : g.profiles)
      for (Id v = one.first; one.tensor <= g.devices && v <= one.last; ++v) {
        auto t = static_cast<size_t>(llvm::lower_bound(tensors, one.tensor) - tensors.begin());
        double share = one.time / double(one.last - one.first + 1);
        minTime[t][v] = std::min(minTime[t][v], share);
        minWork[v] = std::min(minWork[v], share * double(one.tensor));
        minLatency[v] = std::min(minLatency[v], share);
      }
  }

  struct Cost {
    double load = 0, latency = 0, remains = 0;
  };
  /// What a layer adds to a stage, without its memory: see `LayerGraph`.
  Cost cost(const LayerGraph::Configuration &one, Id v, const Set &stage, int64_t data) const {
    double bytes = 0, sent = 0;
    for (size_t i = 0; i < in[v].size(); ++i)
      if (!contains(stage, g.edges[in[v][i]].from))
        bytes += 2 * (g.edges[in[v][i]].bytes + one.syncIn[i]);
    for (size_t i = 0; i < out[v].size(); ++i)
      if (!contains(stage, g.edges[out[v][i]].to)) {
        bytes += 2 * (g.edges[out[v][i]].bytes + one.syncOut[i]);
        sent += 2 * g.edges[out[v][i]].bytes;
      }
    double d = double(data), batches = double(g.microbatches);
    double reduced = g.reductionFactor * (d - 1) / d * one.parameterBytes;
    return {one.time / d + (bytes / d + reduced / batches) / g.bandwidth, one.time + (bytes - sent) / g.bandwidth,
            (batches / d - 1) * (one.time + bytes / g.bandwidth) + reduced / g.bandwidth};
  }

  Cost cost(const LayerGraph::StageProfile &one) const {
    return {one.time, one.time, double(g.microbatches - 1) * one.time};
  }

  const LayerGraph &g;
  std::map<std::tuple<Id, Id, int64_t>, std::vector<uint32_t>> profiles; ///< by first and last layer, and devices
  std::vector<std::vector<uint32_t>> in, out;                            ///< edges by layer, in the order of the graph
  std::vector<int64_t> tensors;
  std::vector<std::vector<double>> minTime; ///< by tensor degree and layer
  std::vector<double> minWork, minLatency;  ///< device seconds, and seconds, by layer
};

/// What is compared of stages one after another: the sum of latencies, and the longest load or remainder; what the
/// objective does not ask for is 0.
struct Times {
  double latency = 0, longest = 0;
  double value() const { return latency + longest; }
  Times with(const Times &stage) const { return {latency + stage.latency, std::max(longest, stage.longest)}; }
  bool operator==(const Times &) const = default;
};

/// Of layers that take `time` seconds of computation, on so many replicas: no stage with them has less.
Times timesOf(const LayerPlanOptions &options, int64_t microbatches, double time, int64_t data) {
  double turns = std::max(double(microbatches) / double(data), 1.0);
  switch (options.objective) {
  case PipelineObjective::Load:
    return {0, time / double(data)};
  case PipelineObjective::Latency:
    return {time, 0};
  case PipelineObjective::Makespan:
    return {time, (turns - 1) * time};
  }
  llvm_unreachable("an objective");
}

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
    double value = kInfinite;
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
    Times times;
    uint32_t state = 0, entry = 0; ///< where it came from
    int64_t tensor = 0, replicas = 0;
    Times stage; ///< the last one
  };
  struct State {
    Set done;
    double rest = 0, restLatency = 0; ///< device seconds, and seconds (where they count) of what is not done
    std::vector<Entry> entries;
  };
  struct StageChoice {
    Times times;
    double memory = 0;
    std::vector<uint32_t> configuration;
  };

  bool ended() {
    if (work >= maxWork || options.stopped())
      complete = false;
    return work >= maxWork || options.stopped();
  }

  /// Of a layer alone, where the objective counts it.
  double latencyOf(Id v) const { return options.objective == PipelineObjective::Load ? 0 : costs.minLatency[v]; }

  uint32_t indexOf(const Set &set, size_t count) {
    auto [known, isNew] = index.try_emplace(set, static_cast<uint32_t>(states.size()));
    if (isNew) {
      State &made = states.emplace_back();
      made.done = set;
      for (Id v = 0; v < g.layers.size(); ++v)
        if (!contains(set, v)) {
          made.rest += costs.minWork[v];
          made.restLatency += latencyOf(v);
        }
      bySize[count].push_back(known->second);
    }
    return known->second;
  }

  void expand(uint32_t state) {
    current = state;
    from = states[state].done;
    entries = states[state].entries; // states move
    llvm::erase_if(entries, [&](const Entry &entry) { return entry.times.value() >= cutoff; });
    if (entries.empty())
      return;
    available = 0;
    latencyAround = kInfinite;
    for (const Entry &entry : entries) {
      available = std::max(available, g.devices - entry.devices);
      latencyAround = std::min(latencyAround, entry.times.latency);
    }
    latencyAround += states[state].restLatency;
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
    double shortest = kInfinite, around = latencyAround;
    latencyAround -= latencyOf(v);
    for (size_t t = 0; t < sums.size(); ++t) {
      sums[t] += costs.minTime[t][v];
      if (int64_t replicas = options.allowReplicas ? available / costs.tensors[t] : 1; replicas > 0)
        shortest = std::min(shortest, timesOf(options, g.microbatches, sums[t], replicas).value());
    }
    if (shortest + std::max(latencyAround, 0.0) < cutoff) {
      insert(stage, v);
      members.push_back(v);
      evaluate();
      extend(at + 1);
      members.pop_back();
      erase(stage, v);
    }
    sums = std::move(before);
    latencyAround = around;
  }

  /// The present stage in front of all that is done.
  void evaluate() {
    // By tensor degree, replicas, micro-batches in flight.
    std::map<std::tuple<size_t, int64_t, int64_t>, std::vector<StageChoice>> known;
    Set next = from;
    for (size_t w = 0; w < next.size(); ++w)
      next[w] |= stage[w];
    uint32_t to = ~0u;
    for (uint32_t e = 0; e < entries.size(); ++e)
      for (size_t t = 0; t < costs.tensors.size(); ++t)
        for (int64_t data = 1; entries[e].devices + data * costs.tensors[t] <= g.devices; ++data) {
          if (data > 1 && !options.allowReplicas)
            break;
          if (g.microbatches % data != 0 || entries[e].data + data > g.microbatches ||
              entries[e].times.with(timesOf(options, g.microbatches, sums[t], data)).value() >= cutoff)
            continue;
          int64_t flight = (entries[e].data + 2 * data - 1) / data;
          auto [cached, isNew] = known.try_emplace({t, data, flight});
          if (isNew)
            cached->second = choicesOf(costs.tensors[t], data, flight, members, cutoff);
          for (const StageChoice &choice : cached->second) {
            Times times = entries[e].times.with(choice.times);
            if (times.value() >= cutoff)
              continue;
            if (to == ~0u)
              to = indexOf(next, count + members.size());
            reach(to, {entries[e].devices + data * costs.tensors[t], entries[e].data + data, times, current,
                       placeOf(entries[e]), costs.tensors[t], data, choice.times});
          }
        }
  }

  /// Of an entry of the current state, among all of it.
  uint32_t placeOf(const Entry &entry) const {
    const std::vector<Entry> &all = states[current].entries;
    for (uint32_t i = 0; i < all.size(); ++i)
      if (all[i].devices == entry.devices && all[i].data == entry.data && all[i].times == entry.times)
        return i;
    return 0;
  }

  /// Configurations of the layers of a stage: the best ones of less than `limit`, of the makespan all that none is
  /// better than.
  std::vector<StageChoice> choicesOf(int64_t tensor, int64_t data, int64_t flight, const std::vector<Id> &layers,
                                     double limit) {
    if (!g.profiles.empty())
      return shortestProfile(tensor, flight, layers);
    const bool isMakespan = options.objective == PipelineObjective::Makespan,
               isLoad = options.objective == PipelineObjective::Load;
    std::vector<std::vector<ChoiceItem>> items;
    std::vector<std::vector<TwoCostItem>> pairs;
    for (Id v : layers) {
      items.emplace_back();
      pairs.emplace_back();
      const auto &all = g.layers[v].configurations;
      for (uint32_t c = 0; c < all.size(); ++c) {
        if (all[c].tensor != tensor)
          continue;
        LayerCosts::Cost cost = costs.cost(all[c], v, stage, data);
        double memory = all[c].memoryPerMicrobatch * double(flight) + all[c].memoryFixed;
        if (isMakespan)
          pairs.back().push_back({cost.latency, cost.remains, memory, c});
        else
          items.back().push_back({isLoad ? cost.load : cost.latency, memory, c});
      }
    }
    ChoiceEffort effort;
    std::vector<StageChoice> choices;
    if (isMakespan) {
      for (TwoCostChoice &one : chooseByTwoCosts(pairs, g.memory, limit, intervals ? kFewChoices : kMaxChoices, effort))
        choices.push_back({{one.first, one.second}, one.weight, std::move(one.index)});
    } else if (auto one = chooseItems(items, g.memory, limit, intervals ? 1 : kMaxNodes, effort)) {
      choices.push_back({isLoad ? Times{0, one->cost} : Times{one->cost, 0}, one->weight, std::move(one->index)});
    }
    work += 1 + effort.work;
    complete &= effort.isExact;
    return choices;
  }

  /// The profile of these layers that takes the shortest time within the memory.
  std::vector<StageChoice> shortestProfile(int64_t tensor, int64_t flight, const std::vector<Id> &layers) {
    ++work;
    auto [first, last] = std::minmax_element(layers.begin(), layers.end());
    auto found = costs.profiles.find({*first, *last, tensor});
    if (found == costs.profiles.end())
      return {};
    std::optional<StageChoice> best;
    for (uint32_t i : found->second) {
      const auto &one = g.profiles[i];
      double memory = one.memoryPerMicrobatch * double(flight) + one.memoryFixed;
      if (memory > g.memory || flight - 1 > one.maxLater)
        continue;
      LayerCosts::Cost cost = costs.cost(one);
      Times times = options.objective == PipelineObjective::Load      ? Times{0, cost.load}
                    : options.objective == PipelineObjective::Latency ? Times{cost.latency, 0}
                                                                      : Times{cost.latency, cost.remains};
      if (!best || times.value() < best->times.value())
        best = {times, memory, std::vector<uint32_t>(layers.size(), i)};
    }
    return best ? std::vector<StageChoice>{*best} : std::vector<StageChoice>{};
  }

  void reach(uint32_t to, Entry entry) {
    State &state = states[to];
    bool whole = count + members.size() == g.layers.size();
    if (!whole && !mayBeBetter(state, entry))
      return;
    auto isAsGood = [](const Entry &a, const Entry &b) {
      return a.devices <= b.devices && a.data <= b.data && a.times.latency <= b.times.latency &&
             a.times.longest <= b.times.longest;
    };
    for (const Entry &other : state.entries)
      if (isAsGood(other, entry))
        return;
    llvm::erase_if(state.entries, [&](const Entry &other) { return isAsGood(entry, other); });
    state.entries.push_back(entry);
    if (whole)
      record(entry, state.done);
  }

  /// Whether what is not done may end below the cutoff: on the devices left over, and one layer after another.
  bool mayBeBetter(const State &state, const Entry &entry) const {
    double left = double(g.devices - entry.devices);
    if (left == 0 || entry.times.value() + state.restLatency >= cutoff)
      return false;
    switch (options.objective) {
    case PipelineObjective::Load:
      return state.rest < cutoff * left;
    case PipelineObjective::Latency:
      return true;
    case PipelineObjective::Makespan: // the stage with most work takes all of it N / data times
      return state.rest * double(g.microbatches) < (cutoff - entry.times.latency) * left;
    }
    llvm_unreachable("an objective");
  }

  /// The stages that lead to an entry, the first one last reached.
  void record(Entry entry, Set set) {
    std::vector<LayerStage> stages;
    Set kept = stage;
    const bool wasComplete = complete;
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
      auto choices =
          choicesOf(made.tensor, made.data, (entry.data + made.data - 1) / made.data, made.layers, kInfinite);
      auto distance = [&](const StageChoice &one) {
        return std::fabs(one.times.latency - entry.stage.latency) + std::fabs(one.times.longest - entry.stage.longest);
      };
      auto same = std::min_element(choices.begin(), choices.end(), [&](const StageChoice &a, const StageChoice &b) {
        return distance(a) < distance(b);
      });
      made.configuration = same->configuration;
      made.memory = same->memory;
      if (!g.profiles.empty()) {
        LayerCosts::Cost cost = costs.cost(g.profiles[made.configuration[0]]);
        made.load = cost.load, made.latency = cost.latency, made.remains = cost.remains;
      }
      for (size_t i = 0; g.profiles.empty() && i < made.layers.size(); ++i) {
        Id v = made.layers[i];
        LayerCosts::Cost cost = costs.cost(g.layers[v].configurations[made.configuration[i]], v, stage, made.data);
        made.load += cost.load;
        made.latency += cost.latency;
        made.remains += cost.remains;
      }
      stages.push_back(std::move(made));
      if (entry.state == 0)
        break;
      set = before.done;
      entry = before.entries[entry.entry];
    }
    stage = std::move(kept);
    complete = wasComplete;
    if (double value = valueOf(stages, options.objective); value < best.value) {
      best = {value, std::move(stages)};
      cutoff = std::min(cutoff, value * (1 - options.gap));
    }
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
  double latencyAround = 0; ///< no plan with this stage has less in all the others
  size_t count = 0;
  std::vector<Id> members;
  std::vector<double> sums; ///< by tensor degree: the shortest times together
};

/// No plan has less: all work on all devices; the layer that takes longest whatever its configuration; one layer after
/// another.
double lowerBound(const LayerCosts &costs, const LayerPlanOptions &options) {
  const LayerGraph &g = costs.g;
  double work = 0, latency = 0, longest = 0;
  for (Id v = 0; v < g.layers.size(); ++v) {
    work += costs.minWork[v];
    latency += costs.minLatency[v];
  }
  for (Id v = 0; v < g.layers.size(); ++v) {
    double shortest = kInfinite;
    for (size_t t = 0; t < costs.tensors.size(); ++t)
      shortest = std::min(shortest, timesOf(options, g.microbatches, costs.minTime[t][v],
                                            options.allowReplicas ? g.devices / costs.tensors[t] : int64_t(1))
                                        .value());
    longest = std::max(longest,
                       shortest + (options.objective == PipelineObjective::Load ? 0 : latency - costs.minLatency[v]));
  }
  double turns = options.objective == PipelineObjective::Makespan ? double(g.microbatches) : 1;
  return options.objective == PipelineObjective::Latency ? latency
                                                         : std::max(longest, work * turns / double(g.devices));
}

} // namespace

LayerPlan planLayers(const LayerGraph &graph, const LayerPlanOptions &given) {
  LayerPlan plan;
  LayerPlanOptions options = given;
  options.allowReplicas &= graph.profiles.empty();
  LayerCosts costs(graph);
  plan.objective = options.objective;
  const double lower = lowerBound(costs, options);
  int64_t budget = int64_t(1) << (14 + std::min(options.effort, kMaxEffort));
  double cutoff = kInfinite;
  auto search = [&](std::vector<Id> order, bool intervals, int64_t work) {
    StageSearch one(costs, options, std::move(order), intervals, work, cutoff);
    auto found = one.run();
    plan.stagesTried += one.work;
    if (!found.stages.empty()) {
      plan.status = LayerPlan::Status::Feasible;
      plan.value = found.value;
      plan.stages = std::move(found.stages);
      cutoff = plan.value * (1 - options.gap);
    }
    if (options.progress)
      options.progress({intervals ? "orders" : "sets", plan.value * 1e12, lower * 1e12});
    return one.complete;
  };
  for (bool depthFirst : {false, true})
    search(reverseOrder(costs, depthFirst), true, budget / 8);
  bool complete = search(reverseOrder(costs, false), false, budget - plan.stagesTried);
  bool feasible = plan.status == LayerPlan::Status::Feasible;
  if (complete && !feasible)
    plan.status = LayerPlan::Status::Infeasible;
  plan.bound = complete && feasible ? std::max(lower, cutoff) : lower;
  plan.bound = feasible ? std::min(plan.bound, plan.value) : 0;
  plan.proof = complete                                          ? "no stages below it"
               : options.objective == PipelineObjective::Latency ? "all layers one after another"
                                                                 : "all work on all devices";
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
