#include "lib/exploration/clusters/PlacedWork.h"
#include "lib/machine/cost/CommunicationCosts.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/placement/builder/CalibratedPrices.h"
#include "lib/placement/builder/Layers.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// Of steps that are priced together: all policies of a share and a micro-batch.
using GroupKey = std::tuple<int64_t, bool, int64_t>;
GroupKey groupOf(const StepVariant &step) { return {step.sharding.tensor, step.sharding.sequence, step.microbatch}; }
GroupKey groupOf(const PlacementProblem::ParallelConfig &config) {
  return {config.tensor, config.sequence, config.microbatch};
}

/// By operation: seconds on the network alone, whatever the machine.
Result<std::vector<double>> communicationOf(const WorkGraph &graph, const Fabric &fabric, const StepVariant &step) {
  static const Machine none;
  EstimateOptions options;
  options.fabric = &fabric;
  options.axes = {{"tensor", step.sharding.tensor}};
  if (step.data > 1)
    options.axes.push_back({"data", step.data});
  auto made = CommunicationCosts::make(graph, none, options);
  if (!made)
    return made.error();
  std::vector<double> seconds(graph.operations.size());
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    if (const Operation &op = graph.operations[id]; op.core == CoreKind::Network && !op.givenSeconds)
      seconds[id] = made->seconds(op);
  return seconds;
}

/// All that exchanges take on a fabric follows from it.
std::string exchangesKey(const Fabric &fabric) {
  std::string key = fabric.byLevel ? "levels" : "";
  for (const Network &level : fabric.levels) {
    key += fmt::format("; {} {} {} {:a} {:a}", level.endpoints, int(level.topology),
                       level.algorithm ? int(*level.algorithm) : -1, level.bandwidth.value, level.latency.value);
    for (const Network::Variant &variant : level.variants)
      key += fmt::format(" {}.{}", int(variant.topology), variant.algorithm ? int(*variant.algorithm) : -1);
  }
  return key;
}

} // namespace

struct SharedSteps {
  struct Step {
    std::shared_ptr<const StepWork> work;
    std::shared_ptr<const MinLayerUse> minimal;
  };
  std::optional<WorkGraph> structure;
  std::map<StepVariant, Step> steps;
  PriceCache prices{PriceCache::Detail::Numbers};
  /// By machine, but for its device memory's capacity, what the operations of its steps are priced at.
  struct OfMachine {
    std::mutex mutex;
    std::map<StepVariant, StepPrices> steps;
  };
  std::mutex mutex; ///< of the list of machines
  std::map<std::string, std::shared_ptr<OfMachine>> machines;
};

struct PlacedWork::Data {
  struct Step : SharedSteps::Step {
    StepVariant key;
  };
  /// What its devices exchange over one fabric.
  struct Exchanges {
    Fabric fabric;
    std::string key; ///< empty: of the request's own
    CommunicationCache networks;
    std::mutex mutex;
    std::map<StepVariant, std::vector<double>> seconds; ///< by operation
  };
  /// What is known of one machine but for its device memory's capacity.
  struct Priced {
    std::mutex mutex;
    bool failed = false;
    std::optional<Layering> layering;
    /// By group: uses by step. Nothing: the machine has no price for one of its operations.
    std::map<GroupKey, std::optional<std::map<StepVariant, std::vector<LayerUse>>>> groups;
  };

  PlacedJob job;
  WorkGraph structure; ///< of one device, one sample, nothing computed again
  Layering finest;
  std::map<StepVariant, Step> steps;
  Exchanges own;
  mutable std::map<std::string, std::shared_ptr<Exchanges>> others; ///< of the fabrics asked for last
  static constexpr size_t kMaxOthers = 64;
  std::shared_ptr<SharedSteps> shared; ///< the job's, or its own
  mutable std::mutex mutex, asking;
  mutable std::map<std::string, std::shared_ptr<Priced>> known;
  Bytes capacity; ///< of device memory, while steps are priced
  bool ringOverlaps = false;

  std::shared_ptr<Exchanges> over(const Fabric *fabric) const {
    if (!fabric)
      return {std::shared_ptr<Exchanges>(), const_cast<Exchanges *>(&own)};
    std::string key = exchangesKey(*fabric);
    std::scoped_lock lock(mutex);
    if (auto found = others.find(key); found != others.end())
      return found->second;
    if (others.size() >= kMaxOthers)
      others.clear();
    auto made = std::make_shared<Exchanges>();
    made->fabric = *fabric, made->key = key;
    others.emplace(std::move(key), made);
    return made;
  }

