#include "lib/exploration/clusters/StagedDesigns.h"
#include "lib/exploration/clusters/StageBounds.h"
#include "lib/exploration/clusters/StageDeviceTypes.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/HeterogeneousStages.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord {
namespace {

constexpr int kRounds = 4;
constexpr size_t kEvery = 16;               ///< candidates of which none is left out
constexpr double kMixGap = 2e-3;            ///< of the least of a mix
constexpr double kMatters = 0.01;           ///< of a step: classes of layers whose least is searched for
constexpr uint64_t kLocalEvaluations = 300; ///< of a stage's critical-path search
constexpr double kPowers[] = {0.5, 1, 2};
using Id = PlacementProblem::Id;

/// One share of operations and one micro-batch size.
struct Group {
  std::unique_ptr<StageLayers> layers;
  size_t number = 0;
  std::vector<double> min;         ///< times by way, of all designs
  std::vector<double> minCostTime; ///< cost * time, by class, of the fastest way
  std::vector<StageCandidate> candidates;
  std::set<Design> known;
  double bound = 0; ///< of the value, in picoseconds (or times the cost)
};

class StageDesigner {
public:
  StageDesigner(const DesignSpace &space, const PlacedWork &work, MiningMetric metric, const Design &common,
                const PlacedBest &placed, const StageOptions &options)
      : space_(space), work_(work), metric_(metric), common_(common), placed_(placed), options_(options), reach_(space),
        costs_(metric != MiningMetric::StepTime) {}

  std::optional<StagedDesigns> run() {
    DesignBox all = wholeOf(space_.parameters());
    auto max = space_.best(all);
    if (!max || !space_.machine(common_) || !placed_.plan)
      return std::nullopt;
    const PlacementSpace &placementSpace = work_.job().request.space;
    std::vector<Group> groups;
    for (const PlacementSpace::TensorSharding &sharding : placementSpace.tensorShardings)
      for (int64_t microbatch : placementSpace.microbatches) {
        Group group;
        group.layers = StageLayers::of(space_, reach_, work_, *max, metric_, common_, sharding, microbatch);
        group.number = groups.size();
        if (group.layers)
          groups.push_back(std::move(group));
      }
    if (groups.empty())
      return std::nullopt;
    points_ = space_.points();
    exhausts_ = points_ && *points_ <= options_.few;
    out_.all = exhausts_;
    begin(groups);
    minCost_ = costs_ ? groups.front().layers->cost(all) : 1;
    std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
      return std::pair(a.layers->root(), a.number) < std::pair(b.layers->root(), b.number);
    });
    double bound = INFINITY;
    for (Group &group : groups) {
      options_.localSearch ? searchLocally(group) : search(group);
      bound = std::min(bound, group.bound);
    }
    out_.value = best_ * scale();
    out_.bound = stopped() || options_.localSearch ? 0 : std::min(bound, best_) * scale();
    for (const Group &group : groups)
      out_.candidates += group.candidates.size();
    finish();
    return std::move(out_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop->load(); }
  /// From picoseconds to the metric; with costs the judge has it in seconds.
  double scale() const { return costs_ ? 1 : 1e-12; }

  /// The common design's own placement, as a problem of one kind.
  void begin(std::vector<Group> &groups) {
    const PlacementProblem::ParallelConfig &config = placed_.parallelConfig;
    StageCandidate one{common_, nullptr, groups.front().layers->cost(common_)};
    auto machine = *space_.machine(common_);
    if (auto problem = work_.priced(machine, {config.tensor, config.sequence}, config.microbatch))
      one.problem = std::make_shared<const PlacementProblem>(std::move(*problem));
    StageDeviceTypes deviceTypes;
    if (one.problem)
      deviceTypes = stageDeviceTypes({one}, config, scaleOf(config, placed_.metrics.memory.size()));
    if (!deviceTypes.deviceTypes.empty()) {
      Placement plan = *placed_.plan;
      for (PlacedStage &stage : plan.stages)
        stage.parallelConfig = 0;
      if (findViolations(deviceTypes.problem, plan).empty())
        take(deviceTypes, {one}, plan, evaluate(deviceTypes.problem, plan));
    }
    out_.common = best_ * scale();
  }

  void take(const StageDeviceTypes &deviceTypes, const std::vector<StageCandidate> &candidates, const Placement &plan,
            PlanMetrics metrics) {
    if (!metrics.fits || !(metrics.value < best_))
      return;
    best_ = metrics.value;
    out_.problem = deviceTypes.problem, out_.plan = plan, out_.metrics = std::move(metrics);
    out_.designs.clear();
    for (size_t deviceType : deviceTypes.deviceTypes)
      out_.designs.push_back(candidates[deviceType].design);
  }

