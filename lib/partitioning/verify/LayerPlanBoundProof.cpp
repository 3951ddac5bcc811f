#include "lib/partitioning/verify/LayerPlanBoundProof.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

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
  BoundSearch(const LayerGraph &graph, double bound, bool allowReplicas, PipelineObjective objective, uint64_t effort)
      : g(graph), n(graph.layers.size()), objective(objective), limit(bound * (1 - kNear)), effort(effort), edgesOf(n),
        minWork(n, kInfinity), minTime(n, kInfinity) {
    for (int64_t d = 1; d <= (allowReplicas ? std::min(g.devices, g.microbatches) : 1); ++d)
      if (g.microbatches % d == 0)
        degrees.push_back(d);
    for (size_t e = 0; e < g.edges.size(); ++e) {
      edgesOf[g.edges[e].from].push_back(e);
      edgesOf[g.edges[e].to].push_back(e);
    }
    for (Id v = 0; v < n; ++v)
      for (const auto &one : g.layers[v].configurations)
        if (one.tensor <= g.devices && one.memoryFixed + one.memoryPerMicrobatch <= g.memory * (1 + kNear)) {
          minWork[v] = std::min(minWork[v], one.time * double(one.tensor));
          minTime[v] = std::min(minTime[v], one.time);
        }
    // A stage that was profiled takes the shares of its layers or more.
    for (const auto &one : g.profiles)
      for (Id v = one.first; one.tensor <= g.devices && v <= one.last; ++v) {
        double share = one.time / double(one.last + 1 - one.first);
        minWork[v] = std::min(minWork[v], share * double(one.tensor));
        minTime[v] = std::min(minTime[v], share);
      }
  }

  BoundVerdict run() {
    if (byWork())
      return BoundVerdict::Holds;
    if (n > kMaxLayers)
      return BoundVerdict::Open;
    bool below = search(std::string(n, 0), g.devices, 0, 0, {});
    return below ? BoundVerdict::Broken : isSpent() ? BoundVerdict::Open : BoundVerdict::Holds;
  }

