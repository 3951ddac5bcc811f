#include "lib/placement/builder/PlanTraffic.h"
#include "lib/machine/cost/CommunicationCosts.h"
#include "lib/placement/builder/StepVariants.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {

using Kind = LinkTraffic::Kind;
using Id = PlacementProblem::Id;

class PlanTraffic {
public:
  PlanTraffic(const PlacementProblemRequest &request, const Layering &layering, const PlacementProblem &problem,
              const Placement &plan)
      : request_(request), layering_(layering), problem_(problem), plan_(plan) {}

  Result<LinkTraffic> run() {
    addLinks();
    for (uint32_t group = 0; group < plan_.groups(); ++group) {
      for (size_t stage : plan_.stagesOf(group))
        if (auto added = addLayers(group, plan_.stages[stage]); !added)
          return added.takeError();
      if (auto added = addGradients(group); !added)
        return added.takeError();
      addHost(group);
    }
    addTransfers();
    addTies();
    for (const auto &[at, bytes] : bytes_)
      if (bytes > 0)
        traffic_.flows.push_back({std::get<0>(at), std::get<1>(at), std::get<2>(at), bytes});
    return std::move(traffic_);
  }

private:
  const ParallelConfig &configOf(uint32_t group) const {
    return problem_.parallelConfigs[plan_.stages[group].parallelConfig];
  }
  const Cluster &clusterOf(uint32_t group) const { return request_.groups[configOf(group).deviceType]; }

  void addLinks() {
    for (Id type = 0; type < request_.groups.size(); ++type) {
      const Cluster &group = request_.groups[type];
      int64_t devices = 1;
      first_.push_back(traffic_.links.size());
      for (const Network &level : group.fabric.levels) {
        traffic_.links.push_back({level.name, type, devices, endpointBandwidth(level, level.endpoints).value});
        devices *= level.endpoints;
      }
      between_.emplace_back();
      if (request_.between) {
        between_.back() = traffic_.links.size();
        traffic_.links.push_back({request_.between->name, type, group.devicesPerNode,
                                  endpointBandwidth(*request_.between, request_.between->endpoints).value});
      }
      host_.emplace_back();
      if (group.machine.hostBandwidth.value > 0) {
        host_.back() = traffic_.links.size();
        traffic_.links.push_back({"host", type, 1, group.machine.hostBandwidth.value});
      }
    }
  }

  void add(uint32_t group, Kind kind, size_t link, double bytes) {
    bytes_[{group, kind, static_cast<uint32_t>(link)}] += bytes;
  }
  /// What one device sends on each level of its fabric, `times` in a step.
  void add(uint32_t group, Kind kind, const CollectiveCost &cost, double times) {
    for (size_t level = 0; level < cost.sent.size(); ++level)
      add(group, kind, first_[configOf(group).deviceType] + level, cost.sent[level].value * times);
  }

  /// Bytes of one micro-batch by class of layers, kind and level, of all layers of the class.
  using LayerTraffic = std::map<std::tuple<uint32_t, Kind, size_t>, double>;

  Result<const LayerTraffic *> layerTraffic(uint32_t group, const std::string &policy) {
    const ParallelConfig &config = configOf(group);
    auto [at, isNew] = known_.try_emplace({plan_.stages[group].parallelConfig, policy});
    if (!isNew)
      return &at->second;
    StepVariant step{shardingOf(config), config.microbatch, policy, 1, {config.expert, config.tables}};
    if (step.replicaSharding.any())
      step.data = config.expert > 1 ? config.expert : config.data;
    ACCORD_TRY(graph, instantiated(request_, step));
    EstimateOptions options;
    options.fabric = &clusterOf(group).fabric;
    options.axes = axesOf(step);
    ACCORD_TRY(costs, CommunicationCosts::make(graph, clusterOf(group).machine, options));
    Dependences deps = Dependences::of(graph);
    std::vector<layers::Part> parts = layers::partsOf(layering_, graph, deps);
    const auto &all = graph.regions[kMicrobatchRegion].operations;
    for (size_t i = 0; i < all.size(); ++i)
      addExchanges(at->second, graph, costs, all[i], parts[i].cls, config);
    return &at->second;
  }