  /// The design of the least value of a mix, with its value.
  double mine(Group &group, const std::vector<double> &counts, LayerMixProblem::Target target, bool candidates) {
    LayerMixProblem mix(space_, *group.layers, counts, target);
    MiningOptions search;
    search.threads = options_.threads;
    search.stop = options_.stop;
    search.known = {common_};
    search.gap = kMixGap;
    if (options_.localSearch)
      search.evaluations = kLocalEvaluations;
    MiningResult result = (options_.localSearch ? mineByCriticalPath : mineExactly)(mix, search);
    out_.evaluations += result.evaluations, out_.bounds += result.bounds;
    if (candidates)
      for (const Design &design : mix.best(options_.each))
        add(group, design);
    return result.bound;
  }

  void add(Group &group, const Design &design) {
    if (!group.known.insert(design).second)
      return;
    if (auto problem = group.layers->problem(design))
      group.candidates.push_back({design, problem, group.layers->cost(design)});
  }

  std::vector<double> unitCounts(const Group &group, size_t alternative) const {
    std::vector<double> counts(group.layers->alternatives());
    counts[alternative] = 1;
    return counts;
  }

  void search(Group &group) {
    StageLayers &layers = *group.layers;
    // Any plan takes one device of each stage, and one stage, at least.
    group.bound = costs_ ? layers.root() * 1e-12 * minCost_ : layers.root();
    if (group.bound >= best_ || stopped())
      return;
    auto max = layers.minTimes(wholeOf(space_.parameters()));
    if (!max)
      return;
    group.min = *max;
    const PlacementProblem &common = layers.common();
    std::vector<size_t> counts(common.classes.size());
    for (const PlacementProblem::Layer &layer : common.layers)
      ++counts[layer.of];
    std::vector<Id> order(counts.size()); // what most of a step is of
    std::iota(order.begin(), order.end(), Id{0});
    auto takes = [&](Id cls) { return counts[cls] * group.min[cls * layers.policies()]; };
    std::sort(order.begin(), order.end(),
              [&](Id a, Id b) { return std::pair(-takes(a), a) < std::pair(-takes(b), b); });
    add(group, common_);
    group.minCostTime.assign(counts.size(), 0);
    double all = 0;
    for (Id cls : order)
      all += takes(cls);
    auto useless = [&] {
      group.bound =
          std::max(group.bound, costs_ ? stageCostBound(layers, group.min, group.minCostTime, minCost_, metric_, best_)
                                       : stageStepBound(layers, group.min, best_));
      return group.bound >= best_ || stopped();
    };
    for (Id cls : order) {
      // What is little of a step stays with the bound of the whole space.
      bool matters = takes(cls) >= kMatters * all;
      double &metrics = group.minCostTime[cls];
      metrics = INFINITY; // of the way that is worth least
      for (size_t policy = 0; policy < layers.policies(); ++policy) {
        size_t alternative = cls * layers.policies() + policy;
        double &min = group.min[alternative];
        if (matters)
          min = std::max(min, mine(group, unitCounts(group, alternative), {}, policy == 0 && !costs_));
        metrics = std::min(metrics, matters && costs_ ? mine(group, unitCounts(group, alternative), {1}, policy == 0)
                                                      : minCost_ * min);
        if (matters && !costs_ && useless())
          return;
      }
    }
    if (costs_ && useless())
      return;
    for (double power : kPowers)
      if (costs_ && power != 1)
        mine(group, unitCounts(group, order.front() * layers.policies()), {power}, true);
    if (exhausts_)
      for (uint64_t point = 0; point < *points_; ++point)
        add(group, space_.at(point));
    place(group);
  }

  /// Of the share and the micro-batch size of the common plan: that plan's stages are the ones that are searched for.
  void searchLocally(Group &group) {
    const PlacementProblem::ParallelConfig &config = placed_.parallelConfig;
    if (group.layers->sharding() != PlacementSpace::TensorSharding{config.tensor, config.sequence} ||
        group.layers->microbatch() != config.microbatch || out_.plan.stages.empty() || stopped())
      return;
    add(group, common_);
    std::set<std::vector<double>> mixed;
    addMixes(group, out_.problem, out_.plan, mixed);
    place(group);
  }