private:
  using Layers = std::vector<Id>;

  bool isSpent() const { return steps > effort || kept > kMaxStates; }

  /// Of stages: the sum of latencies, and the longest load or remainder; 0 where the objective does not count it.
  struct Times {
    double latency = 0, longest = 0;
  };

  /// Whether layers of so much device time, and so many seconds one after another, are at the limit or above on so many
  /// devices, after stages of these times.
  bool isTooMuch(double work, double time, double devices, const Times &after) const {
    switch (objective) {
    case PipelineObjective::Load:
      return work / devices >= limit;
    case PipelineObjective::Latency:
      return after.latency + time >= limit;
    case PipelineObjective::Makespan:
      return after.latency + std::max(time + after.longest, double(g.microbatches) * work / devices) >= limit;
    }
    return false;
  }

  bool byWork() const {
    double all = 0, time = 0;
    for (Id v = 0; v < n; ++v) {
      all += minWork[v];
      time += minTime[v];
      if (isTooMuch(minWork[v], minTime[v], double(g.devices), {}))
        return true;
    }
    return isTooMuch(all, time, double(g.devices), {});
  }

  /// Whether the layers that are not `done` fit into stages before, on `left` devices, below the limit with `after`.
  bool search(const std::string &done, int64_t left, int64_t replicas, size_t count, const Times &after) {
    if (count == n)
      return true;
    double rest = 0, time = 0;
    for (Id v = 0; v < n; ++v)
      if (!done[v])
        rest += minWork[v], time += minTime[v];
    if (left == 0 || isSpent() || isTooMuch(rest, time, double(left), after))
      return false;
    std::string state = done;
    state.append(reinterpret_cast<const char *>(&left), sizeof left);
    state.append(reinterpret_cast<const char *>(&replicas), sizeof replicas);
    std::vector<Times> &known = failed[state];
    for (const Times &one : known)
      if (++steps; one.latency <= after.latency && one.longest <= after.longest)
        return false;
    std::set<Layers> seen;
    bool found = extend({}, {done, left, replicas, count, time, after}, seen);
    std::erase_if(failed[state],
                  [&](const Times &one) { return after.latency <= one.latency && after.longest <= one.longest; });
    failed[state].push_back(after);
    ++kept;
    return found;
  }

  /// What stages behind have done.
  struct Behind {
    const std::string &done;
    int64_t left, replicas;
    size_t count;
    double time; ///< seconds that the rest takes at least
    const Times &times;
  };

  /// Stages that hold `stage` and more layers, each of which only what is done or in the stage follows.
  bool extend(const Layers &stage, const Behind &behind, std::set<Layers> &seen) {
    for (Id v = 0; v < n && !isSpent(); ++v) {
      if (behind.done[v] || std::binary_search(stage.begin(), stage.end(), v) || !isLast(v, stage, behind.done))
        continue;
      Layers larger = stage;
      larger.insert(std::lower_bound(larger.begin(), larger.end(), v), v);
      ++steps;
      if (!seen.insert(larger).second || !mayFit(larger, behind))
        continue;
      if (finish(larger, behind) || extend(larger, behind, seen))
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
  bool mayFit(const Layers &stage, const Behind &behind) {
    if (!g.profiles.empty()) {
      double time = 0;
      for (Id v : stage)
        time += minTime[v];
      return isBelow(sumOf(behind.times, minTimes(time, 1)), behind.time - time);
    }
    for (int64_t tensor : tensorsOf(stage))
      for (auto d = degrees.rbegin(); d != degrees.rend(); ++d) {
        if (tensor * *d > behind.left || behind.replicas + *d > g.microbatches)
          continue;
        double time = 0, memory = 0, others = behind.time;
        for (Id v : stage) {
          double shortest = kInfinity, minMemory = kInfinity;
          for (const auto &one : g.layers[v].configurations)
            if (one.tensor == tensor) {
              shortest = std::min(shortest, one.time);
              minMemory = std::min(minMemory, one.memoryFixed + one.memoryPerMicrobatch);
            }
          time += shortest, memory += minMemory, others -= minTime[v];
        }
        if (memory <= g.memory * (1 + kNear) && isBelow(sumOf(behind.times, minTimes(time, *d)), others))
          return true;
        break; // smaller degrees take longer
      }
    return false;
  }

  /// Of so many seconds of computation on d replicas.
  Times minTimes(double time, int64_t d) const {
    switch (objective) {
    case PipelineObjective::Load:
      return {0, time / double(d)};
    case PipelineObjective::Latency:
      return {time, 0};
    case PipelineObjective::Makespan:
      return {time, (double(g.microbatches) / double(d) - 1) * time};
    }
    return {};
  }

  static Times sumOf(const Times &a, const Times &b) { return {a.latency + b.latency, std::max(a.longest, b.longest)}; }

  /// Whether these stages, and others that take `others` seconds one after another, are below the limit.
  bool isBelow(const Times &times, double others) const {
    double more = objective == PipelineObjective::Load ? 0 : std::max(others, 0.0);
    return times.latency + times.longest + more < limit;
  }

  /// Degrees in which all layers of a stage were profiled.
  std::set<int64_t> tensorsOf(const Layers &stage) const {
    std::set<int64_t> all;
    for (const auto &one : g.profiles)
      if (one.first == stage.front() && one.last == stage.back())
        all.insert(one.tensor);
    if (!g.profiles.empty())
      return all;
    for (const auto &one : g.layers[stage[0]].configurations)
      all.insert(one.tensor);
    for (Id v : stage)
      std::erase_if(all, [&](int64_t tensor) {
        return std::none_of(g.layers[v].configurations.begin(), g.layers[v].configurations.end(),
                            [&](const auto &one) { return one.tensor == tensor; });
      });
    return all;
  }

  bool finish(const Layers &stage, const Behind &behind) {
    std::string after = behind.done;
    double others = behind.time;
    for (Id v : stage)
      after[v] = 1, others -= minTime[v];
    for (int64_t tensor : tensorsOf(stage))
      for (int64_t d : degrees) {
        int64_t left = behind.left - tensor * d, replicas = behind.replicas + d;
        if (left < 0 || replicas > g.microbatches)
          continue;
        for (const Times &times : frontOf(stage, tensor, d, replicas, behind.times, others))
          if (search(after, left, replicas, behind.count + stage.size(), sumOf(behind.times, times)))
            return true;
      }
    return false;
  }

  struct Choice {
    Times times;
    double memory = 0;
  };

  /// Times of the stage in configurations that keep it in memory, and the plan below the limit: those that none is
  /// better than. Where only the longest load counts, all are as good as 0.
  std::vector<Times> frontOf(const Layers &stage, int64_t tensor, int64_t data, int64_t replicas, const Times &behind,
                             double others) {
    double flight = std::ceil(double(replicas) / double(data));
    if (!g.profiles.empty())
      return timesOfProfiles(stage, tensor, replicas, behind, others);
    std::vector<Choice> front = {{}};
    for (size_t i = 0; i < stage.size(); ++i) {
      Id v = stage[i];
      std::vector<Choice> next;
      for (const auto &one : g.layers[v].configurations) {
        if (one.tensor != tensor)
          continue;
        Times more = timesOf(v, one, stage, data);
        double memory = one.memoryPerMicrobatch * flight + one.memoryFixed;
        for (const Choice &choice : front) {
          Choice sum{{choice.times.latency + more.latency, choice.times.longest + more.longest},
                     choice.memory + memory};
          if (isBelow(sumOf(behind, sum.times), others) && sum.memory <= g.memory * (1 + kNear))
            next.push_back(sum);
        }
        steps += front.size();
      }
      keepBest(next, i + 1 == stage.size());
      front = std::move(next);
    }
    std::vector<Times> all;
    for (const Choice &one : front)
      all.push_back(objective == PipelineObjective::Load ? Times{} : one.times);
    return all;
  }

  /// Of profiles of these layers in a chain.
  std::vector<Times> timesOfProfiles(const Layers &stage, int64_t tensor, int64_t replicas, const Times &behind,
                                     double others) {
    std::vector<Times> all;
    for (const auto &one : g.profiles) {
      ++steps;
      if (one.first != stage.front() || one.last != stage.back() || one.tensor != tensor ||
          replicas - 1 > one.maxLater ||
          one.memoryFixed + one.memoryPerMicrobatch * double(replicas) > g.memory * (1 + kNear))
        continue;
      Times times = minTimes(one.time, 1);
      if (isBelow(sumOf(behind, times), others))
        all.push_back(objective == PipelineObjective::Load ? Times{} : times);
    }
    return all;
  }

  void keepBest(std::vector<Choice> &all, bool isMemoryFree) {
    std::sort(all.begin(), all.end(), [](const Choice &a, const Choice &b) {
      return std::tuple(a.times.latency, a.times.longest, a.memory) <
             std::tuple(b.times.latency, b.times.longest, b.memory);
    });
    std::vector<Choice> best;
    for (const Choice &one : all) {
      bool isBetter = std::none_of(best.begin(), best.end(), [&](const Choice &other) {
        ++steps;
        return other.times.longest <= one.times.longest && (isMemoryFree || other.memory <= one.memory);
      });
      if (isBetter)
        best.push_back(one);
    }
    all = std::move(best);
  }

  /// What a layer adds to its stage.
  Times timesOf(Id v, const LayerGraph::Configuration &one, const Layers &stage, int64_t data) const {
    double d = double(data), n = double(g.microbatches);
    Bytes cut = cutBytes(v, one, stage);
    double turn = one.time + 2 * (cut.received + cut.sent) / g.bandwidth;
    double reduction = g.reductionFactor * (d - 1) / d * one.parameterBytes / g.bandwidth;
    double latency = one.time + 2 * cut.received / g.bandwidth;
    switch (objective) {
    case PipelineObjective::Load:
      return {0, turn / d + reduction / n};
    case PipelineObjective::Latency:
      return {latency, 0};
    case PipelineObjective::Makespan:
      return {latency, (n / d - 1) * turn + reduction};
    }
    return {};
  }

  /// Over cut edges: what a micro-batch waits for, and results that others wait for.
  struct Bytes {
    double received = 0, sent = 0;
  };

  /// Of a layer's edges that leave the stage, in the order in which a configuration lists what they exchange beside.
  Bytes cutBytes(Id v, const LayerGraph::Configuration &one, const Layers &stage) const {
    Bytes bytes;
    size_t in = 0, out = 0;
    for (size_t e : edgesOf[v]) {
      const auto &edge = g.edges[e];
      bool comes = edge.to == v;
      double sync = comes ? one.syncIn[in++] : one.syncOut[out++];
      if (std::binary_search(stage.begin(), stage.end(), comes ? edge.from : edge.to))
        continue;
      bytes.received += sync + (comes ? edge.bytes : 0);
      bytes.sent += comes ? 0 : edge.bytes;
    }
    return bytes;
  }

  const LayerGraph &g;
  size_t n;
  PipelineObjective objective;
  double limit;
  uint64_t effort, steps = 0, kept = 0;
  std::vector<std::vector<size_t>> edgesOf; ///< by layer, in the order of the graph's
  std::vector<double> minWork, minTime;     ///< by layer: device time, and time
  std::vector<int64_t> degrees;             ///< data degrees
  /// Times with which no plan is below the limit from this state.
  std::unordered_map<std::string, std::vector<Times>> failed;
};

} // namespace

BoundVerdict proveLayerPlanBound(const LayerGraph &graph, double bound, bool allowReplicas, PipelineObjective objective,
                                 uint64_t effort) {
  return BoundSearch(graph, bound, allowReplicas, objective, effort).run();
}

} // namespace accord
