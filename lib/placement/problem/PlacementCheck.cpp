// Whether a placement problem may be computed on.
#include "lib/placement/problem/Placement.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

constexpr double kMax = 0x1p61;
/// Of what is no integer: watts, prices, joules, picoseconds per byte.
constexpr double kLargest = 1e30;

class PlacementChecker {
public:
  explicit PlacementChecker(const PlacementProblem &problem) : p(problem) {}

  Errors run() {
    head();
    for (const auto &deviceType : p.deviceTypes)
      kindOf(deviceType);
    for (size_t f = 0; f < p.parallelConfigs.size(); ++f)
      parallelConfig(f);
    for (const auto &one : p.classes)
      layerClass(one);
    for (const auto &layer : p.layers) {
      if (layer.of >= p.classes.size())
        report(layer.location,
               fmt::format("layer '{}' is of class {}, there are {}", layer.name, layer.of, p.classes.size()));
      for (size_t i = 0; i < layer.placementConstraints.size(); ++i)
        if (layer.placementConstraints[i] >= p.placementConstraints.size() ||
            (i > 0 && layer.placementConstraints[i] <= layer.placementConstraints[i - 1]))
          report(layer.location, fmt::format("layer '{}' lists placement constraint {} of {}", layer.name,
                                             layer.placementConstraints[i], p.placementConstraints.size()));
    }
    for (const auto &constraint : p.placementConstraints) {
      for (size_t i = 0; i < constraint.deviceTypes.size(); ++i)
        if (constraint.deviceTypes[i] >= p.deviceTypes.size() ||
            (i > 0 && constraint.deviceTypes[i] <= constraint.deviceTypes[i - 1]))
          report(constraint.location, fmt::format("'{}' lists device type {} of {}", constraint.text,
                                                  constraint.deviceTypes[i], p.deviceTypes.size()));
      if (constraint.stage)
        natural(constraint.location, "the stage of a placement constraint", *constraint.stage);
    }
    for (const auto &edge : p.edges) {
      if (edge.from >= edge.to || edge.to >= p.layers.size())
        report(p.location, fmt::format("an edge from layer {} to {} of {}", edge.from, edge.to, p.layers.size()));
      natural(p.location, "an edge's bytes", edge.bytes);
    }
    if (errors.empty())
      totals();
    return std::move(errors);
  }

private:
  void report(const SourceLocation &at, std::string text) {
    if (errors.size() < 20)
      errors.push_back({Code::MalformedPlacementProblem, std::move(text), at, {}});
  }
  void natural(const SourceLocation &at, const char *what, int64_t value, int64_t min = 0) {
    if (value < min || value > kMax)
      report(at, fmt::format("{} {} {}, which has to be {} to 2^61", what,
                             std::string_view(what).ends_with('s') ? "are" : "is", value, min));
  }
  void natural(const std::string &what, int64_t value, int64_t min = 0) {
    natural(p.location, what.c_str(), value, min);
  }
  void number(const SourceLocation &at, const std::string &what, double value, double max = kLargest) {
    if (!(value >= 0 && value <= max))
      report(at, fmt::format("{} is {}, which has to be 0 to {}", what, value, max));
  }
  void alternatives(const std::string &what, const std::vector<AlphaBetaModel> &list) {
    for (const AlphaBetaModel &way : list) {
      number(p.location, what + ": latency", way.latency);
      number(p.location, what + ": time per byte", way.perByte);
    }
  }

