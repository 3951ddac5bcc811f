#include "lib/chakra/output/ClusterTraces.h"
#include "lib/placement/evaluate/Pipeline.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord::chakra {
namespace {

constexpr double kPicosecond = 1e-12;
constexpr const char *kPasses[] = {"forward", "backward", "weight_gradient"};

/// Writes the nodes of one rank.
class RankWriter {
public:
  ExecutionTrace trace;

  Node &add(std::string name, NodeKind kind, double seconds) {
    Node &node = trace.nodes.emplace_back();
    node.id = trace.nodes.size() - 1;
    node.name = std::move(name);
    node.kind = kind;
    node.seconds = seconds;
    return node;
  }
  /// A computation behind the one before.
  Node &compute(std::string name, double seconds, std::vector<uint64_t> behind) {
    Node &node = add(std::move(name), NodeKind::Compute, seconds);
    node.start = now;
    node.dataDependences = std::move(behind);
    if (last >= 0 && !llvm::is_contained(node.dataDependences, static_cast<uint64_t>(last)))
      node.controlDependences = {static_cast<uint64_t>(last)};
    last = static_cast<int64_t>(node.id);
    now += seconds;
    return node;
  }
  Node &message(const std::string &name, NodeKind kind, int64_t from, int64_t to, int64_t bytes, int64_t tag) {
    Node &node = add(name, kind, 0);
    node.start = now;
    node.from = static_cast<int32_t>(from), node.to = static_cast<int32_t>(to);
    node.tag = static_cast<int32_t>(tag % (int64_t(1) << 30));
    node.bytes = bytes;
    return node;
  }
  int64_t last = -1; ///< computation
  double now = 0;
};

} // namespace

ClusterTraces::ClusterTraces(const PlacementPlan &plan) {
  const Placement &placement = *plan.result.plan;
  const PlacementFigures figures = figuresOf(plan);
  StageEdges edges(placement.stages.size());
  std::map<uint32_t, double> received; // picoseconds that a stage waits for what comes to it, forward and backward
  std::map<uint32_t, double> returned;
  for (const StageTransfer &transfer : figures.transfers) {
    edges[transfer.to].push_back(transfer.from);
    if (transfer.bytes > 0)
      transfers.push_back({transfer.from, transfer.to, static_cast<int64_t>(std::ceil(transfer.bytes))});
    received[transfer.to] += static_cast<double>(transfer.time);
    returned[transfer.from] += static_cast<double>(transfer.time);
  }
  const PipelineRun run = simulate(placement.shape(), plan.result.metrics.times, edges, true);
  for (size_t g = 0; g < figures.groups.size(); ++g) {
    const GroupFigures &of = figures.groups[g];
    const ParallelConfig &config = plan.problem.parallelConfigs[of.parallelConfig];
    Group &group = groups.emplace_back();
    group.replicas = config.data, group.tensor = config.tensor, group.zero = config.zero;
    group.gradientBytes = of.gradientBytes;
    group.sync = static_cast<double>(of.exchange) * kPicosecond;
    group.update = static_cast<double>(of.of(StepComponent::Update)) * kPicosecond;
    for (const SimulatedPass &pass : run.passes[g]) {
      double time = static_cast<double>(pass.end - pass.start);
      // What blocks the passes is a node of its own here.
      if (plan.problem.blockingTransfers && pass.pass.pass == accord::Pass::Forward)
        time -= received[pass.pass.stage];
      if (plan.problem.blockingTransfers && pass.pass.pass == accord::Pass::Backward)
        time -= returned[pass.pass.stage];
      group.passes.push_back({static_cast<uint8_t>(pass.pass.pass), pass.pass.stage, pass.pass.microbatch,
                              std::max(0.0, time) * kPicosecond});
    }
  }
  places = rankPlaces(plan.problem, figures);
  std::vector<std::vector<int64_t>> ranks = ranksByGroup(plan.problem, figures);
  for (size_t g = 0; g < groups.size(); ++g)
    groups[g].ranks = std::move(ranks[g]);
}

int64_t ClusterTraces::nodes() const {
  int64_t sum = 0;
  for (const Group &group : groups)
    sum +=
        static_cast<int64_t>(group.ranks.size()) *
        static_cast<int64_t>(group.passes.size() * (1 + transfers.size() * 2 / std::max<size_t>(1, groups.size())) + 4);
  return sum;
}

