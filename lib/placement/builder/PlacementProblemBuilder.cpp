#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/placement/builder/CalibratedPrices.h"
#include "lib/placement/builder/LayerSparsity.h"
#include "lib/placement/builder/ParallelConfigCosts.h"
#include "lib/placement/builder/StepVariants.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// All sums of a line of each.
std::vector<AlphaBetaModel> both(const std::vector<AlphaBetaModel> &a, const std::vector<AlphaBetaModel> &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  std::vector<AlphaBetaModel> sums;
  for (const AlphaBetaModel &x : a)
    for (const AlphaBetaModel &y : b)
      sums.push_back({x.latency + y.latency, x.perByte + y.perByte});
  return lowerEnvelope(std::move(sums));
}
/// `part` of the time, and `ratio` bytes for each.
std::vector<AlphaBetaModel> scaled(std::vector<AlphaBetaModel> lines, double part, double ratio) {
  for (AlphaBetaModel &line : lines)
    line.latency *= part, line.perByte *= part * ratio;
  return lines;
}

class PlacementProblemBuilder {
public:
  explicit PlacementProblemBuilder(const PlacementProblemRequest &request, const PlacementProblemCache *known = nullptr)
      : request_(request), known_(known), networks_(known && known->networks ? *known->networks
                                                    : request.networks       ? *request.networks
                                                                             : ownNetworks_) {}

  Result<BuiltPlacementProblem, Errors> run() {
    for (const Cluster &group : request_.groups)
      prices_.push_back(CalibratedPrices::of(group, request_.unlinked));
    addDevices(request_, prices_, problem());
    if (request_.framework)
      out_.deviceMemory = applyDeviceMemory(*request_.framework, request_, problem());
    if (!structure())
      return std::move(errors_);
    if (!listSparsity())
      return std::move(errors_);
    for (Id deviceType = 0; deviceType < request_.groups.size(); ++deviceType)
      if (!parallelConfigs(deviceType))
        return std::move(errors_);
    bool divides =
        std::any_of(problem().parallelConfigs.begin(), problem().parallelConfigs.end(), [](const auto &parallelConfig) {
          return parallelConfig.expert > 1 || parallelConfig.tables != Tables::Whole;
        });
    if (problem().parallelConfigs.empty() || (left_ && !divides && !request_.space.mayBeWhole()))
      return left_ ? Errors{*left_} : Errors{noDegreesDivide(request_, problem())};
    if (auto error = tooManyPasses(request_, problem()))
      return Errors{*error};
    for (const std::string &text : assumptionsOf(request_, prices_, dropped_, problem()))
      assume(text);
    out_.layering = std::move(layering_);
    for (SparsityUnit &unit : zeros_.units) {
      dropDominated(unit, request_.zeros->budgets.size());
      out_.zeros.push_back(std::move(unit));
    }
    return std::move(out_);
  }

private:
  PlacementProblem &problem() { return out_.problem; }

  /// Which zeros are to choose from, from what they change in all steps: these are priced before any of them is used.
  bool listSparsity() {
    if (zeros_.units.empty())
      return true;
    for (Id deviceType = 0; deviceType < request_.groups.size(); ++deviceType)
      if (!parallelConfigs(deviceType, /*pricesAlone=*/true))
        return false;
    std::vector<const SparsityDifferences *> steps;
    for (const auto &[step, uses] : priced_)
      for (size_t i = 0; uses && i < uses->zeros.size(); ++i)
        steps.push_back(&uses->zeros[i]);
    if (listAlternatives(*request_.zeros, zeros_, steps))
      assume(
          fmt::format("of the choices of zeros of layers that are placed together at most {} are looked at: those that "
                      "shorten steps most for what they take of each budget",
                      kMaxAlternatives));
    return true;
  }

  std::optional<PricedVariant> price(const WorkGraph &graph, Id deviceType, const StepVariant &step,
                                     PriceCache *prices = nullptr) {
    auto priced = priceStep(graph, request_, request_.groups[deviceType], step, prices);
    if (!priced) {
      errors_ = priced.takeError();
      return std::nullopt;
    }
    for (const std::string &text : priced->costs.assumptions)
      assume(text);
    return std::move(*priced);
  }