  void head() {
    for (auto [what, count] : {std::pair<const char *, size_t>{"layers", p.layers.size()},
                               {"device types", p.deviceTypes.size()},
                               {"forms", p.parallelConfigs.size()},
                               {"schedules", p.schedules.size()}})
      if (count == 0)
        report(p.location, fmt::format("there are no {}", what));
    if (static_cast<size_t>(p.objective) >= objectiveFormulas().size())
      report(p.location, fmt::format("objective {} is none", static_cast<unsigned>(p.objective)));
    for (PipelineSchedule schedule : p.schedules) {
      if (static_cast<size_t>(schedule) >= scheduleModels().size())
        report(p.location, fmt::format("schedule {} is none", static_cast<unsigned>(schedule)));
      else if (modelOf(schedule).virtualStages == ScheduleModel::VirtualStages::Listed && p.virtualStages.empty())
        report(p.location, fmt::format("schedule {} has no number of virtual stages", name(schedule)));
    }
    if (p.uniformClass && std::ranges::find(p.layers, *p.uniformClass, &PlacementProblem::Layer::of) == p.layers.end())
      report(p.location,
             fmt::format("uniform stages divide the layers of class {}, of which there are none", *p.uniformClass));
    for (int64_t v : p.virtualStages)
      natural("a number of virtual stages", v, 1);
    natural("the batch", p.batch, 1);
    for (size_t i = 0; i < p.groups.size(); ++i) {
      natural("the minimum number of groups", p.groups[i].min, 1);
      if (p.groups[i].max < p.groups[i].min || (i > 0 && p.groups[i].min <= p.groups[i - 1].max))
        report(p.location, fmt::format("ranges of groups do not ascend: {} to {}", p.groups[i].min, p.groups[i].max));
    }
    natural("what the host takes for a micro-batch", p.hostOverheadPerMicrobatch);
    natural("what the host takes for a step", p.hostOverheadPerStep);
    natural("the minimum step time", p.minStep);
    for (const auto &tie : p.ties)
      if (tie.a >= tie.b || tie.b >= p.layers.size())
        report(p.location,
               fmt::format("layers {} and {} of {} have a parameter in common", tie.a, tie.b, p.layers.size()));
    number(p.location, "the overlap fraction of a backward pass", p.overlapFraction, 1);
    number(p.location, "the maximum overlap of gradient synchronization", p.maxOverlap, 1);
    natural("the limit of a step", p.limits.step);
    natural("the limit of devices", p.limits.devices);
    number(p.location, "what a joule costs", p.costPerJoule);
    number(p.location, "the limit of watts", p.limits.watts);
    number(p.location, "the limit of joules", p.limits.joules);
    number(p.location, "the limit of price", p.limits.price);
    if (p.links.size() != p.deviceTypes.size() * p.deviceTypes.size())
      report(p.location, fmt::format("{} links between {} device types", p.links.size(), p.deviceTypes.size()));
    for (const auto &link : p.links)
      alternatives("a link", {link.intraNode, link.interNode});
  }

  void kindOf(const DeviceType &deviceType) {
    auto count = [&](const char *what, int64_t value, int64_t min) {
      natural(deviceType.location, fmt::format("'{}': {}", deviceType.name, what).c_str(), value, min);
    };
    count("devices", deviceType.devices, 0);
    count("devices in servers", deviceType.devicesPerNode, 1);
    count("memory", deviceType.memory, 0);
    count("memory of its host", deviceType.hostMemory, 0);
    number(deviceType.location, fmt::format("'{}': idle power", deviceType.name), deviceType.idleWatts);
    number(deviceType.location, fmt::format("'{}': power of its host", deviceType.name), deviceType.hostWatts);
    number(deviceType.location, fmt::format("'{}': thermal design power", deviceType.name), deviceType.tdpWatts);
    number(deviceType.location, fmt::format("'{}': price", deviceType.name), deviceType.pricePerHour);
  }

  void parallelConfig(size_t f) {
    const auto &parallelConfig = p.parallelConfigs[f];
    std::string what = fmt::format("parallel configuration {}: ", f);
    if (parallelConfig.deviceType >= p.deviceTypes.size())
      report(p.location,
             fmt::format("{}on device type {}, there are {}", what, parallelConfig.deviceType, p.deviceTypes.size()));
    natural(what + "tensor parallel devices", parallelConfig.tensor, 1);
    natural(what + "replicas", parallelConfig.data, 1);
    natural(what + "a micro-batch", parallelConfig.microbatch, 1);
    double data = parallelConfig.data;
    if (data * parallelConfig.tensor > kMax || data * parallelConfig.microbatch > kMax)
      report(p.location, what + "devices or samples pass 2^61");
    if (parallelConfig.zero < 0 || parallelConfig.zero > 3)
      report(p.location, fmt::format("{}stage {} of ZeRO", what, parallelConfig.zero));
    if (parallelConfig.context < 1 || parallelConfig.data % parallelConfig.context != 0)
      return report(p.location, fmt::format("{}{} of {} replicas share each sample", what, parallelConfig.context,
                                            parallelConfig.data));
    if (parallelConfig.expert < 1 || parallelConfig.data / parallelConfig.context % parallelConfig.expert != 0)
      report(p.location, fmt::format("{}{} of {} replicas divide the experts", what, parallelConfig.expert,
                                     parallelConfig.data / parallelConfig.context));
    int64_t each = parallelConfig.expertTensor;
    if (each != 1 && (each != parallelConfig.tensor || parallelConfig.expert == 1))
      report(p.location, fmt::format("{}{} of {} tensor parallel devices divide each expert", what, each,
                                     parallelConfig.expert == 1 ? 1 : parallelConfig.tensor));
    // Whole experts are divided where their number allows it.
    else if (p.numExperts > 1 && parallelConfig.expert > 1 && parallelConfig.tensor > 1 &&
             (each == 1) != (p.numExperts % (parallelConfig.tensor * parallelConfig.expert) == 0))
      report(p.location, fmt::format("{}{} experts among {} x {} devices, {} of which divide each expert", what,
                                     p.numExperts, parallelConfig.tensor, parallelConfig.expert, each));
    for (const auto &gradientSyncs : {parallelConfig.gradientSyncs, parallelConfig.expertGradientSyncs}) {
      int64_t before = 0;
      for (const auto &sync : gradientSyncs) {
        if (sync.replicasPerNode <= before)
          report(p.location, fmt::format("{}gradient synchronization of {} replicas per node after one of {}", what,
                                         sync.replicasPerNode, before));
        before = sync.replicasPerNode;
        alternatives(what + "exchange", sync.alternatives);
      }
    }
    alternatives(what + "gather", parallelConfig.gather);
  }