  /// Null: it has no price.
  const std::vector<double> *secondsOf(const Step &step, Exchanges &exchanges) const {
    std::scoped_lock lock(exchanges.mutex);
    auto [place, isNew] = exchanges.seconds.try_emplace(step.key);
    if (isNew)
      if (auto seconds = communicationOf(step.work->graph(), exchanges.fabric, step.key))
        place->second = std::move(*seconds);
    return place->second.empty() ? nullptr : &place->second;
  }

  PlacementProblemRequest on(const Machine &machine, const Exchanges &exchanges) const {
    PlacementProblemRequest request = job.request;
    request.groups.front().machine = machine;
    if (!exchanges.key.empty())
      request.groups.front().fabric = exchanges.fabric;
    if (job.memory) {
      std::scoped_lock lock(asking);
      request.memory = static_cast<int64_t>(job.memory(machine));
    }
    return request;
  }

  /// What a step's operations are priced at; of no class anything where the machine has no price for one of them.
  const StepPrices &pricesOf(const Step &step, const Machine &machine, SharedSteps::OfMachine &known) const {
    std::scoped_lock lock(known.mutex);
    auto [place, isNew] = known.steps.try_emplace(step.key);
    if (!isNew)
      return place->second;
    const WorkGraph &graph = step.work->graph();
    Machine same = machine;
    same.memories.front().capacity = capacity;
    EstimateOptions options;
    options.costModel = job.request.costModel;
    options.fabric = &own.fabric, options.axes = axesOf(step.key);
    options.prices = &shared->prices;
    if (auto costs = estimate(graph, same, options))
      place->second = step.work->pricesOf(*costs, same);
    else
      place->second.classes.clear();
    return place->second;
  }
  std::shared_ptr<SharedSteps::OfMachine> pricesOn(const Machine &machine) const {
    std::string key = keyOf(machine);
    std::scoped_lock lock(shared->mutex);
    std::shared_ptr<SharedSteps::OfMachine> &slot = shared->machines[key];
    if (!slot)
      slot = std::make_shared<SharedSteps::OfMachine>();
    return slot;
  }

  /// In layers as fine as can be, with times of closed forms; with `prices` no less than these say. `find` gives the
  /// steps that there are.
  Result<BuiltPlacementProblem, Errors> build(const PlacementProblemRequest &request, StepBoundOptions options,
                                              Exchanges &exchanges,
                                              llvm::function_ref<const Step *(const StepVariant &)> find,
                                              SharedSteps::OfMachine *prices = nullptr) const {
    options.communication &= !ringOverlaps;
    std::map<const Step *, std::vector<LayerUse>> uses;
    PlacementProblemCache known;
    known.work = &structure, known.layering = &finest, known.networks = &exchanges.networks;
    known.uses = [&](const StepVariant &key) -> const std::vector<LayerUse> * {
      const Step *step = find(key);
      if (!step)
        return nullptr;
      auto [place, isNew] = uses.try_emplace(step);
      if (isNew) {
        static thread_local std::vector<double> seconds;
        options.exchanges = secondsOf(*step, exchanges);
        if (!options.exchanges && !step->work->graph().operations.empty()) {
          uses.erase(place);
          return nullptr;
        }
        if (prices)
          options.prices = &pricesOf(*step, request.groups.front().machine, *prices);
        if (options.prices && options.prices->classes.empty())
          options.prices = nullptr;
        step->work->times(request.groups.front().machine, options, seconds);
        place->second = step->minimal->of(seconds);
      }
      return &place->second;
    };
    return buildPlacementProblem(request, known);
  }

  std::optional<PlacementProblem> minimal(const Machine &machine, const StepBoundOptions &options, Exchanges &exchanges,
                                          bool alone = false, SharedSteps::OfMachine *prices = nullptr) const {
    PlacementProblemRequest request = on(machine, exchanges);
    if (alone)
      request.space.data = {1};
    auto found = build(
        request, options, exchanges,
        [&](const StepVariant &key) {
          auto step = steps.find(key);
          return step == steps.end() ? nullptr : &step->second;
        },
        prices);
    if (!found)
      return std::nullopt;
    found->problem.ties.clear(); // layers that become one have none
    return std::move(found->problem);
  }

