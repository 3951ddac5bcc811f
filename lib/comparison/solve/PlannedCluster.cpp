#include "lib/comparison/solve/PlannedCluster.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace accord::comparison {
namespace {

constexpr double kPicosecond = 1e-12;

double &of(ShareSeconds &shares, StepShare share) { return shares[static_cast<unsigned>(share)]; }

class ClusterPlanner {
public:
  explicit ClusterPlanner(const PlacementPlan &plan)
      : plan(plan), problem(plan.problem), placement(*plan.result.plan), figures(figuresOf(plan)),
        places(rankPlaces(plan.problem, figures)), ranks(ranksByGroup(plan.problem, figures)) {}

  PlannedCluster run() {
    made.job = plan.job, made.model = plan.model, made.cluster = plan.cluster;
    made.seconds = figures.seconds;
    made.stages = static_cast<int64_t>(figures.groups.size());
    made.replicas = figures.data * figures.context, made.tensor = figures.tensor;
    made.microbatches = placement.microbatches;
    made.devicesPerNode = problem.deviceTypeOf(figures.groups.front().parallelConfig).devicesPerNode;
    made.columns = columns();
    for (size_t rank = 0; rank < places.size(); ++rank)
      addRank(static_cast<int64_t>(rank));
    return std::move(made);
  }

private:
  void addRank(int64_t number) {
    const RankPlace &place = places[number];
    const GroupFigures &group = figures.groups[place.group];
    PlannedRank &rank = made.ranks.emplace_back();
    rank.rank = number, rank.stage = static_cast<int64_t>(place.group);
    rank.replica = place.replica, rank.tensor = place.tensor;
    rank.device = problem.deviceTypeOf(group.parallelConfig).name;
    for (size_t stage : placement.stagesOf(place.group))
      llvm::append_range(rank.layers, layerRuns(problem, placement.stages[stage].layers));
    const double divided = dividedSeconds(place.group);
    auto seconds = [&](StepComponent component) { return static_cast<double>(group.of(component)) * kPicosecond; };
    of(rank.shares, StepShare::Forward) = seconds(StepComponent::Forward);
    of(rank.shares, StepShare::Backward) = seconds(StepComponent::Backward);
    of(rank.shares, StepShare::Recompute) = seconds(StepComponent::Recompute);
    of(rank.shares, StepShare::Update) = seconds(StepComponent::Update);
    of(rank.shares, StepShare::StageMessages) = std::max(0.0, seconds(StepComponent::Transfer) - divided);
    of(rank.shares, StepShare::Replicas) = seconds(StepComponent::GradientSync) + divided;
    of(rank.shares, StepShare::Host) = seconds(StepComponent::Host);
    double sum = 0;
    for (double share : rank.shares)
      sum += share;
    of(rank.shares, StepShare::StageWaits) = made.seconds - sum;
    addLayerExchanges(rank, place);
    addMessages(rank, place);
    addReplicas(rank, place, divided);
    addTies(rank, place);
  }

  const ParallelConfig &configOf(size_t group) const {
    return problem.parallelConfigs[figures.groups[group].parallelConfig];
  }
  int64_t sumOf(size_t group, int64_t PlacementProblem::Cost::*bytes) const {
    int64_t sum = 0;
    for (size_t stage : placement.stagesOf(group))
      for (PlacementProblem::Id layer : placement.stages[stage].layers)
        sum += (*problem.cost(layer, placement.stages[stage].parallelConfig)).*bytes;
    return sum;
  }

  /// What ZeRO 2 and 3 exchange in both passes of every micro-batch, in seconds of a step.
  double dividedSeconds(size_t group) const {
    double sum = 0;
    for (size_t stage : placement.stagesOf(group)) {
      int64_t weights = 0;
      for (PlacementProblem::Id layer : placement.stages[stage].layers)
        weights += problem.cost(layer, placement.stages[stage].parallelConfig)->weights;
      sum += 2.0 * static_cast<double>(placement.microbatches) *
             static_cast<double>(minTime(configOf(group).gather, static_cast<double>(weights)));
    }
    return sum * kPicosecond;
  }