  /// The layers, from the step of one device, one sample at a time and nothing computed again.
  bool structure() {
    if (known_) {
      layering_ = *known_->layering;
      return structure(*known_->work);
    }
    StepUses *steps = keptSteps();
    if (steps && steps->structure) {
      layering_ = steps->structure->layering;
      return structure(*steps->structure->work);
    }
    auto graph = graphOf({});
    if (!graph) {
      errors_ = {graph.error()};
      return false;
    }
    const WorkGraph &work = **graph;
    auto priced = price(work, 0, {});
    if (!priced)
      return false;
    layering_ = Layering::of(work, priced->schedule);
    if (steps)
      steps->structure = {*graph, layering_};
    return structure(work);
  }

  bool structure(const WorkGraph &work) {
    if (request_.zeros && !known_)
      zeros_ = sparsityUnits(*request_.zeros, layering_, work);
    out_.parameters = work.parameters;
    out_.precision = work.precision;
    out_.optimizer = work.optimizer;
    for (OperationId id = 0; id < work.operations.size(); ++id)
      if (work.operations[id].region != kUpdateRegion)
        out_.modelFlops += static_cast<double>(contractionFlops(work.operations[id])) * work.executions(id) /
                           work.microbatches * request_.batch;
    PlacementProblem &p = problem();
    std::set<std::pair<Id, Id>> tied;
    for (const SharedParameter &shared :
         together() ? std::vector<SharedParameter>() : sharedParameters(layering_, work)) {
      assume(fmt::format("parameter '{}' is used by several layers: each has a copy of its own, "
                         "and copies of two device groups exchange their gradients at the end{}",
                         shared.name, request_.sharesParameters ? "; a plan of one group has it once" : ""));
      for (size_t i = 1; i < shared.classes.size(); ++i)
        tied.insert({layering_.firstOf(shared.classes[i - 1]), layering_.firstOf(shared.classes[i])});
    }
    for (auto [a, b] : tied)
      p.ties.push_back({std::min(a, b), std::max(a, b)});
    addHostOverheads(request_, prices_, work, p);
    auto loading = addDataLoading(request_, work, p);
    if (!loading) {
      errors_ = {loading.takeError()};
      errors_.front().location = request_.location;
      return false;
    }
    if (!loading->empty())
      assume(*loading);
    for (Id cls = 0; cls < layering_.classes.size(); ++cls) {
      const Layering::Class &one = layering_.classes[cls];
      p.classes.push_back({one.name, {}});
      for (int64_t i = 0; i < one.count; ++i)
        p.layers.push_back({one.count > 1 ? fmt::format("{}[{}]", one.name, i) : one.name, cls, {}, {}});
    }
    if (auto error = requireUniformStages(request_, layering_, p)) {
      errors_ = {*error};
      return false;
    }
    for (const Layering::Edge &edge : layering_.edges)
      p.edges.push_back({edge.from, edge.to, edge.bytes});
    return true;
  }