  /// The step of that kind; nothing where it cannot be instantiated or what it exchanges has no price.
  Result<const Step *> instantiate(const StepVariant &key) {
    if (auto found = steps.find(key); found != steps.end())
      return &found->second;
    Step step;
    step.key = key;
    SharedSteps::Step shared;
    if (job.steps)
      shared = job.steps->steps[key];
    if (!shared.work) {
      ACCORD_TRY(work, instantiated(job.request, key));
      ACCORD_TRY(seconds, communicationOf(work, own.fabric, key));
      shared.minimal = std::make_shared<MinLayerUse>(finest, work);
      shared.work = std::make_shared<StepWork>(std::move(work), seconds);
      if (job.steps)
        job.steps->steps[key] = shared;
    }
    ACCORD_TRY(seconds, communicationOf(shared.work->graph(), own.fabric, key));
    own.seconds[key] = std::move(seconds);
    static_cast<SharedSteps::Step &>(step) = std::move(shared);
    return &steps.emplace(key, std::move(step)).first->second;
  }

  /// All that prices and schedules follow from but exchanges and the capacity of device memory.
  std::string keyOf(const Machine &machine) const {
    Machine same = machine;
    same.memories.front().capacity = capacity;
    std::string key = PriceCache::keyOf(same, -1, job.request.costModel + same.costModel);
    for (double time : {machine.host.kernel.value, machine.host.microbatch.value, machine.host.step.value})
      key += fmt::format(" {:a}", time);
    if (hasBoardPower(machine)) // then the energies of its operations follow from these
      key += fmt::format(" {:a} {:a}", machine.idle.value, machine.tdp.value);
    return key;
  }

  std::shared_ptr<Priced> pricedOn(const Machine &machine, const Exchanges &exchanges) const {
    std::string key = keyOf(machine) + exchanges.key;
    std::scoped_lock lock(mutex);
    std::shared_ptr<Priced> &slot = known[key];
    if (!slot)
      slot = std::make_shared<Priced>();
    return slot;
  }

  bool stopped() const { return job.stop && *job.stop; }

  /// The problem of one group of steps as `offer` has it; nothing where it has none.
  std::optional<PlacementProblem> real(const Machine &machine, const GroupKey &group, Exchanges &exchanges) const {
    std::shared_ptr<Priced> priced = pricedOn(machine, exchanges);
    const std::map<StepVariant, std::vector<LayerUse>> *uses = nullptr; // stays where it is
    {
      std::scoped_lock lock(priced->mutex);
      price(machine, group, exchanges, *priced);
      if (auto &known = priced->groups.at(group))
        uses = &*known;
    }
    if (!uses)
      return std::nullopt;
    PlacementProblemCache known;
    known.work = &structure, known.layering = &*priced->layering, known.networks = &exchanges.networks;
    known.uses = [&](const StepVariant &key) -> const std::vector<LayerUse> * {
      auto found = uses->find(key);
      return found == uses->end() ? nullptr : &found->second;
    };
    auto found = buildPlacementProblem(on(machine, exchanges), known);
    if (!found)
      return std::nullopt;
    if (job.pin) {
      std::scoped_lock lock(asking);
      if (!job.pin(found->problem))
        return std::nullopt;
    }
    if (!check(found->problem).empty())
      return std::nullopt;
    return std::move(found->problem);
  }

  void price(const Machine &machine, const GroupKey &group, const Exchanges &exchanges, Priced &into) const {
    if (into.groups.contains(group))
      return;
    PlacementProblemRequest request = on(machine, exchanges);
    Cluster &device = request.groups.front();
    device.machine.memories.front().capacity = capacity;
    if (!into.layering && !into.failed) {
      if (auto priced = priceStep(structure, request, device, {}, &shared->prices))
        into.layering = Layering::of(structure, priced->schedule);
      else
        into.failed = true;
    }
    auto &uses = into.groups[group];
    if (into.failed)
      return;
    uses.emplace();
    for (const auto &[key, step] : steps) {
      if (groupOf(key) != group)
        continue;
      const WorkGraph &graph = step.work->graph();
      auto priced = priceStep(graph, request, device, key, &shared->prices);
      if (!priced) {
        uses.reset();
        return;
      }
      uses->emplace(key, layerUses(*into.layering, graph, priced->costs, priced->schedule));
    }
  }

