#include "lib/partitioning/verify/LayerPlanBoundProof.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_set>

namespace accord {
namespace {

using Id = LayerGraph::Id;

/// Of loads, in which sums of the same numbers in another order may differ.
constexpr double kNear = 1e-9;
/// States that are kept, and layers of one graph.
constexpr size_t kMaxStates = 1'000'000, kMaxLayers = 2'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class BoundSearch {
public:
  BoundSearch(const LayerGraph &graph, double bound, bool allowReplicas, uint64_t effort)
      : g(graph), n(graph.layers.size()), limit(bound * (1 - kNear)), effort(effort), edgesOf(n),
        minWork(n, kInfinity) {
    for (int64_t d = 1; d <= (allowReplicas ? std::min(g.devices, g.microbatches) : 1); ++d)
      if (g.microbatches % d == 0)
        degrees.push_back(d);
    for (size_t e = 0; e < g.edges.size(); ++e) {
      edgesOf[g.edges[e].from].push_back(e);
      edgesOf[g.edges[e].to].push_back(e);
    }
    for (Id v = 0; v < n; ++v)
      for (const auto &one : g.layers[v].configurations)
        if (one.tensor <= g.devices && one.memoryFixed + one.memoryPerMicrobatch <= g.memory * (1 + kNear))
          minWork[v] = std::min(minWork[v], one.time * double(one.tensor));
  }

  BoundVerdict run() {
    if (byWork())
      return BoundVerdict::Holds;
    if (n > kMaxLayers)
      return BoundVerdict::Open;
    bool below = search(std::string(n, 0), g.devices, 0, 0);
    return below ? BoundVerdict::Broken : isSpent() ? BoundVerdict::Open : BoundVerdict::Holds;
  }

private:
  using Layers = std::vector<Id>;

  bool isSpent() const { return steps > effort || failed.size() > kMaxStates; }

  bool byWork() const {
    double all = 0;
    for (Id v = 0; v < n; ++v) {
      all += minWork[v];
      if (minWork[v] / double(g.devices) >= limit)
        return true;
    }
    return all / double(g.devices) >= limit;
  }

  /// Whether the layers that are not `done` fit into stages before, on `left` devices, each below the limit.
  bool search(const std::string &done, int64_t left, int64_t replicas, size_t count) {
    if (count == n)
      return true;
    double rest = 0;
    for (Id v = 0; v < n; ++v)
      rest += done[v] ? 0 : minWork[v];
    if (left == 0 || isSpent() || rest / double(left) >= limit)
      return false;
    std::string state = done;
    state.append(reinterpret_cast<const char *>(&left), sizeof left);
    state.append(reinterpret_cast<const char *>(&replicas), sizeof replicas);
    if (failed.count(state))
      return false;
    std::set<Layers> seen;
    bool found = extend({}, done, seen, left, replicas, count);
    failed.insert(std::move(state));
    return found;
  }

  /// Stages that hold `stage` and more layers, each of which only what is done or in the stage follows.
  bool extend(const Layers &stage, const std::string &done, std::set<Layers> &seen, int64_t left, int64_t replicas,
              size_t count) {
    for (Id v = 0; v < n && !isSpent(); ++v) {
      if (done[v] || std::binary_search(stage.begin(), stage.end(), v) || !isLast(v, stage, done))
        continue;
      Layers larger = stage;
      larger.insert(std::lower_bound(larger.begin(), larger.end(), v), v);
      ++steps;
      if (!seen.insert(larger).second || !mayFit(larger, left, replicas))
        continue;
      if (finish(larger, done, left, replicas, count) || extend(larger, done, seen, left, replicas, count))
        return true;
    }
    return false;
  }

  bool isLast(Id v, const Layers &stage, const std::string &done) const {
    return std::all_of(edgesOf[v].begin(), edgesOf[v].end(), [&](size_t e) {
      Id to = g.edges[e].to;
      return to == v || done[to] || std::binary_search(stage.begin(), stage.end(), to);
    });
  }