  /// Layers' uses by policy of recomputation, for one degree and micro-batch; of one of `data` replicas that divide
  /// something.
  struct Uses : std::vector<std::vector<LayerUse>> {
    std::vector<SparsityDifferences> zeros; ///< by policy, where the request has some
  };
  std::optional<Uses> uses(Id deviceType, const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                           int64_t data = 1, const PlacementSpace::ReplicaSharding &replicaSharding = {}) {
    if (zeros_.units.empty())
      return priceUses(deviceType, sharding, microbatch, data, replicaSharding);
    auto [known, isNew] =
        priced_.try_emplace({deviceType, StepVariant{sharding, microbatch, "", data, replicaSharding}});
    if (isNew)
      known->second = priceUses(deviceType, sharding, microbatch, data, replicaSharding);
    return known->second;
  }
  std::optional<Uses> priceUses(Id deviceType, const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                int64_t data, const PlacementSpace::ReplicaSharding &replicaSharding) {
    Uses all;
    for (const std::string &policy : request_.space.policiesOf(sharding)) {
      if (request_.stop && *request_.stop) {
        errors_ = {{Code::NothingToPlace, "the search was stopped before all costs were known", request_.location, {}}};
        return std::nullopt;
      }
      StepVariant step{sharding, microbatch, policy, data, replicaSharding};
      if (known_) {
        const std::vector<LayerUse> *found = known_->uses(step);
        if (!found)
          return std::nullopt;
        all.push_back(*found);
        continue;
      }
      StepUses *steps = keptSteps();
      const Cluster &group = request_.groups[deviceType];
      if (const std::vector<LayerUse> *kept = steps ? steps->find(request_, group, step) : nullptr) {
        all.push_back(*kept);
        continue;
      }
      auto made = graphOf(step);
      if (!made) {
        if (!left_)
          left_ = made.error();
        assume(fmt::format("tensor_parallel {}{}{}{} is left out: {}", sharding.tensor,
                           sharding.sequence ? " with sequence_parallel" : "", contextText(sharding),
                           replicaSharding.any() ? fmt::format(", divided among {} replicas,", data) : "",
                           made.error().message));
        return std::nullopt;
      }
      const WorkGraph &graph = **made;
      auto priced = price(graph, deviceType, step, steps ? steps->prices.get() : nullptr);
      if (!priced)
        return std::nullopt;
      std::vector<double> times;
      if (prices_[deviceType]) {
        auto fitted = prices_[deviceType]->times(graph, sharding.tensor, sharding.context);
        if (!fitted) {
          errors_ = {fitted.error()};
          return std::nullopt;
        }
        times = std::move(*fitted);
      }
      const std::vector<double> *fitted = prices_[deviceType] ? &times : nullptr;
      all.push_back(layerUses(layering_, graph, priced->costs, priced->schedule, fitted));
      if (request_.zeros) {
        auto differences = differencesOf(graph, deviceType, step, priced->costs, fitted);
        if (!differences)
          return std::nullopt;
        all.zeros.push_back(std::move(*differences));
      }
      if (steps)
        steps->keep(request_, group, step, all.back());
    }
    return all;
  }
  /// What zeros change of a step; nothing after errors.
  std::optional<SparsityDifferences> differencesOf(const WorkGraph &graph, Id deviceType, const StepVariant &step,
                                                   const Costs &costs, const std::vector<double> *times) {
    const Cluster &group = request_.groups[deviceType];
    const Machine ideal = withoutFits(group.machine);
    EstimateOptions options;
    options.costModel = request_.costModel;
    options.fabric = &group.fabric;
    options.axes = axesOf(step);
    auto idealCosts = estimate(graph, ideal, options);
    if (!idealCosts) {
      errors_ = idealCosts.takeError();
      return std::nullopt;
    }
    auto differences = sparsityDifferences(*request_.zeros, layering_, graph, ideal, *idealCosts, costs, times);
    if (!differences) {
      errors_ = {differences.error()};
      return std::nullopt;
    }
    return std::move(*differences);
  }

  Result<std::shared_ptr<const WorkGraph>> graphOf(const StepVariant &step) const {
    if (StepUses *steps = keptSteps())
      return steps->graphs.of(request_, step);
    ACCORD_TRY(made, instantiated(request_, step));
    return std::make_shared<const WorkGraph>(std::move(made));
  }
  StepUses *keptSteps() const { return request_.groups.size() == 1 && !request_.zeros ? request_.steps : nullptr; }

  /// Whether all layers of every plan are in one group of devices, which has a parameter of several of them once.
  bool together() const {
    const auto &groups = request_.space.groups;
    return (request_.sharesParameters || request_.framework) && groups.size() == 1 && groups.front().max == 1;
  }

  /// A layer that a device has no room for however it is kept; larger micro-batches take no less.
  const std::string *tooLarge(const Uses &uses, Id deviceType) const {
    for (size_t cls = 0; cls < layering_.classes.size(); ++cls)
      if (std::all_of(uses.begin(), uses.end(), [&](const std::vector<LayerUse> &policy) {
            return policy[cls].activations > out_.problem.deviceTypes[deviceType].memory - policy[cls].workspace;
          }))
        return &layering_.classes[cls].name;
    return nullptr;
  }