  /// Groups of steps by the least bound of their forms.
  std::vector<std::pair<double, GroupKey>> groups(const Machine &machine, Exchanges &exchanges) const {
    std::map<GroupKey, double> bounds;
    if (auto problem = minimal(machine, {}, exchanges)) {
      for (auto [config, bound] : llvm::zip(problem->parallelConfigs, lowerBoundByConfig(*problem))) {
        auto [at, isNew] = bounds.try_emplace(groupOf(config), bound);
        at->second = std::min(at->second, bound);
      }
    }
    std::vector<std::pair<double, GroupKey>> order;
    for (auto &[group, bound] : bounds)
      order.push_back({bound, group});
    std::sort(order.begin(), order.end());
    return order;
  }
};

std::map<std::string, int64_t> recomputedLayers(const PlacementProblem &problem, const Placement &plan) {
  std::map<std::string, int64_t> layers;
  for (const PlacedStage &stage : plan.stages)
    for (auto [layer, choice] : llvm::zip(stage.layers, stage.recomputeChoices))
      ++layers[problem.cost(layer, stage.parallelConfig)->recomputeChoices[choice].policy];
  return layers;
}

MinedStep minedStep(const std::string &job, int64_t batch, const PlacedBest &best) {
  const PlacementProblem::ParallelConfig &config = best.parallelConfig;
  int64_t virtualStages = best.plan->virtualStages,
          pipeline = static_cast<int64_t>(best.plan->stages.size()) / virtualStages;
  std::string recomputed;
  for (const auto &[policy, layers] : best.recomputePolicies)
    if (policy != "none")
      recomputed += fmt::format(", recompute {} in {} layer{}", policy, layers, layers == 1 ? "" : "s");
  MinedStep step;
  step.job = job, step.batch = batch;
  step.alternative =
      fmt::format("tensor {}{}, pipeline {}, data {}, micro-batch {}{}", config.tensor,
                  config.sequence ? " with sequence" : "", pipeline, config.data, config.microbatch, recomputed);
  step.step = best.metrics.step * 1e-12;
  step.joules = best.metrics.joules;
  for (int64_t bytes : best.metrics.memory)
    step.bytes = std::max<double>(step.bytes, bytes);
  step.value = best.value;
  step.placement = {
      best.metrics.devices,  config.tensor,           pipeline,      config.data, config.sequence,
      config.microbatch,     best.plan->microbatches, virtualStages, config.zero, name(best.plan->schedule),
      best.recomputePolicies};
  return step;
}

PlacedWork::PlacedWork(std::unique_ptr<Data> data) : data_(std::move(data)) {}
PlacedWork::~PlacedWork() = default;
const PlacedJob &PlacedWork::job() const { return data_->job; }
const Fabric &PlacedWork::fabric() const { return data_->own.fabric; }
std::shared_ptr<SharedSteps> PlacedWork::sharedSteps() { return std::make_shared<SharedSteps>(); }

Result<std::unique_ptr<PlacedWork>, Errors> PlacedWork::of(PlacedJob job, const Machine &max) {
  auto data = std::make_unique<Data>();
  data->job = std::move(job);
  PlacementProblemRequest &request = data->job.request;
  auto refused = [&](const std::string &error) {
    return Errors{{Code::NotSupported, "not supported yet: " + error, request.location, {}}};
  };
  if (request.groups.size() != 1)
    return refused("mining the devices of a cluster of several kinds");
  if (max.memories.empty())
    return refused(fmt::format("mining '{}', which has no memory", max.name));
  request.groups.front().machine = max;
  if (CalibratedPrices::of(request.groups.front(), request.unlinked))
    return refused(fmt::format("mining '{}', whose times are those of a calibration", max.name));
  for (bool ring : request.space.ringOverlaps)
    data->ringOverlaps |= ring;
  data->capacity = max.memories.front().capacity;
  data->shared = data->job.steps ? data->job.steps : sharedSteps();
  data->own.fabric = request.groups.front().fabric;
  if (!data->job.steps || !data->job.steps->structure) {
    auto graph = instantiated(request, {});
    if (!graph)
      return Errors{graph.error()};
    data->structure = std::move(*graph);
    if (data->job.steps)
      data->job.steps->structure = data->structure;
  } else {
    data->structure = *data->job.steps->structure;
  }
  data->finest = Layering::finest(data->structure);
  // All steps that any machine may be offered are those that this one is: it has the most memory.
  std::optional<Error> left;
  auto made = data->build(request, {.exact = false}, data->own, [&](const StepVariant &key) -> const Data::Step * {
    auto step = data->instantiate(key);
    if (!step && !left)
      left = step.error();
    return step ? *step : nullptr;
  });
  if (!made)
    return left ? Errors{*left} : made.takeError();
  return std::unique_ptr<PlacedWork>(new PlacedWork(std::move(data)));
}