  /// Ranks of the group of which `belongs` holds, by replica and position in the tensor group.
  template <typename Belongs> std::vector<int64_t> membersOf(size_t group, Belongs belongs) const {
    const ParallelConfig &config = configOf(group);
    std::vector<int64_t> members;
    for (int64_t replica = 0; replica < config.data; ++replica)
      for (int64_t tensor = 0; tensor < config.tensor; ++tensor)
        if (belongs(replica, tensor))
          members.push_back(ranks[group][replica * config.tensor + tensor]);
    llvm::sort(members);
    return members;
  }

  void addLayerExchanges(PlannedRank &rank, const RankPlace &place) const {
    const ParallelConfig &config = configOf(place.group);
    using Kind = CommunicationKind;
    if (config.tensor > 1)
      rank.exchanges.push_back({Purpose::Tensor,
                                membersOf(place.group, [&](int64_t r, int64_t) { return r == place.replica; }),
                                {{Kind::AllReduce, 0}, {Kind::AllGather, 0}, {Kind::ReduceScatter, 0}}});
    if (config.context > 1)
      rank.exchanges.push_back(
          {Purpose::Context,
           membersOf(place.group,
                     [&](int64_t r, int64_t t) {
                       return r / config.context == place.replica / config.context && t == place.tensor;
                     }),
           {{Kind::AllGather, 0}, {Kind::ReduceScatter, 0}, {Kind::AllToAll, 0}, {Kind::Message, 0}}});
    if (config.expert > 1) {
      // Neighbours but for those of their context; whole experts are divided among the tensor group, too.
      const int64_t block = config.expert * config.context;
      const bool alongTensor = config.expertTensor == 1 && config.tensor > 1;
      rank.exchanges.push_back({Purpose::Experts,
                                membersOf(place.group,
                                          [&](int64_t r, int64_t t) {
                                            return r / block == place.replica / block &&
                                                   r % config.context == place.replica % config.context &&
                                                   (alongTensor || t == place.tensor);
                                          }),
                                {{Kind::AllToAll, 0}, {Kind::AllGather, 0}, {Kind::ReduceScatter, 0}}});
    }
  }

  void addMessages(PlannedRank &rank, const RankPlace &place) const {
    const ParallelConfig &config = configOf(place.group);
    PlannedExchange messages{Purpose::Stages, {rank.rank}, {}};
    int64_t bytes = 0;
    for (const StageTransfer &transfer : sentTransfers(figures))
      for (auto [own, other] : {std::pair(transfer.from, transfer.to), {transfer.to, transfer.from}})
        if (placement.groupOf(own) == place.group && placement.groupOf(other) != place.group) {
          messages.ranks.push_back(peerOf(place.replica * config.tensor + place.tensor,
                                          static_cast<int64_t>(ranks[place.group].size()),
                                          ranks[placement.groupOf(other)]));
          // There in the forward pass, and its gradient back.
          bytes += 2 * static_cast<int64_t>(std::ceil(transfer.bytes)) * placement.microbatches;
          messages.seconds += 2 * static_cast<double>(transfer.time * placement.microbatches) * kPicosecond;
        }
    if (bytes == 0)
      return;
    llvm::sort(messages.ranks);
    messages.ranks.erase(std::unique(messages.ranks.begin(), messages.ranks.end()), messages.ranks.end());
    messages.bytes[CommunicationKind::Message] = bytes;
    messages.exposed = rank.shares[static_cast<unsigned>(StepShare::StageMessages)];
    rank.exchanges.push_back(std::move(messages));
  }

  void addReplicas(PlannedRank &rank, const RankPlace &place, double divided) const {
    const ParallelConfig &config = configOf(place.group);
    const GroupFigures &group = figures.groups[place.group];
    if (config.data <= 1)
      return;
    PlannedExchange exchange{
        Purpose::Replicas, membersOf(place.group, [&](int64_t, int64_t t) { return t == place.tensor; }), {}};
    const int64_t gradients = group.gradientBytes + group.expertGradientBytes,
                  weights = sumOf(place.group, &PlacementProblem::Cost::weights), passes = 2 * placement.microbatches;
    if (config.zero == 0)
      exchange.bytes[CommunicationKind::AllReduce] = gradients;
    else {
      exchange.bytes[CommunicationKind::ReduceScatter] = gradients * (config.zero >= 2 ? placement.microbatches : 1);
      exchange.bytes[CommunicationKind::AllGather] = weights * (config.zero >= 3 ? passes : 1);
    }
    exchange.seconds = static_cast<double>(group.exchange) * kPicosecond + divided;
    exchange.exposed = rank.shares[static_cast<unsigned>(StepShare::Replicas)];
    rank.exchanges.push_back(std::move(exchange));
  }

