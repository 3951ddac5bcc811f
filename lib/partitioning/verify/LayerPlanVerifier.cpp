#include "lib/partitioning/verify/LayerPlanVerifier.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

class LayerPlanVerifier {
public:
  LayerPlanVerifier(const LayerGraph &graph, const LayerPlan &plan) : g(graph), p(plan) {}

  Errors run() {
    errors = check(g);
    if (!errors.empty() || p.status != LayerPlan::Status::Feasible || !places())
      return std::move(errors);
    for (const auto &edge : g.edges)
      if (at[edge.from] > at[edge.to])
        report(Code::StageOrderBroken,
               fmt::format("the edge from '{}' to '{}' points from stage {} back to {}", g.layers[edge.from].name,
                           g.layers[edge.to].name, at[edge.from] + 1, at[edge.to] + 1));
    int64_t devices = 0, replicas = 0;
    for (size_t s = p.stages.size(); s-- > 0;) {
      replicas += p.stages[s].data;
      devices += p.stages[s].data * p.stages[s].tensor;
      stage(s, replicas);
    }
    if (devices > g.devices || replicas > g.microbatches)
      report(Code::MemoryExceeded, fmt::format("{} devices and {} replicas are used of {} devices and {} micro-batches",
                                               devices, replicas, g.devices, g.microbatches));
    double value = valueOf(p.stages, p.objective);
    if (!isNear(value, p.value) || p.bound > p.value * (1 + kNear) || !(p.bound >= 0))
      report(Code::WrongObjective,
             fmt::format("stated {} {} s and bound {} s, the stages have {} s",
                         kPipelineObjectives[static_cast<size_t>(p.objective)], p.value, p.bound, value));
    return std::move(errors);
  }

private:
  static constexpr double kNear = 1e-9;
  static bool isNear(double a, double b) { return std::fabs(a - b) <= kNear * std::max(std::fabs(a), std::fabs(b)); }

  void report(Code code, std::string message) {
    if (errors.size() < 20)
      errors.push_back({code, std::move(message), g.location, {}});
  }

  bool places() {
    at.assign(g.layers.size(), SIZE_MAX);
    for (size_t s = 0; s < p.stages.size(); ++s) {
      const LayerStage &stage = p.stages[s];
      if (stage.layers.empty() || stage.layers.size() != stage.configuration.size() || stage.data < 1 ||
          stage.tensor < 1 || g.microbatches % stage.data != 0) {
        report(Code::OperationMissing, fmt::format("stage {} has no layer, or degrees that it cannot have", s + 1));
        return false;
      }
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        LayerGraph::Id v = stage.layers[i];
        if (v >= g.layers.size() || at[v] != SIZE_MAX || !isConfiguration(stage, i)) {
          report(Code::OperationMissing,
                 fmt::format("stage {} has layer {}, which is unknown, elsewhere, or of another degree", s + 1, v));
          return false;
        }
        at[v] = s;
      }
    }
    for (LayerGraph::Id v = 0; v < g.layers.size(); ++v)
      if (at[v] == SIZE_MAX)
        report(Code::OperationMissing, fmt::format("'{}' is in no stage", g.layers[v].name));
    return errors.empty();
  }

  /// Whether a layer of a stage has its configuration, in the stage's degree; a profile is that of the whole stage.
  bool isConfiguration(const LayerStage &stage, size_t i) const {
    uint32_t index = stage.configuration[i];
    if (g.profiles.empty()) {
      const auto &all = g.layers[stage.layers[i]].configurations;
      return index < all.size() && all[index].tensor == stage.tensor;
    }
    if (index >= g.profiles.size() || stage.data != 1)
      return false;
    const auto &one = g.profiles[index];
    return one.tensor == stage.tensor && one.last - one.first + 1 == stage.layers.size() &&
           one.first <= stage.layers[i] && stage.layers[i] <= one.last && index == stage.configuration[0];
  }

  void profiledStage(size_t s, int64_t replicas) {
    const LayerStage &stage = p.stages[s];
    const auto &one = g.profiles[stage.configuration[0]];
    double memory = one.memoryPerMicrobatch * double(replicas) + one.memoryFixed;
    compare(s, one.time, one.time, double(g.microbatches - 1) * one.time, memory);
    if (replicas - 1 > one.maxLater)
      report(Code::MemoryExceeded,
             fmt::format("{} stages follow stage {}, whose memory allows {}", replicas - 1, s + 1, one.maxLater));
  }

  /// What a stage states, and what it has.
  void compare(size_t s, double load, double latency, double remains, double memory) {
    const LayerStage &stage = p.stages[s];
    if (!isNear(load, stage.load) || !isNear(memory, stage.memory) || !isNear(latency, stage.latency) ||
        !isNear(remains, stage.remains))
      report(Code::WrongObjective,
             fmt::format("stage {} states {} s in {} B, a latency of {} s and {} s after it; it has {} s in {} B, {} s "
                         "and {} s",
                         s + 1, stage.load, stage.memory, stage.latency, stage.remains, load, memory, latency,
                         remains));
    if (memory > g.memory * (1 + kNear))
      report(Code::MemoryExceeded,
             fmt::format("stage {} takes {:.0f} B of a device's {:.0f} B", s + 1, memory, g.memory));
  }

  /// `replicas`: of this and the later stages.
  void stage(size_t s, int64_t replicas) {
    if (!g.profiles.empty())
      return profiledStage(s, replicas);
    const LayerStage &stage = p.stages[s];
    double compute = 0, moved = 0, awaited = 0, reduced = 0, memory = 0;
    double flight = std::ceil(double(replicas) / double(stage.data));
    std::vector<const LayerGraph::Configuration *> chosen(g.layers.size(), nullptr);
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      const auto &one = g.layers[stage.layers[i]].configurations[stage.configuration[i]];
      chosen[stage.layers[i]] = &one;
      compute += one.time;
      reduced += one.parameterBytes;
      memory += one.memoryPerMicrobatch * flight + one.memoryFixed;
    }
    std::vector<size_t> incoming(g.layers.size()), outgoing(g.layers.size());
    for (const auto &edge : g.edges) {
      size_t in = incoming[edge.to]++, out = outgoing[edge.from]++;
      if (at[edge.from] == at[edge.to])
        continue;
      if (at[edge.to] == s) {
        moved += 2 * (edge.bytes + chosen[edge.to]->syncIn[in]);
        awaited += 2 * (edge.bytes + chosen[edge.to]->syncIn[in]);
      }
      if (at[edge.from] == s) {
        moved += 2 * (edge.bytes + chosen[edge.from]->syncOut[out]);
        awaited += 2 * chosen[edge.from]->syncOut[out];
      }
    }
    double d = double(stage.data), reduction = g.reductionFactor * (d - 1) / d * reduced / g.bandwidth;
    double turn = compute + moved / g.bandwidth, load = turn / d + reduction / double(g.microbatches);
    double latency = compute + awaited / g.bandwidth, remains = (double(g.microbatches) / d - 1) * turn + reduction;
    compare(s, load, latency, remains, memory);
  }

  const LayerGraph &g;
  const LayerPlan &p;
  std::vector<size_t> at;
  Errors errors;
};

} // namespace

Errors verify(const LayerGraph &graph, const LayerPlan &plan) { return LayerPlanVerifier(graph, plan).run(); }

} // namespace accord