/// The rank of another group that a rank exchanges with.
int64_t ClusterTraces::peerIn(const RankPlace &place, size_t group) const {
  const Group &own = groups[place.group];
  return peerOf(place.replica * own.tensor + place.tensor, static_cast<int64_t>(own.ranks.size()), groups[group].ranks);
}

std::vector<int64_t> ClusterTraces::replicasOf(const RankPlace &place) const {
  const Group &group = groups[place.group];
  std::vector<int64_t> ranks;
  for (int64_t replica = 0; replica < group.replicas; ++replica)
    ranks.push_back(group.ranks[replica * group.tensor + place.tensor]);
  return ranks;
}

std::string ClusterTraces::groupsJson() const {
  std::string text = "{";
  for (size_t rank = 0; rank < places.size(); ++rank)
    if (const RankPlace &place = places[rank]; place.replica == 0 && groups[place.group].replicas > 1)
      text +=
          fmt::format("{}\n  \"{}\": [{}]", text.size() > 1 ? "," : "", rank + 1, fmt::join(replicasOf(place), ", "));
  return text + "\n}\n";
}

ExecutionTrace ClusterTraces::trace(int64_t rank) const {
  const RankPlace &place = places[rank];
  const Group &group = groups[place.group];
  const auto numGroups = static_cast<uint32_t>(groups.size());
  RankWriter out;
  out.trace.rank = rank;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> forwardOf, backwardOf; // computations by stage and micro-batch
  int64_t stages = 1;
  for (const Transfer &one : transfers)
    stages = std::max<int64_t>(stages, int64_t(one.to) + 1);
  auto tag = [&](const Transfer &transfer, uint32_t microbatch, bool back) {
    return ((static_cast<int64_t>(microbatch) * stages + transfer.from) * stages + transfer.to) * 2 + back;
  };
  for (const Pass &pass : group.passes) {
    const bool forward = pass.kind == 0, backward = pass.kind == 1;
    const std::pair at(pass.stage, pass.microbatch);
    const std::string where = fmt::format("stage.{}.microbatch.{}", pass.stage, pass.microbatch);
    std::vector<uint64_t> behind;
    if (backward)
      behind.push_back(forwardOf[at]);
    if (pass.kind == 2)
      behind.push_back(backwardOf[at]);
    for (const Transfer &one : transfers) { // what comes
      const bool isFrom = forward ? one.to == pass.stage : backward && one.from == pass.stage;
      const int64_t peer = isFrom ? peerIn(place, (forward ? one.from : one.to) % numGroups) : rank;
      if (peer != rank)
        behind.push_back(out.message(fmt::format("{}.receive", where), NodeKind::Receive, peer, rank, one.bytes,
                                     tag(one, pass.microbatch, backward))
                             .id);
    }
    Node &node = out.compute(fmt::format("{}.{}", where, kPasses[pass.kind]), pass.seconds, std::move(behind));
    node.phase = kPasses[pass.kind];
    const uint64_t id = node.id;
    if (forward)
      forwardOf[at] = id;
    if (backward)
      backwardOf[at] = id;
    for (const Transfer &one : transfers) { // what goes
      const bool isTo = forward ? one.from == pass.stage : backward && one.to == pass.stage;
      const int64_t peer = isTo ? peerIn(place, (forward ? one.to : one.from) % numGroups) : rank;
      if (peer != rank)
        out.message(fmt::format("{}.send", where), NodeKind::Send, rank, peer, one.bytes,
                    tag(one, pass.microbatch, backward))
            .dataDependences = {id};
    }
  }
  std::vector<uint64_t> behind;
  const std::string replicas = std::to_string(replicasOf(place).front() + 1);
  auto collective = [&](const char *name, CollectiveKind kind) {
    Node &node = out.add(name, NodeKind::Collective, group.sync);
    node.collective = kind, node.bytes = group.gradientBytes, node.group = replicas;
    node.start = out.now;
    if (out.last >= 0)
      node.dataDependences = {static_cast<uint64_t>(out.last)};
    return node.id;
  };
  const bool exchanges = group.replicas > 1 && group.gradientBytes > 0;
  if (exchanges)
    behind.push_back(
        collective("gradients", group.zero > 0 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce));
  out.compute("update", group.update, std::move(behind)).phase = "update";
  if (exchanges && group.zero > 0)
    collective("weights", CollectiveKind::AllGather);
  return std::move(out.trace);
}

} // namespace accord::chakra