  /// By stages between replicas.
  using Traffics = std::map<int64_t, const ReplicaCommunication *>;
  const ReplicaCommunication *traffic(Id deviceType, int64_t tensor, int64_t data, bool divided, int64_t between) {
    auto found = networks_.find(request_.groups[deviceType], deviceType, tensor, data, divided, between);
    if (!found) {
      errors_ = {found.error()};
      return nullptr;
    }
    return *found;
  }

  struct Degree {
    PlacementSpace::TensorSharding sharding;
    int64_t microbatch = 1, data = 1;
  };

  static std::string contextText(const PlacementSpace::TensorSharding &sharding) {
    return sharding.context > 1
               ? fmt::format(" with context_parallel {} ({})", sharding.context, name(sharding.contextExchange))
               : "";
  }

  /// Data-parallel degrees that the batch and the devices allow.
  std::vector<int64_t> dataDegrees(int64_t devices) const {
    std::vector<int64_t> degrees = request_.space.data;
    if (degrees.empty())
      for (int64_t d = 1; d <= std::min(devices, request_.batch); ++d)
        if (request_.batch % d == 0)
          degrees.push_back(d);
    return degrees;
  }

  /// `pricesAlone`: the steps are priced, and nothing is chosen.
  bool parallelConfigs(Id deviceType, bool pricesAlone = false) {
    pricesAlone_ = pricesAlone;
    int64_t devices = problem().deviceTypes[deviceType].devices;
    std::vector<int64_t> degrees = dataDegrees(devices);
    std::map<std::pair<int64_t, int64_t>, Traffics> traffics;
    for (const PlacementSpace::TensorSharding &sharding : request_.space.tensorShardings) {
      if (sharding.tensor * sharding.context > devices)
        continue;
      for (int64_t microbatch : request_.space.microbatches) {
        if (request_.batch % microbatch != 0)
          continue;
        auto found = uses(deviceType, sharding, microbatch);
        if (!errors_.empty())
          return false;
        if (!found && known_) // left out by itself
          continue;
        if (!found)
          break;
        for (int64_t own : degrees) {
          int64_t data = own * sharding.context; // replicas of the weights
          if (data > devices / sharding.tensor || request_.batch / microbatch % own != 0)
            continue;
          auto [at, isNew] = traffics.try_emplace({sharding.tensor, data});
          if (isNew && data > 1 && !exchanges(deviceType, sharding.tensor, data, at->second))
            return false;
          if (!replicaShardings(deviceType, {sharding, microbatch, data}, *found, at->second))
            return false;
        }
        if (const std::string *layer = tooLarge(*found, deviceType);
            layer && microbatch < request_.space.microbatches.back()) {
          assume(fmt::format("micro-batches of more than {} are left out with tensor_parallel {}{} on "
                             "{}: one does not fit into '{}'",
                             microbatch, sharding.tensor, contextText(sharding), problem().deviceTypes[deviceType].name,
                             *layer));
          break;
        }
      }
    }
    return true;
  }

  /// The choices for each way in which the replicas may divide experts or tables. `whole`: uses without a division.
  bool replicaShardings(Id deviceType, const Degree &degree, const Uses &whole, const Traffics &traffic) {
    bool known = false; // without a division
    // Devices that share a sample have the same experts and tables: what replicas divide, they divide as one.
    int64_t own = degree.data / degree.sharding.context;
    for (PlacementSpace::ReplicaSharding replicaSharding :
         request_.space.replicaShardings(own, degree.sharding.tensor)) {
      if (replicaSharding.tables != Tables::Whole && degree.sharding.context > 1) {
        assume("tables are not divided among replicas that share samples along their sequences");
        continue;
      }
      std::optional<Uses> divided;
      if (replicaSharding.any()) {
        int64_t among = replicaSharding.experts > 1 ? replicaSharding.experts : degree.data;
        divided = uses(deviceType, degree.sharding, degree.microbatch, among, replicaSharding);
        if (!errors_.empty())
          return false;
        if (!divided)
          continue;
        if (divided->front().size() == whole.front().size() && weightsOf(*divided) == weightsOf(whole)) {
          if (!request_.space.mayBeWhole()) { // what was asked for cannot be
            leaveOutDivision(degree.sharding.tensor, among);
            continue;
          }
          assume("there are no experts or tables that replicas could divide");
          divided.reset();
          replicaSharding = {};
        }
      }
      if (replicaSharding.any() || !std::exchange(known, true))
        choices(deviceType, degree, replicaSharding, whole, divided ? *divided : whole, traffic);
    }
    return true;
  }