  /// What a placement may look like: degrees, and a number of stages (0: any).
  struct PipelineShape {
    PlacementProblem::ParallelConfig degrees;
    int64_t stages = 0;
  };
  /// Of all degrees of the group's candidates; one by one for each number of stages where the cost of a device depends
  /// on it.
  std::vector<PipelineShape> shapesOf(const Group &group, const std::vector<StageCandidate> &candidates) const {
    std::vector<PlacementProblem::ParallelConfig> degrees;
    for (const StageCandidate &one : group.candidates)
      for (const PlacementProblem::ParallelConfig &config : one.problem->parallelConfigs)
        if (llvm::none_of(degrees, [&](const auto &other) { return degreesOf(other) == degreesOf(config); }))
          degrees.push_back(config);
    std::vector<PipelineShape> all;
    for (const PlacementProblem::ParallelConfig &config : degrees)
      if (metric_ != MiningMetric::AreaTime)
        all.push_back({config, 0});
      else
        for (int64_t stages : stageCounts(*candidates.front().problem, config))
          all.push_back({config, stages});
    return all;
  }
  /// Of a device's cost, that the sum over all devices is the metric's; 0: there is no cost.
  double scaleOf(const PlacementProblem::ParallelConfig &config, int64_t stages) const {
    return metric_ == MiningMetric::TdpTime    ? 1
           : metric_ == MiningMetric::AreaTime ? 1.0 / (stages * config.devices())
                                               : 0;
  }

  struct ProblemPlan {
    PlacementProblem problem;
    Placement plan;
  };
  /// What plans of one round, or of a group, came to.
  struct PlanSearch {
    std::optional<ProblemPlan> better;   ///< the best of the round, if it is the best of all so far
    std::optional<ProblemPlan> quickest; ///< the best that the quick search found in the round
    std::optional<double> value;         ///< of the best that the quick search found for the group
    double proved = INFINITY;            ///< no plan of the group's candidates is below
  };

  /// Plans of the candidates; then candidates for the stages of the best plan.
  void place(Group &group) {
    PlanSearch found;
    std::set<std::vector<double>> mixed;
    for (int round = 0; round < (options_.localSearch ? 1 : kRounds) && !stopped(); ++round) {
      bool every = exhausts_ && group.candidates.size() <= kEvery;
      std::vector<StageCandidate> candidates = every ? group.candidates : undominated(group.candidates);
      found.better = found.quickest = std::nullopt;
      for (const PipelineShape &shape : shapesOf(group, candidates)) {
        StageDeviceTypes deviceTypes =
            stageDeviceTypes(candidates, shape.degrees, scaleOf(shape.degrees, shape.stages));
        if (shape.stages > 0)
          deviceTypes.problem.groups = {{shape.stages, shape.stages}};
        if (deviceTypes.deviceTypes.empty() || !check(deviceTypes.problem).empty())
          continue;
        placeQuickly(deviceTypes, candidates, round == 0 ? INFINITY : best_, found);
        if (exhausts_ || !costs_)
          placeExactly(deviceTypes, candidates, !every, shape.degrees.devices(), found);
      }
      if (exhausts_)
        break;
      if (!found.better && round == 0)
        found.better = found.quickest;
      size_t known = group.candidates.size();
      if (found.better)
        addMixes(group, found.better->problem, found.better->plan, mixed);
      if (group.candidates.size() == known)
        break;
    }
    if (exhausts_) // the candidates are all designs
      group.bound = std::max(group.bound, std::min(found.proved, best_));
  }

  void placeQuickly(const StageDeviceTypes &deviceTypes, const std::vector<StageCandidate> &candidates, double below,
                    PlanSearch &found) {
    PlacementResult result = placeStages(deviceTypes.problem, below);
    if (!result.plan)
      return;
    if (!found.value || result.value < *found.value)
      found.value = result.value, found.quickest = {deviceTypes.problem, *result.plan};
    if (result.value < best_) {
      take(deviceTypes, candidates, *result.plan, result.metrics);
      found.better = {deviceTypes.problem, *result.plan};
    }
  }

  /// `some`: the candidates are not all that there are.
  void placeExactly(const StageDeviceTypes &deviceTypes, const std::vector<StageCandidate> &candidates, bool some,
                    int64_t devices, PlanSearch &found) {
    PlacementOptions exact;
    exact.below = best_;
    exact.effort = exhausts_ ? 12 : 8;
    exact.stop = options_.stop;
    // A design that is worse in everything may still leave others more room in a server.
    PlacementProblem bounded = deviceTypes.problem;
    if (some && 2 * devices <= bounded.deviceTypes.front().devicesPerNode)
      for (PlacementProblem::Link &link : bounded.links)
        link = fasterOf(link);
    PlacementResult result = accord::place(bounded, exact);
    found.proved = std::min(found.proved, result.bound);
    if (!result.plan)
      return;
    PlanMetrics metrics = evaluate(deviceTypes.problem, *result.plan);
    if (metrics.value < best_) {
      take(deviceTypes, candidates, *result.plan, metrics);
      found.better = {deviceTypes.problem, *result.plan};
    }
  }