  /// What holds of all larger stages, too: their layers alone take at least this.
  bool mayFit(const Layers &stage, int64_t left, int64_t replicas) {
    for (int64_t tensor : tensorsOf(stage))
      for (auto d = degrees.rbegin(); d != degrees.rend(); ++d) {
        if (tensor * *d > left || replicas + *d > g.microbatches)
          continue;
        double time = 0, memory = 0;
        for (Id v : stage) {
          double minTime = kInfinity, minMemory = kInfinity;
          for (const auto &one : g.layers[v].configurations)
            if (one.tensor == tensor) {
              minTime = std::min(minTime, one.time);
              minMemory = std::min(minMemory, one.memoryFixed + one.memoryPerMicrobatch);
            }
          time += minTime, memory += minMemory;
        }
        if (time / double(*d) < limit && memory <= g.memory * (1 + kNear))
          return true;
        break; // smaller degrees take longer
      }
    return false;
  }

  /// Degrees in which all layers of a stage were profiled.
  std::set<int64_t> tensorsOf(const Layers &stage) const {
    std::set<int64_t> all;
    for (const auto &one : g.layers[stage[0]].configurations)
      all.insert(one.tensor);
    for (Id v : stage)
      std::erase_if(all, [&](int64_t tensor) {
        return std::none_of(g.layers[v].configurations.begin(), g.layers[v].configurations.end(),
                            [&](const auto &one) { return one.tensor == tensor; });
      });
    return all;
  }

  bool finish(const Layers &stage, const std::string &done, int64_t left, int64_t replicas, size_t count) {
    std::string after = done;
    for (Id v : stage)
      after[v] = 1;
    for (int64_t tensor : tensorsOf(stage))
      for (int64_t d : degrees)
        if (tensor * d <= left && replicas + d <= g.microbatches && isBelow(stage, tensor, d, replicas + d) &&
            search(after, left - tensor * d, replicas + d, count + stage.size()))
          return true;
    return false;
  }

  struct Pair {
    double load, memory;
  };

  /// Whether some configurations keep the stage below the limit and in memory.
  bool isBelow(const Layers &stage, int64_t tensor, int64_t data, int64_t replicas) {
    double d = double(data), flight = std::ceil(double(replicas) / d);
    std::vector<Pair> front = {{0, 0}};
    for (Id v : stage) {
      std::vector<Pair> next;
      for (const auto &one : g.layers[v].configurations) {
        if (one.tensor != tensor)
          continue;
        double load = (one.time + 2 * cutBytes(v, one, stage) / g.bandwidth) / d +
                      g.reductionFactor * (d - 1) / d * one.parameterBytes / double(g.microbatches) / g.bandwidth;
        double memory = one.memoryPerMicrobatch * flight + one.memoryFixed;
        for (const Pair &pair : front)
          if (pair.load + load < limit && pair.memory + memory <= g.memory * (1 + kNear))
            next.push_back({pair.load + load, pair.memory + memory});
        steps += front.size();
      }
      std::sort(next.begin(), next.end(),
                [](const Pair &a, const Pair &b) { return std::pair(a.load, a.memory) < std::pair(b.load, b.memory); });
      front.clear();
      for (const Pair &pair : next)
        if (front.empty() || pair.memory < front.back().memory)
          front.push_back(pair);
    }
    return !front.empty();
  }

  /// Of a layer's edges that leave the stage, in the order in which a configuration lists what they exchange beside.
  double cutBytes(Id v, const LayerGraph::Configuration &one, const Layers &stage) const {
    double bytes = 0;
    size_t in = 0, out = 0;
    for (size_t e : edgesOf[v]) {
      const auto &edge = g.edges[e];
      bool comes = edge.to == v;
      double sync = comes ? one.syncIn[in++] : one.syncOut[out++];
      if (!std::binary_search(stage.begin(), stage.end(), comes ? edge.from : edge.to))
        bytes += edge.bytes + sync;
    }
    return bytes;
  }

  const LayerGraph &g;
  size_t n;
  double limit;
  uint64_t effort, steps = 0;
  std::vector<std::vector<size_t>> edgesOf; ///< by layer, in the order of the graph's
  std::vector<double> minWork;              ///< by layer: device time
  std::vector<int64_t> degrees;             ///< data degrees
  std::unordered_set<std::string> failed;   ///< states from which no plan is below the limit
};

} // namespace

BoundVerdict proveLayerPlanBound(const LayerGraph &graph, double bound, bool allowReplicas, uint64_t effort) {
  return BoundSearch(graph, bound, allowReplicas, effort).run();
}

} // namespace accord