  /// Of an operation and what is inside of it.
  static void addExchanges(LayerTraffic &into, const WorkGraph &graph, const CommunicationCosts &costs, OperationId id,
                           uint32_t cls, const ParallelConfig &config) {
    const Operation &op = graph.operations[id];
    if (op.body != kNone)
      for (OperationId inner : graph.regions[op.body].operations)
        addExchanges(into, graph, costs, inner, cls, config);
    auto cost = costs.exchange(op);
    if (!cost)
      return;
    double times = static_cast<double>(graph.executions(id)) / static_cast<double>(graph.microbatches);
    for (size_t level = 0; level < cost->sent.size(); ++level)
      into[{cls, kindOf(*op.communication, config), level}] += cost->sent[level].value * times;
  }

  static Kind kindOf(const Communication &exchange, const ParallelConfig &config) {
    bool tokens = exchange.kind == "all_to_all" && config.expertDegree() > 1;
    if (exchange.axis == "context")
      return Kind::Context;
    if (exchange.axis == "tensor")
      return tokens ? Kind::Expert : Kind::Tensor;
    return config.expert > 1 ? Kind::Expert : Kind::Tables;
  }

  Result<void> addLayers(uint32_t group, const PlacedStage &stage) {
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      ACCORD_TRY(traffic, layerTraffic(group, graphPolicy(problem_.choiceOf(stage, i).policy)));
      uint32_t cls = problem_.layers[stage.layers[i]].of;
      double share = static_cast<double>(plan_.microbatches) / static_cast<double>(layering_.classes[cls].count);
      for (auto one = traffic->lower_bound({cls, Kind::Tensor, 0}); one != traffic->end(); ++one) {
        auto [of, kind, level] = one->first;
        if (of != cls)
          break;
        add(group, kind, first_[configOf(group).deviceType] + level, one->second * share);
      }
    }
    return {};
  }
  /// What the graph of a policy computes again; where activations are makes no difference to it.
  static std::string graphPolicy(const std::string &policy) {
    constexpr std::string_view behind = "+offload";
    return policy == "offload"        ? "none"
           : policy.ends_with(behind) ? policy.substr(0, policy.size() - behind.size())
                                      : policy;
  }

  /// Bytes of the group's layers.
  int64_t sumOf(uint32_t group, int64_t PlacementProblem::Cost::*bytes) const {
    int64_t sum = 0;
    for (size_t stage : plan_.stagesOf(group))
      for (Id layer : plan_.stages[stage].layers)
        sum += (*problem_.cost(layer, plan_.stages[stage].parallelConfig)).*bytes;
    return sum;
  }

  Result<void> addGradients(uint32_t group) {
    const ParallelConfig &config = configOf(group);
    int64_t between = config.order == RankOrder::TensorPipelineData ? static_cast<int64_t>(plan_.groups()) : 1;
    auto gradients = static_cast<double>(sumOf(group, &PlacementProblem::Cost::gradients));
    auto weights = static_cast<double>(sumOf(group, &PlacementProblem::Cost::weights));
    if (auto added = addExchange(group, config.data, between, gradients, weights); !added)
      return added;
    auto experts = static_cast<double>(sumOf(group, &PlacementProblem::Cost::expertGradients));
    return experts > 0 ? addExchange(group, config.data / config.expert, between * config.expert, experts,
                                     gradients > 0 ? experts * weights / gradients : 0)
                       : Result<void>();
  }

  /// Of gradients that replicas with so many device groups between them have in common, and of their weights.
  Result<void> addExchange(uint32_t group, int64_t replicas, int64_t between, double gradients, double weights) {
    const ParallelConfig &config = configOf(group);
    if (replicas < 2)
      return {};
    Groups groups = groupsAlong({{"tensor", config.tensor}, {"pipeline", between}, {"data", replicas}}, "data");
    auto each = static_cast<double>(plan_.microbatches);
    std::vector<std::tuple<Collective, double, double>> exchanges; // payload, how often
    using enum Collective;
    if (config.zero == 0)
      exchanges = {{AllReduce, gradients, 1}};
    else if (config.zero == 1)
      exchanges = {{ReduceScatter, gradients, 1}, {AllGather, weights, 1}};
    else if (config.zero == 2)
      exchanges = {{ReduceScatter, gradients, each}, {AllGather, weights, 1}};
    else
      exchanges = {{ReduceScatter, gradients, each}, {AllGather, weights, 2 * each}};
    for (auto [collective, payload, times] : exchanges) {
      ACCORD_TRY(model, CollectiveModel::make(clusterOf(group).fabric, collective, groups));
      add(group, Kind::Data, model.cost(Bytes(payload)), times);
    }
    return {};
  }

  void addHost(uint32_t group) {
    const ParallelConfig &config = configOf(group);
    std::optional<size_t> link = host_[config.deviceType];
    if (!link)
      return;
    auto each = static_cast<double>(plan_.microbatches), bytes = 0.0;
    if (config.hostStates || config.hostWeights)
      bytes += static_cast<double>(sumOf(group, &PlacementProblem::Cost::hostStaticMemory));
    if (config.hostWeights)
      bytes += 2 * each * static_cast<double>(sumOf(group, &PlacementProblem::Cost::weights));
    for (size_t stage : plan_.stagesOf(group))
      for (size_t i = 0; i < plan_.stages[stage].layers.size(); ++i)
        bytes += each * static_cast<double>(problem_.choiceOf(plan_.stages[stage], i).hostActivations);
    add(group, Kind::Host, *link, bytes);
  }

  /// Over which link one group's devices reach another group's.
  std::optional<size_t> linkBetween(uint32_t from, uint32_t to, bool intraNode) const {
    Id type = configOf(from).deviceType;
    size_t levels = request_.groups[type].fabric.levels.size();
    if (type != configOf(to).deviceType || levels == 0)
      return between_[type];
    return first_[type] + (intraNode ? 0 : levels - 1);
  }
  /// Both ways, `times` each; `bytes` of each device of the group that has fewer.
  void addBetween(uint32_t a, uint32_t b, bool intraNode, double bytes, double times) {
    auto devices = static_cast<double>(std::min(configOf(a).devices(), configOf(b).devices()));
    for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
      if (auto link = linkBetween(from, to, intraNode))
        add(from, Kind::Pipeline, *link, bytes * devices * times / static_cast<double>(configOf(from).devices()));
    }
  }
  void addTransfers() {
    for (const StageTransfer &one : transfersOf(problem_, plan_))
      if (one.bytes > 0)
        addBetween(static_cast<uint32_t>(plan_.groupOf(one.from)), static_cast<uint32_t>(plan_.groupOf(one.to)),
                   one.intraNode, one.bytes, static_cast<double>(plan_.microbatches));
  }
  void addTies() {
    for (const TieTransfer &tie : tieTransfersOf(problem_, plan_))
      addBetween(tie.a, tie.b, tie.intraNode, tie.bytes, 1);
  }

  const PlacementProblemRequest &request_;
  const Layering &layering_;
  const PlacementProblem &problem_;
  const Placement &plan_;
  LinkTraffic traffic_;
  std::vector<size_t> first_;                         ///< by device type: the first level of its fabric
  std::vector<std::optional<size_t>> between_, host_; ///< by device type
  std::map<std::pair<Id, std::string>, LayerTraffic> known_;
  std::map<std::tuple<uint32_t, Kind, uint32_t>, double> bytes_; ///< by group, kind, link
};

} // namespace

Result<LinkTraffic> trafficOf(const PlacementProblemRequest &request, const Layering &layering,
                              const PlacementProblem &problem, const Placement &plan) {
  return PlanTraffic(request, layering, problem, plan).run();
}

} // namespace accord