  void leaveOutDivision(int64_t tensor, int64_t among) {
    std::string why = fmt::format("with tensor_parallel {} there are no experts or "
                                  "tables that {} replicas could divide",
                                  tensor, among);
    assume(fmt::format("left out: {}", why));
    if (!left_)
      left_ = Error{Code::NothingToPlace, why, request_.location, {}};
  }

  int64_t weightsOf(const Uses &uses) const {
    int64_t sum = 0;
    for (size_t c = 0; c < uses.front().size(); ++c)
      sum += uses.front()[c].weights * layering_.classes[c].count;
    return sum;
  }

  /// By stages between replicas: 1, and as many as a server has room for, if ranks may run so.
  bool exchanges(Id deviceType, int64_t tensor, int64_t data, Traffics &by) {
    bool divided =
        std::any_of(request_.space.zero.begin(), request_.space.zero.end(), [](int stage) { return stage > 0; });
    int64_t devicesPerNode = problem().deviceTypes[deviceType].devicesPerNode, max = 1;
    for (RankOrder order : request_.space.orders)
      if (order == RankOrder::TensorPipelineData)
        max = std::max<int64_t>(1, (devicesPerNode + tensor - 1) / tensor);
    int64_t known = 0;                                                                // together
    max = std::min(max, problem().deviceTypes[deviceType].devices / (tensor * data)); // no plan has more
    for (int64_t between = 1; between <= max; ++between) {
      int64_t replicasPerNode = std::max<int64_t>(1, std::min(data, devicesPerNode / (tensor * between)));
      if (replicasPerNode == known)
        continue;
      known = replicasPerNode;
      const ReplicaCommunication *made = traffic(deviceType, tensor, data, divided, between);
      if (!made)
        return false;
      by.emplace(between, made);
    }
    return true;
  }

  /// All that is chosen besides degrees.
  void choices(Id deviceType, const Degree &degree, const PlacementSpace::ReplicaSharding &replicaSharding,
               const Uses &whole, const Uses &divided, const Traffics &traffic) {
    if (pricesAlone_)
      return;
    std::vector<int> stages = request_.space.zero;
    if (degree.data == 1) // nothing to divide among
      stages = {*std::min_element(stages.begin(), stages.end())};
    const DeviceType &on = problem().deviceTypes[deviceType];
    std::vector<size_t> alike; // parallel configurations of these degrees that are in the search space
    for (int zero : stages)
      for (const PlacementSpace::Offload &offload : request_.space.offloads)
        for (bool ring : request_.space.ringOverlaps)
          for (RankOrder order : request_.space.orders) {
            bool replicas = order == RankOrder::TensorPipelineData;
            // Where all devices are in one server, or there is one replica, ranks make no difference.
            if (replicas && request_.space.orders.size() > 1 && (degree.data == 1 || on.devices <= on.devicesPerNode))
              continue;
            if (zero == 3 && offload.weights) // they come from the other replicas
              continue;
            if (zero >= 2 && replicaSharding.experts > 1 && replicaSharding.experts < degree.data) {
              assume("ZeRO 2 and 3 are left out where experts are divided among some replicas");
              continue;
            }
            ParallelConfig parallelConfig;
            parallelConfig.deviceType = deviceType;
            parallelConfig.tensor = degree.sharding.tensor;
            parallelConfig.sequence = degree.sharding.sequence;
            parallelConfig.data = degree.data;
            parallelConfig.context = degree.sharding.context;
            parallelConfig.contextExchange = degree.sharding.contextExchange;
            parallelConfig.zero = zero;
            parallelConfig.microbatch = degree.microbatch;
            parallelConfig.expert = replicaSharding.experts;
            if (parallelConfig.expert > 1 &&
                !request_.space.hasWholeExperts(parallelConfig.tensor, parallelConfig.expert))
              parallelConfig.expertTensor = parallelConfig.tensor;
            parallelConfig.tables = replicaSharding.tables;
            parallelConfig.ringOverlap = ring && degree.sharding.tensor > 1;
            parallelConfig.hostStates = offload.states;
            parallelConfig.hostWeights = offload.weights;
            parallelConfig.order = order;
            if (parallelConfig.ringOverlap != ring && request_.space.ringOverlaps.size() > 1)
              continue;
            for (const std::vector<ParallelConfigCosts::RecomputeChoice> &recomputeChoices :
                 recomputeChoicesOf(request_.space, whole.size()))
              add(parallelConfig, recomputeChoices, whole, divided, traffic, alike);
          }
  }