  void layerClass(const LayerClass &one) {
    if (one.costs.size() != p.parallelConfigs.size())
      return report(p.location, fmt::format("layers '{}' have costs of {} parallel configurations of {}", one.name,
                                            one.costs.size(), p.parallelConfigs.size()));
    for (size_t f = 0; f < one.costs.size(); ++f)
      if (one.costs[f])
        cost(fmt::format("layers '{}' in parallel configuration {}: ", one.name, f), *one.costs[f]);
  }

  void cost(const std::string &what, const PlacementProblem::Cost &cost) {
    for (auto [name, value] : {std::pair<const char *, int64_t>{"forward", cost.forward},
                               {"backward", cost.backward},
                               {"weight", cost.weight},
                               {"update", cost.update},
                               {"static memory", cost.staticMemory},
                               {"weight memory", cost.weightMemory},
                               {"gradient memory", cost.gradientMemory},
                               {"gradients", cost.gradients},
                               {"gradients of experts", cost.expertGradients},
                               {"gradients in common", cost.tied},
                               {"static memory on the host", cost.hostStaticMemory},
                               {"weights", cost.weights}})
      natural(what + name, value);
    number(p.location, what + "energy", cost.joules);
    number(p.location, what + "energy of recomputation", cost.recomputeJoules);
    double weights = cost.weightMemory;
    if (weights + cost.gradientMemory > cost.staticMemory)
      report(p.location, what + "weight and gradient memory are more than the static memory");
    if (cost.recomputeChoices.empty())
      report(p.location, what + "it keeps nothing for its backward pass, not even nothing");
    for (const auto &recomputeChoice : cost.recomputeChoices) {
      natural(what + "recompute time", recomputeChoice.recomputeTime);
      natural(what + "activations", recomputeChoice.activations);
      natural(what + "activations on the host", recomputeChoice.hostActivations);
      natural(what + "working", recomputeChoice.workspace);
    }
  }

  static double longest(const std::vector<AlphaBetaModel> &list, double bytes) {
    double min = list.empty() || bytes <= 0 ? 0 : INFINITY;
    for (const AlphaBetaModel &way : list)
      min = std::min(min, way.latency + way.perByte * bytes + 1);
    return bytes > 0 ? min : 0;
  }

  /// As if everything ran one after the other, each layer in a stage of its own: times that are the least of lines are
  /// no longer in sum for all layers at once. Parallel configurations with as many samples per micro-batch go together.
  void totals() {
    std::map<int64_t, std::vector<Id>> bySamples;
    for (Id f = 0; f < p.parallelConfigs.size(); ++f)
      bySamples[p.parallelConfigs[f].samples()].push_back(f);
    double counts = 0, bytes = 0;
    for (const auto &deviceType : p.deviceTypes)
      counts += deviceType.devices;
    for (const auto &edge : p.edges)
      bytes += edge.bytes;
    double weights = 0, gradients = 0;
    for (const auto &layer : p.layers) {
      double weightsHere = 0, gradientsHere = 0;
      for (const auto &cost : p.classes[layer.of].costs)
        if (cost) {
          weightsHere = std::max<double>(weightsHere, cost->weights);
          gradientsHere = std::max(gradientsHere, 1.0 * cost->gradients + cost->expertGradients);
        }
      weights += weightsHere, gradients += gradientsHere;
    }
    for (auto [what, sum] : {std::pair{"devices", counts},
                             {"bytes that a batch hands from layer to layer", bytes * std::max<double>(1, p.batch)},
                             {"bytes of weights", weights},
                             {"bytes of gradients", gradients}})
      if (!(sum <= kMax))
        return report(p.location, fmt::format("the sum of all {} passes 2^61", what));
    for (const auto &[samples, parallelConfigs] : bySamples)
      if (samples <= p.batch)
        total(samples, parallelConfigs);
  }