double PlacedWork::bound(const Machine &machine, const StepBoundOptions &options, const Fabric *fabric) const {
  auto problem = data_->minimal(machine, options, *data_->over(fabric));
  return problem ? placementLowerBound(*problem) : INFINITY;
}

std::optional<PlacementProblem> PlacedWork::minimal(const Machine &machine, const StepBoundOptions &options,
                                                    bool alone) const {
  return data_->minimal(machine, options, data_->own, alone);
}

std::optional<PlacementProblem>
PlacedWork::priced(const Machine &machine, const PlacementSpace::TensorSharding &sharding, int64_t microbatch) const {
  return data_->real(machine, {sharding.tensor, sharding.sequence, microbatch}, data_->own);
}

double PlacedWork::placedBound(const Machine &machine, const Fabric *fabric) const {
  std::shared_ptr<SharedSteps::OfMachine> prices = data_->pricesOn(machine);
  auto problem = data_->minimal(machine, {}, *data_->over(fabric), false, prices.get());
  if (!problem)
    return INFINITY;
  // A stage of a real plan is one of this problem where all that is asked of stages is which layers they have, and what
  // ends beside later passes is not told apart.
  bool isRelaxed = llvm::all_of(problem->schedules, [](PipelineSchedule schedule) {
    const ScheduleModel &model = modelOf(schedule);
    return model.virtualStages == ScheduleModel::VirtualStages::One && !model.splitsWeights();
  });
  if (!isRelaxed || data_->ringOverlaps || !check(*problem).empty())
    return placementLowerBound(*problem);
  PlacementOptions options;
  options.stop = data_->job.stop;
  return place(*problem, options).bound;
}

double PlacedWork::tightenBound(const Machine &machine, const Fabric *fabric) const {
  double minimal = INFINITY;
  std::shared_ptr<Data::Exchanges> exchanges = data_->over(fabric);
  for (const auto &[bound, group] : data_->groups(machine, *exchanges)) {
    if (bound >= minimal)
      break;
    if (data_->stopped())
      return bound; // of this group and all behind it
    if (auto problem = data_->real(machine, group, *exchanges))
      minimal = std::min(minimal, std::max(bound, placementLowerBound(*problem)));
  }
  return minimal;
}

PlacedBest PlacedWork::best(const Machine &machine, double below, const Fabric *fabric) const {
  PlacedBest best;
  best.value = best.bound = INFINITY;
  std::shared_ptr<Data::Exchanges> exchanges = data_->over(fabric);
  for (const auto &[bound, group] : data_->groups(machine, *exchanges)) {
    double max = std::min(below, best.value);
    if (bound >= max || data_->stopped()) {
      best.bound = std::min(best.bound, bound);
      break;
    }
    auto problem = data_->real(machine, group, *exchanges);
    if (!problem)
      continue;
    PlacementOptions options;
    options.below = max;
    options.stop = data_->job.stop;
    PlacementResult found = place(*problem, options);
    best.bound = std::min(best.bound, std::max(bound, found.bound));
    if (!found.plan || found.value >= best.value)
      continue;
    best.value = found.value;
    best.parallelConfig = problem->parallelConfigs[found.plan->stages.front().parallelConfig];
    best.recomputePolicies = recomputedLayers(*problem, *found.plan);
    best.metrics = std::move(found.metrics);
    best.plan = std::move(found.plan);
  }
  // Values that differ by no more are one to `place`.
  if (best.bound >= best.value * (1 - 1e-9))
    best.bound = best.value;
  return best;
}