  /// With copies for plans of several groups, without them for those of one.
  void add(const ParallelConfig &parallelConfig,
           const std::vector<ParallelConfigCosts::RecomputeChoice> &recomputeChoices, const Uses &whole,
           const Uses &uses, const Traffics &traffic, std::vector<size_t> &alike) {
    if (together())
      return addWith(parallelConfig, recomputeChoices, whole, uses, &withoutCopy, traffic, alike);
    addWith(parallelConfig, recomputeChoices, whole, uses, &asItIs, traffic, alike);
    if (problem().ties.empty() || !request_.sharesParameters || !problem().mayHaveGroups(1))
      return;
    ParallelConfig once = parallelConfig;
    once.oneGroup = true;
    addWith(once, recomputeChoices, whole, uses, &withoutCopy, traffic, alike);
  }
  static LayerUse asItIs(LayerUse use) { return use; }

  /// A layer's use by policy, with the zeros of an alternative of a unit where one is given.
  std::vector<LayerUse> policiesOf(const Uses &uses, size_t cls, LayerUse (*of)(LayerUse), size_t unit = 0,
                                   const SparsityAlternative *alternative = nullptr) const {
    std::vector<LayerUse> policies;
    for (size_t i = 0; i < uses.size(); ++i) {
      std::vector<const LayerUse *> differences;
      for (size_t d = 0; alternative && d < alternative->options.size(); ++d) {
        const UseDifferences &all = uses.zeros[i][zeros_.decisions[unit][d]][alternative->options[d]];
        if (auto found = all.find(static_cast<uint32_t>(cls)); found != all.end())
          differences.push_back(&found->second);
      }
      policies.push_back(of(withSparsity(uses[i][cls], differences)));
    }
    return policies;
  }