  void total(double samples, const std::vector<Id> &parallelConfigs) {
    double m = std::floor(p.batch / samples);
    double pass = 0, once = 0, staticMemory = 0, activations = 0, workspace = 0, tied = 0;
    for (const auto &layer : p.layers) {
      double passHere = 0, onceHere = 0, staticMemoryHere = 0, activationsHere = 0;
      for (Id f : parallelConfigs) {
        const auto &cost = p.classes[layer.of].costs[f];
        if (!cost)
          continue;
        double recomputeTime = 0;
        for (const auto &recomputeChoice : cost->recomputeChoices) {
          recomputeTime = std::max<double>(recomputeTime, recomputeChoice.recomputeTime);
          activationsHere =
              std::max(activationsHere, 1.0 * recomputeChoice.activations + recomputeChoice.hostActivations);
          workspace = std::max<double>(workspace, recomputeChoice.workspace);
        }
        double sync = 0, experts = 0;
        for (const auto &one : p.parallelConfigs[f].gradientSyncs)
          sync = std::max(sync, longest(one.alternatives, cost->gradients));
        for (const auto &one : p.parallelConfigs[f].expertGradientSyncs)
          experts = std::max(experts, longest(one.alternatives, cost->expertGradients));
        sync += experts;
        passHere = std::max(passHere, 1.0 * cost->forward + cost->backward + cost->weight + recomputeTime +
                                          2 * longest(p.parallelConfigs[f].gather, cost->weights));
        onceHere = std::max(onceHere, cost->update + sync);
        staticMemoryHere = std::max(staticMemoryHere, 1.0 * cost->staticMemory + cost->hostStaticMemory);
        tied = std::max<double>(tied, cost->tied);
      }
      pass += passHere + p.hostOverheadPerMicrobatch;
      once += onceHere;
      staticMemory += staticMemoryHere;
      activations += activationsHere;
    }
    pass += 2 * transfers(samples, parallelConfigs);
    for (const auto &link : p.links)
      for (const AlphaBetaModel &way : {link.intraNode, link.interNode})
        once = std::max(once, once + p.ties.size() * longest({way}, tied));
    if (!(m * pass + once + p.hostOverheadPerStep <= kMax))
      report(p.location, fmt::format("with {} samples per micro-batch, a step passes 2^61 picoseconds", samples));
    if (!(staticMemory + m * activations + workspace <= kMax))
      report(p.location, fmt::format("with {} samples per micro-batch, memory passes 2^61 bytes", samples));
  }

  /// Of one micro-batch in one direction. Where transfers run beside, a stage sends to each of its readers what the
  /// largest takes.
  double transfers(double samples, const std::vector<Id> &parallelConfigs) const {
    double min = INFINITY, sum = 0;
    bool chain = true;
    for (Id f : parallelConfigs)
      min = std::min<double>(min, p.parallelConfigs[f].devices());
    for (const auto &edge : p.edges) {
      double max = 0;
      for (const auto &link : p.links)
        for (const AlphaBetaModel &way : {link.intraNode, link.interNode})
          max = std::max(max, longest({way}, edge.bytes * samples / min));
      sum += max;
      chain &= edge.to == edge.from + 1;
    }
    return p.blockingTransfers || chain ? sum : sum * std::max<size_t>(1, std::min(p.layers.size(), groups()) - 1);
  }
  size_t groups() const {
    double devices = 0, virtualStages = 1;
    for (const auto &deviceType : p.deviceTypes)
      devices += deviceType.devices;
    if (!p.groups.empty())
      devices = std::min<double>(devices, p.groups.back().max);
    for (int64_t v : p.virtualStages)
      virtualStages = std::max<double>(virtualStages, v);
    return static_cast<size_t>(std::min(devices * virtualStages, 1e9));
  }

  const PlacementProblem &p;
  Errors errors;
};

} // namespace

Errors check(const PlacementProblem &problem) { return PlacementChecker(problem).run(); }

} // namespace accord