CertificateCluster PlacedWork::claimed(const std::vector<double> &capacities, const Fabric *fabric) const {
  CertificateCluster cluster;
  std::shared_ptr<Data::Exchanges> exchanges = data_->over(fabric);
  const PlacementProblemRequest &request = data_->job.request;
  const Cluster &group = request.groups.front();
  if (auto problem = data_->minimal(group.machine, {.exact = false}, *exchanges))
    cluster.problem = std::move(*problem);
  PlacementProblem &p = cluster.problem;
  auto picoseconds = [](Seconds time) { return static_cast<int64_t>(std::ceil(time.value * 1e12)); };
  p.hostOverheadPerMicrobatch = 0, p.hostOverheadPerStep -= picoseconds(group.machine.host.step);
  p.location = {};
  p.limits.watts = p.limits.joules = 0;
  for (PlacementProblem::DeviceType &deviceType : p.deviceTypes) {
    deviceType.memory = 0, deviceType.idleWatts = deviceType.tdpWatts = 0;
    deviceType.location = deviceType.counted = {};
  }
  for (PlacementProblem::LayerClass &one : p.classes)
    for (auto &cost : one.costs)
      cost = PlacementProblem::Cost{}, cost->recomputeChoices.push_back({"none", 0, 0, 0, 0});
  cluster.classOf = data_->finest.classOf;
  cluster.structure = data_->structure;
  cluster.offloads = request.space.offloadActivations;
  for (double capacity : capacities)
    if (data_->job.memory) {
      Machine machine = group.machine;
      machine.memories.front().capacity = Bytes(capacity);
      std::scoped_lock lock(data_->asking);
      cluster.memoryBudgets.push_back({capacity, static_cast<int64_t>(data_->job.memory(machine))});
    }
  // Policies in their order.
  std::vector<std::pair<std::pair<StepVariant, size_t>, const Data::Step *>> order;
  for (const auto &[key, step] : data_->steps) {
    std::vector<std::string> policies = request.space.policiesOf(key.sharding);
    StepVariant alike = key;
    alike.recompute.clear();
    size_t place = llvm::find(policies, key.recompute) - policies.begin();
    order.push_back({{alike, place}, &step});
  }
  std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  for (const auto &[place, step] : order) {
    const StepVariant &key = step->key;
    CertificateStep &to = cluster.steps.emplace_back();
    to.tensor = key.sharding.tensor, to.sequence = key.sharding.sequence;
    to.microbatch = key.microbatch, to.recompute = key.recompute;
    to.data = key.data, to.experts = key.replicaSharding.experts, to.tables = key.replicaSharding.tables;
    to.graph = step->work->graph();
    auto seconds = communicationOf(to.graph, exchanges->fabric, key);
    for (OperationId id = 0; id < to.graph.operations.size(); ++id) {
      Operation &op = to.graph.operations[id];
      if (op.core != CoreKind::Network)
        continue;
      op.core = CoreKind::None;
      // What replicas exchange at the end is of no layer.
      if (op.region != kUpdateRegion && !op.givenSeconds && seconds && (*seconds)[id] > 0)
        op.givenSeconds = (*seconds)[id];
    }
  }
  return cluster;
}

std::vector<PlacementProblem> PlacedWork::problems(const Machine &machine,
                                                   const std::vector<PlacementProblem::ParallelConfig> &configs) const {
  std::set<GroupKey> groups;
  for (const PlacementProblem::ParallelConfig &config : configs)
    groups.insert(groupOf(config));
  std::vector<PlacementProblem> problems;
  for (const GroupKey &group : groups) {
    auto problem = data_->real(machine, group, data_->own);
    if (!problem)
      continue;
    PlacementProblem brief = *problem;
    brief.parallelConfigs.clear();
    brief.limits.watts = brief.limits.joules = 0;
    brief.placementConstraints.clear();
    for (PlacementProblem::Layer &layer : brief.layers)
      layer.placementConstraints.clear();
    for (PlacementProblem::LayerClass &one : brief.classes)
      one.costs.clear();
    for (size_t f = 0; f < problem->parallelConfigs.size(); ++f) {
      if (llvm::none_of(configs,
                        [&](const auto &one) { return identityOf(one) == identityOf(problem->parallelConfigs[f]); }))
        continue;
      brief.parallelConfigs.push_back(problem->parallelConfigs[f]);
      for (size_t c = 0; c < brief.classes.size(); ++c) {
        auto &cost = brief.classes[c].costs.emplace_back(problem->classes[c].costs[f]);
        cost->joules = cost->recomputeJoules = 0;
      }
    }
    if (!brief.parallelConfigs.empty())
      problems.push_back(std::move(brief));
  }
  return problems;
}

std::string PlacedWork::digest() const {
  const WorkGraph &graph = data_->structure;
  const Cluster &group = data_->job.request.groups.front();
  return fmt::format("{} of {} on {} devices, {} steps, {} operations, {} layers", graph.model,
                     data_->job.request.batch, group.devicesPerNode * group.servers, data_->steps.size(),
                     graph.operations.size(), data_->finest.layers());
}

} // namespace accord