  void addWith(ParallelConfig parallelConfig, const std::vector<ParallelConfigCosts::RecomputeChoice> &recomputeChoices,
               const Uses &whole, const Uses &uses, LayerUse (*of)(LayerUse), const Traffics &traffic,
               std::vector<size_t> &alike) {
    PlacementProblem &p = problem();
    ParallelConfigCosts how;
    how.parallelConfig = &parallelConfig;
    how.batch = request_.batch;
    how.recomputePolicies = request_.space.policiesOf({parallelConfig.tensor, parallelConfig.sequence});
    how.recomputeChoices = recomputeChoices;
    applyFramework(how);
    double rate = request_.groups[parallelConfig.deviceType].machine.hostBandwidth.value;
    how.hostPerByte = rate > 0 ? 1e12 / rate : 0;
    std::vector<PlacementProblem::Cost> costs;
    double weights = 0, gradients = 0;
    for (size_t c = 0; c < uses.front().size(); ++c) {
      const LayerUse undivided = of(whole.front()[c]);
      costs.push_back(costOf(how, policiesOf(uses, c, of), &whole == &uses ? nullptr : &undivided));
      double count = layering_.classes[c].count;
      weights += costs.back().weights * count;
      gradients += costs.back().gradients * count;
    }
    if (parallelConfig.data > 1) {
      double perGradient = gradients > 0 ? weights / gradients : 0, perWeight = weights > 0 ? gradients / weights : 0;
      int64_t places = p.deviceTypes[parallelConfig.deviceType].devicesPerNode / parallelConfig.tensor;
      bool replicas = parallelConfig.order == RankOrder::TensorPipelineData;
      for (const auto &[between, ways] : traffic) {
        if (between > 1 && !replicas)
          break;
        std::vector<AlphaBetaModel> lines = exchangeOf(*ways, parallelConfig.zero, perGradient);
        int64_t replicasPerNode = std::max<int64_t>(1, std::min(parallelConfig.data, places / between));
        const std::optional<CalibratedPrices> &fitted = prices_[parallelConfig.deviceType];
        if (fitted)
          lines = fitted->exchange(parallelConfig, replicasPerNode, perGradient);
        parallelConfig.gradientSyncs.insert(parallelConfig.gradientSyncs.begin(), {replicasPerNode, lines});
        if (!expertSync(parallelConfig, replicasPerNode, between, perGradient))
          return;
        // Of the fewest replicas in one server: what each micro-batch takes, wherever they are.
        if (parallelConfig.zero >= 2)
          parallelConfig.gather = scaled(ways->scatter, 0.5, perWeight);
        if (parallelConfig.zero == 3)
          parallelConfig.gather = both(ways->gather, parallelConfig.gather);
        if (fitted)
          parallelConfig.gather = fitted->gather(parallelConfig, replicasPerNode, perWeight);
      }
    }
    SparseCosts sparse = sparseCostsOf(how, whole, uses, of);
    for (size_t other : alike)
      if (isDominated(p, parallelConfig, costs, other) && isDominatedWithSparsity(sparse, other)) {
        ++dropped_;
        return;
      }
    alike.push_back(p.parallelConfigs.size());
    for (size_t c = 0; c < costs.size(); ++c)
      p.classes[c].costs.push_back(std::move(costs[c]));
    for (size_t u = 0; u < sparse.size(); ++u)
      for (size_t a = 0; a < sparse[u].size(); ++a)
        for (size_t c = 0; c < sparse[u][a].size(); ++c)
          zeros_.units[u].alternatives[a].costs[c].push_back(std::move(sparse[u][a][c]));
    p.parallelConfigs.push_back(std::move(parallelConfig));
  }

  /// By unit of zeros, alternative and class of the unit.
  using SparseCosts = std::vector<std::vector<std::vector<PlacementProblem::Cost>>>;
  SparseCosts sparseCostsOf(const ParallelConfigCosts &how, const Uses &whole, const Uses &uses,
                            LayerUse (*of)(LayerUse)) const {
    SparseCosts all;
    for (size_t u = 0; u < zeros_.units.size(); ++u) {
      all.emplace_back();
      for (const SparsityAlternative &alternative : zeros_.units[u].alternatives) {
        all.back().emplace_back();
        for (uint32_t cls : zeros_.units[u].classes) {
          const LayerUse undivided = policiesOf(whole, cls, of, u, &alternative).front();
          all.back().back().push_back(
              costOf(how, policiesOf(uses, cls, of, u, &alternative), &whole == &uses ? nullptr : &undivided));
        }
      }
    }
    return all;
  }
  bool isDominatedWithSparsity(const SparseCosts &sparse, size_t other) const {
    for (size_t u = 0; u < sparse.size(); ++u)
      for (size_t a = 0; a < sparse[u].size(); ++a)
        for (size_t c = 0; c < sparse[u][a].size(); ++c) {
          const PlacementProblem::Cost &known = *zeros_.units[u].alternatives[a].costs[c][other];
          if (known.weight != sparse[u][a][c].weight || !isNoMore(known, sparse[u][a][c]))
            return false;
        }
    return true;
  }