  /// Candidates for the mix of layers that each stage has: the fastest; with a cost those of least
  /// cost * time^q, and the cheapest that are no slower than the stage, or than the slowest stage.
  void addMixes(Group &group, const PlacementProblem &problem, const Placement &plan,
                std::set<std::vector<double>> &known) {
    std::vector<std::vector<double>> counts;
    std::vector<double> times;
    for (const PlacedStage &stage : plan.stages) {
      std::vector<double> &mix = counts.emplace_back(group.layers->alternatives());
      times.push_back(0);
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const auto &cost = problem.cost(stage.layers[i], stage.parallelConfig);
        const PlacementProblem::RecomputeChoice &choice = cost->recomputeChoices[stage.recomputeChoices[i]];
        mix[group.layers->alternative(problem.layers[stage.layers[i]].of, choice.policy)] += 1;
        times.back() += cost->forward + cost->backward + cost->weight + choice.recomputeTime;
      }
    }
    double longest = *std::max_element(times.begin(), times.end());
    for (size_t s = 0; s < counts.size(); ++s) {
      if (!known.insert(counts[s]).second)
        continue;
      if (!costs_)
        mine(group, counts[s], {}, true);
      else
        for (LayerMixProblem::Target target :
             {LayerMixProblem::Target{kPowers[0]}, {kPowers[1]}, {kPowers[2]}, {0, times[s]}, {0, longest}})
          mine(group, counts[s], target, true);
    }
  }

  /// Only kinds that some stage is on.
  void finish() {
    std::vector<Id> number(out_.problem.deviceTypes.size(), ~Id(0));
    std::vector<Id> used;
    for (const PlacedStage &stage : out_.plan.stages)
      if (Id deviceType = out_.problem.parallelConfigs[stage.parallelConfig].deviceType; number[deviceType] == ~Id(0)) {
        number[deviceType] = used.size();
        used.push_back(deviceType);
      }
    PlacementProblem all = out_.problem;
    std::vector<Design> designs;
    all.deviceTypes.clear(), all.parallelConfigs.clear(), all.links.clear();
    for (PlacementProblem::LayerClass &cls : all.classes)
      cls.costs.clear();
    for (Id deviceType : used) { // the form of a kind has its number
      designs.push_back(out_.designs[deviceType]);
      all.deviceTypes.push_back(out_.problem.deviceTypes[deviceType]);
      all.deviceTypes.back().name = fmt::format("{}_{}", space_.name(), designs.size());
      all.parallelConfigs.push_back(out_.problem.parallelConfigs[deviceType]);
      all.parallelConfigs.back().deviceType = number[deviceType];
      for (size_t cls = 0; cls < all.classes.size(); ++cls)
        all.classes[cls].costs.push_back(out_.problem.classes[cls].costs[deviceType]);
      for (Id other : used)
        all.links.push_back(out_.problem.links[deviceType * out_.problem.deviceTypes.size() + other]);
    }
    for (PlacedStage &stage : out_.plan.stages)
      stage.parallelConfig = number[stage.parallelConfig];
    out_.problem = std::move(all), out_.designs = std::move(designs);
    out_.proof =
        options_.localSearch
            ? fmt::format(
                  "critical-path search for each stage of the common plan ({} evaluations), then plans of all sets of "
                  "the best {} designs of each",
                  out_.evaluations, options_.each)
            : fmt::format("minimum times of classes of layers over the space ({} exact searches' designs evaluated, {} "
                          "bounds), dynamic program over cuts{}",
                          out_.evaluations, out_.bounds, exhausts_ ? "; placements of all designs" : "");
  }

  const DesignSpace &space_;
  const PlacedWork &work_;
  MiningMetric metric_;
  const Design &common_;
  const PlacedBest &placed_;
  const StageOptions &options_;
  ParameterDependence reach_;
  bool costs_;
  std::optional<uint64_t> points_;
  bool exhausts_ = false;
  double best_ = INFINITY, minCost_ = 1;
  StagedDesigns out_;
};

} // namespace

std::optional<StagedDesigns> mineStages(const DesignSpace &space, const PlacedWork &work, MiningMetric metric,
                                        const Design &common, const PlacedBest &placed, const StageOptions &options) {
  return StageDesigner(space, work, metric, common, placed, options).run();
}

} // namespace accord