  /// Gradients of parameters that layers of two device groups have in common.
  void addTies(PlannedRank &rank, const RankPlace &place) const {
    auto groupOf = [&](PlacementProblem::Id layer) {
      for (size_t stage = 0; stage < placement.stages.size(); ++stage)
        if (llvm::is_contained(placement.stages[stage].layers, layer))
          return placement.groupOf(stage);
      return place.group;
    };
    const bool hasReplicas = configOf(place.group).data > 1;
    for (const PlacementProblem::Tie &tie : problem.ties) {
      const size_t a = groupOf(tie.a), b = groupOf(tie.b);
      if (a == b || (place.group != a && place.group != b))
        continue;
      const int64_t peer = peerOf(place.replica * configOf(place.group).tensor + place.tensor,
                                  static_cast<int64_t>(ranks[place.group].size()), ranks[place.group == a ? b : a]);
      PlannedExchange exchange{Purpose::Replicas, {std::min(rank.rank, peer), std::max(rank.rank, peer)}, {}};
      exchange.bytes[CommunicationKind::AllReduce] =
          problem.cost(place.group == a ? tie.a : tie.b, figures.groups[place.group].parallelConfig)->tied;
      // With replicas, their exchange has the seconds of both.
      if (!hasReplicas)
        exchange.seconds = exchange.exposed = rank.shares[static_cast<unsigned>(StepShare::Replicas)];
      rank.exchanges.push_back(std::move(exchange));
    }
  }

  /// What the table of measured steps says of a training on a cluster.
  std::map<std::string, std::string> columns() const {
    const ParallelConfig &config = configOf(0);
    std::map<std::string, std::string> cells{{"family", "cnn"},
                                             {"model", plan.model},
                                             {"accelerator", problem.deviceTypeOf(0).name},
                                             {"precision", productTypeOf(plan.precision)},
                                             {"optimizer", plan.optimizer}};
    auto put = [&](const char *key, int64_t value) { cells[key] = std::to_string(value); };
    put("n_devices", static_cast<int64_t>(places.size())), put("global_batch", problem.batch);
    put("micro_batch", config.microbatch), put("devices_per_node", made.devicesPerNode);
    put("zero_stage", config.zero), put("seq_parallel", config.sequence);
    if (config.expert > 1)
      put("ep", config.expert);
    if (placement.virtualStages > 1)
      put("vpp", placement.virtualStages);
    cells["recompute"] = problem.choiceOf(placement.stages.front(), placement.stages.front().layers.size() / 2).policy;
    if (plan.architecture && plan.architecture->family == ModelArchitecture::Family::Decoder &&
        !plan.architecture->irregular) {
      const ModelArchitecture &model = *plan.architecture;
      cells["family"] = "llm-dense";
      put("layers", model.layers), put("hidden", model.hidden), put("ffn", model.inner), put("heads", model.heads);
      put("kv_heads", model.keyValueHeads), put("vocab", model.vocabulary), put("seq_len", model.sequence);
      cells["attn_kernel"] = model.fusedAttention ? "flash" : "unfused";
      cells["mlp_kind"] = model.activation == ModelArchitecture::Activation::SwiGlu ? "swiglu3" : "gelu2";
      put("tp", config.tensor), put("pp", made.stages), put("dp", figures.data), put("cp", figures.context);
    }
    return cells;
  }

  const PlacementPlan &plan;
  const PlacementProblem &problem;
  const Placement &placement;
  const PlacementFigures figures;
  const std::vector<RankPlace> places;
  const std::vector<std::vector<int64_t>> ranks; ///< by group
  PlannedCluster made;
};

} // namespace

PlannedCluster plannedClusterOf(const PlacementPlan &plan) { return ClusterPlanner(plan).run(); }

} // namespace accord::comparison