  /// Types and the loss, as the framework has them.
  void applyFramework(ParallelConfigCosts &how) const {
    if (!request_.framework)
      return;
    const Framework &framework = *request_.framework;
    constexpr double kHalf = 2, kFull = 4; // bytes of a number of products, and of fp32
    bool mixed = out_.precision.starts_with("mixed(");
    // A training that states fp32 gradients has them in its graph.
    double ofGraph = out_.precision.find("gradients = fp32") != std::string::npos ? kFull : kHalf;
    double gradients = framework.gradientsInBoth ? kFull + kHalf : framework.fp32Gradients ? kFull : ofGraph;
    how.gradientRatio = mixed ? gradients / ofGraph : 1;
    how.reductionRatio = mixed && framework.fp32Reductions ? kFull / ofGraph : 1;
    how.masterWeightsAlone = mixed && framework.masterWeightsAlone;
    bool half = mixed || out_.precision == "bf16" || out_.precision == "fp16";
    // What a framework states is of logits in 16 bit.
    how.lossRatio = half ? framework.lossBytes / kHalf : std::max(2.0, framework.lossBytes / kFull);
  }

  /// Of gradients after the last micro-batch; `perGradient` bytes of weights for each.
  static std::vector<AlphaBetaModel> exchangeOf(const ReplicaCommunication &ways, int zero, double perGradient) {
    return zero == 0   ? ways.allReduce
           : zero == 1 ? both(ways.scatter, scaled(ways.gather, 1, perGradient))
           : zero == 2 ? scaled(ways.gather, 1, perGradient)
                       : std::vector<AlphaBetaModel>();
  }

  /// Among replicas with the same experts, `expert` apart: neither ZeRO 2 nor 3.
  bool expertSync(ParallelConfig &parallelConfig, int64_t replicasPerNode, int64_t between, double perGradient) {
    ParallelConfig apart = parallelConfig;
    apart.data = parallelConfig.data / parallelConfig.expert,
    replicasPerNode = std::max<int64_t>(1, replicasPerNode / parallelConfig.expert);
    bool known = !parallelConfig.expertGradientSyncs.empty() &&
                 parallelConfig.expertGradientSyncs.front().replicasPerNode == replicasPerNode;
    if (parallelConfig.expert == 1 || apart.data == 1 || known)
      return true;
    const ReplicaCommunication *ways =
        traffic(parallelConfig.deviceType, parallelConfig.tensor, apart.data, true, between * parallelConfig.expert);
    if (!ways)
      return false;
    const std::optional<CalibratedPrices> &fitted = prices_[parallelConfig.deviceType];
    std::vector<AlphaBetaModel> lines = fitted ? fitted->exchange(apart, replicasPerNode, perGradient)
                                               : exchangeOf(*ways, parallelConfig.zero, perGradient);
    parallelConfig.expertGradientSyncs.insert(parallelConfig.expertGradientSyncs.begin(), {replicasPerNode, lines});
    return true;
  }

  void assume(const std::string &text) {
    if (std::find(out_.assumptions.begin(), out_.assumptions.end(), text) == out_.assumptions.end())
      out_.assumptions.push_back(text);
  }

  const PlacementProblemRequest &request_;
  const PlacementProblemCache *known_;
  CommunicationCache ownNetworks_, &networks_;
  size_t dropped_ = 0;
  BuiltPlacementProblem out_;
  Layering layering_;
  SparsityUnits zeros_; ///< with costs by parallel configuration, as they are added
  std::map<std::pair<Id, StepVariant>, std::optional<Uses>> priced_; ///< where there are zeros; without a policy
  bool pricesAlone_ = false;
  Errors errors_;
  std::vector<std::optional<CalibratedPrices>> prices_; ///< by device type, of calibrated machines
  std::optional<Error> left_;                           ///< why the first degree was left out
};

} // namespace

Result<BuiltPlacementProblem, Errors> buildPlacementProblem(const PlacementProblemRequest &request) {
  return PlacementProblemBuilder(request).run();
}

Result<BuiltPlacementProblem, Errors> buildPlacementProblem(const PlacementProblemRequest &request,
                                                            const PlacementProblemCache &known) {
  return PlacementProblemBuilder(request, &known).run();
}

} // namespace accord
