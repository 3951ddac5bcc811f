#include "lib/placement/builder/StepVariants.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/planning/solve/ScheduleStep.h"
#include <algorithm>
#include <cmath>

namespace accord {

std::vector<Axis> axesOf(const StepVariant &step) {
  std::vector<Axis> axes = {{"tensor", step.sharding.tensor}};
  if (step.sharding.context > 1)
    axes.push_back({"context", step.sharding.context});
  if (step.data > 1)
    axes.push_back({"data", step.data});
  return axes;
}

Result<WorkGraph> instantiated(const PlacementProblemRequest &request, const StepVariant &step) {
  return step.replicaSharding.any() ? request.instantiateDivided(step.sharding, step.microbatch, step.recompute,
                                                                 step.data, step.replicaSharding)
                                    : request.instantiate(step.sharding, step.microbatch, step.recompute);
}

Result<PricedVariant, Errors> priceStep(const WorkGraph &graph, const PlacementProblemRequest &request,
                                        const Cluster &group, const StepVariant &step, PriceCache *prices) {
  EstimateOptions options;
  options.costModel = request.costModel;
  options.fabric = &group.fabric;
  options.axes = axesOf(step);
  options.prices = prices;
  auto costs = estimate(graph, group.machine, options);
  if (!costs)
    return costs.takeError();
  chargeBoard(graph, group.machine, *costs);
  PricedVariant priced{std::move(*costs), {}};
  ScheduleOptions brief;
  brief.effort = 0;
  brief.bounds = false;
  auto schedule = scheduleStep(graph, group.machine, priced.costs, brief);
  if (!schedule)
    return schedule.takeError();
  priced.schedule = std::move(*schedule);
  return priced;
}

Result<const ReplicaCommunication *> CommunicationCache::find(const Cluster &group, PlacementProblem::Id deviceType,
                                                              int64_t tensor, int64_t data, bool divided,
                                                              int64_t between) {
  std::scoped_lock lock(mutex_);
  auto [at, isNew] = known_.try_emplace({deviceType, tensor, data, divided, between});
  if (!isNew)
    return at->second.get();
  Groups groups = groupsAlong({{"tensor", tensor}, {"pipeline", between}, {"data", data}}, "data");
  ReplicaCommunication made;
  for (auto [collective, into] : {std::pair{Collective::AllReduce, &made.allReduce},
                                  {Collective::ReduceScatter, &made.scatter},
                                  {Collective::AllGather, &made.gather}}) {
    if (into != &made.allReduce && !divided)
      continue;
    auto found = linesOf(group.fabric, collective, groups);
    if (!found) {
      known_.erase(at);
      return found.error();
    }
    *into = std::move(*found);
  }
  at->second = std::make_unique<const ReplicaCommunication>(std::move(made));
  return at->second.get();
}

/// Whether a device adds up the gradients of several micro-batches in a step.
static bool accumulates(const PlacementProblemRequest &request, const StepVariant &step) {
  return request.batch / step.microbatch / std::max<int64_t>(1, step.data) > 1;
}

/// Whether every message takes as long on both.
static bool isAlike(const Network &a, const Network &b) {
  auto numbers = [](const Network &one) {
    return std::tie(one.topology, one.endpoints, one.shape, one.bandwidth, one.latency, one.efficiency,
                    one.oversubscription, one.leaf, one.inSwitchReduction, one.energy, one.bandwidthByPeers,
                    one.algorithm, one.planes, one.variants);
  };
  return numbers(a) == numbers(b);
}

CommunicationCache &FabricCaches::of(const Fabric &fabric) {
  std::scoped_lock lock(mutex_);
  for (auto &[known, cache] : known_)
    if (known.byLevel == fabric.byLevel && std::ranges::equal(known.levels, fabric.levels, isAlike))
      return *cache;
  return *known_.emplace_back(fabric, std::make_unique<CommunicationCache>()).second;
}

Result<std::shared_ptr<const WorkGraph>> StepGraphs::of(const PlacementProblemRequest &request,
                                                        const StepVariant &step) {
  std::shared_ptr<const WorkGraph> &known = known_[{step, accumulates(request, step)}];
  if (!known) {
    ACCORD_TRY(made, instantiated(request, step));
    known = std::make_shared<const WorkGraph>(std::move(made));
  }
  return known;
}

StepUses::StepUses(StepGraphs &graphs)
    : prices(std::make_shared<PriceCache>(PriceCache::Detail::Numbers)), graphs(graphs) {}

StepUses::Key StepUses::keyOf(const PlacementProblemRequest &request, const Cluster &group, const StepVariant &step) {
  const bool several = accumulates(request, step);
  // Degrees are at most `kMaxDevices` each, whose product with a third one is within 128 bits.
  __int128 sharers = static_cast<__int128>(step.sharding.tensor) * step.sharding.context * step.data;
  if (sharers == 1)
    return {step, several, {0, 0}};
  if (sharers > group.devicesPerNode)
    return {step, several, {group.devicesPerNode, group.servers}};
  // Over one switch a message takes the same however many others are connected.
  bool isSwitch = group.fabric.levels.front().topology == Topology::Switch;
  return {step, several, {isSwitch ? 1 : group.devicesPerNode, 1}};
}

const std::vector<LayerUse> *StepUses::find(const PlacementProblemRequest &request, const Cluster &group,
                                            const StepVariant &step) const {
  auto found = known_.find(keyOf(request, group, step));
  return found == known_.end() ? nullptr : &found->second;
}

void StepUses::keep(const PlacementProblemRequest &request, const Cluster &group, const StepVariant &step,
                    std::vector<LayerUse> uses) {
  known_.insert_or_assign(keyOf(request, group, step), std::move(uses));
}

std::vector<AlphaBetaModel> lowerEnvelope(std::vector<AlphaBetaModel> lines) {
  std::sort(lines.begin(), lines.end(), [](const AlphaBetaModel &a, const AlphaBetaModel &b) {
    return std::pair(a.latency, a.perByte) < std::pair(b.latency, b.perByte);
  });
  // Lines of falling slope; one is never the least if its neighbours meet below it.
  std::vector<AlphaBetaModel> activations;
  for (const AlphaBetaModel &line : lines) {
    if (!activations.empty() && line.perByte >= activations.back().perByte)
      continue;
    while (activations.size() > 1) {
      const AlphaBetaModel &a = activations[activations.size() - 2], &b = activations.back();
      if ((line.latency - a.latency) * (a.perByte - b.perByte) > (b.latency - a.latency) * (a.perByte - line.perByte))
        break;
      activations.pop_back();
    }
    activations.push_back(line);
  }
  return activations;
}

std::vector<AlphaBetaModel> sumOfEnvelopes(const std::vector<AlphaBetaModel> &a, const std::vector<AlphaBetaModel> &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  // Both are concave: from each line to the next where the earlier of the two next ones becomes the least.
  auto next = [](const std::vector<AlphaBetaModel> &lines, size_t i) {
    return i + 1 < lines.size() ? (lines[i + 1].latency - lines[i].latency) / (lines[i].perByte - lines[i + 1].perByte)
                                : INFINITY;
  };
  std::vector<AlphaBetaModel> sum;
  for (size_t i = 0, j = 0;;) {
    sum.push_back({a[i].latency + b[j].latency, a[i].perByte + b[j].perByte});
    double ofA = next(a, i), ofB = next(b, j);
    if (std::isinf(ofA) && std::isinf(ofB))
      return lowerEnvelope(std::move(sum));
    i += ofA <= ofB, j += ofB <= ofA;
  }
}

/// The least of these ways.
static std::vector<AlphaBetaModel> linesOf(const Fabric &fabric, const std::vector<CollectiveTerms> &ways) {
  std::vector<double> latencies, ratios(fabric.levels.size(), 1);
  for (const Network &level : fabric.levels)
    latencies.push_back(level.latency.value);
  std::vector<AlphaBetaModel> lines;
  for (const CollectiveTerms &way : ways) {
    double alpha = way.alpha.at(latencies), beta = way.beta.at(ratios);
    for (double pieces = 1; pieces <= kMaxPieces; pieces *= 4) {
      AlphaBetaModel line{alpha, beta};
      for (const CollectiveTerms::Tree &tree : way.trees) {
        double rounds = tree.depth + pieces - 1;
        line.latency += rounds * tree.alpha.at(latencies);
        line.perByte += rounds * tree.beta.at(ratios) / pieces;
      }
      lines.push_back({line.latency * 1e12, line.perByte * 1e12});
      if (way.trees.empty())
        break;
    }
  }
  return lowerEnvelope(std::move(lines));
}

Result<std::vector<AlphaBetaModel>> linesOf(const Fabric &fabric, Collective collective, const Groups &groups) {
  auto model = CollectiveModel::make(fabric, collective, groups);
  if (!model)
    return model.error();
  std::vector<CollectiveModel::PartTerms> parts;
  if (fabric.byLevel)
    parts = model->termsByPart();
  if (parts.empty())
    return linesOf(fabric, model->terms());
  std::vector<AlphaBetaModel> lines;
  for (const CollectiveModel::PartTerms &part : parts) {
    std::vector<AlphaBetaModel> own = linesOf(fabric, part.ways);
    for (AlphaBetaModel &line : own)
      line.perByte *= part.scale;
    lines = sumOfEnvelopes(lines, own);
  }
  return lines;
}

} // namespace accord
