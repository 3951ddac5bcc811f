#include "lib/exploration/clusters/StageLayers.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

bool sameLayers(const PlacementProblem &a, const PlacementProblem &b) {
  return a.classes.size() == b.classes.size() &&
         llvm::equal(a.layers, b.layers, [](const auto &x, const auto &y) { return x.name == y.name && x.of == y.of; });
}

/// By fine layer, the layer that begins with it or with one before it. Empty where they do not match.
std::vector<uint32_t> layersOf(const PlacementProblem &fine, const PlacementProblem &coarse) {
  std::vector<uint32_t> of;
  size_t next = 0;
  for (const PlacementProblem::Layer &layer : fine.layers) {
    if (next < coarse.layers.size() && coarse.layers[next].name == layer.name)
      ++next;
    if (next == 0)
      return {};
    of.push_back(next - 1);
  }
  return next == coarse.layers.size() ? of : std::vector<uint32_t>{};
}

} // namespace

PlacementProblem::Link fasterOf(const PlacementProblem::Link &link) {
  AlphaBetaModel faster{std::min(link.intraNode.latency, link.interNode.latency),
                        std::min(link.intraNode.perByte, link.interNode.perByte)};
  return {faster, faster};
}

std::unique_ptr<StageLayers> StageLayers::of(const DesignSpace &space, const ParameterDependence &dependence,
                                             const PlacedWork &work, const Machine &max, MiningMetric metric,
                                             const Design &common, const PlacementSpace::TensorSharding &sharding,
                                             int64_t microbatch) {
  PlacedJob job = work.job();
  PlacementSpace &placementSpace = job.request.space;
  job.request.objective = PlacementObjective::StepTime;
  placementSpace.tensorShardings = {sharding}, placementSpace.microbatches = {microbatch};
  std::erase_if(placementSpace.schedules, [](PipelineSchedule one) {
    return one != PipelineSchedule::GPipe && one != PipelineSchedule::OneFOneB;
  });
  std::erase(placementSpace.orders, PlacementProblem::RankOrder::TensorPipelineData);
  if (placementSpace.schedules.empty() || placementSpace.orders.empty())
    return nullptr;
  // Replicas that divide nothing but their samples take the same time each.
  bool alone = placementSpace.experts == std::vector<int64_t>{1} &&
               placementSpace.tables == std::vector{PlacementProblem::Tables::Whole};
  auto own = PlacedWork::of(std::move(job), max);
  if (!own)
    return nullptr;
  std::unique_ptr<StageLayers> layers(new StageLayers(space, dependence, metric));
  layers->alone_ = alone;
  layers->work_ = std::move(*own);
  layers->share_ = sharding, layers->microbatch_ = microbatch;
  if (auto machine = space.machine(common))
    layers->common_ = layers->work_->priced(*machine, sharding, microbatch);
  layers->largest_ = layers->work_->minimal(max, {.exact = false});
  if (!layers->common_ || layers->common_->parallelConfigs.empty() || !layers->largest_)
    return nullptr;
  layers->root_ = placementLowerBound(*layers->largest_);
  for (const PlacementProblem::LayerClass &cls : layers->common_->classes)
    for (const auto &cost : cls.costs)
      if (cost)
        for (const PlacementProblem::RecomputeChoice &choice : cost->recomputeChoices)
          if (!llvm::is_contained(layers->policies_, choice.policy))
            layers->policies_.push_back(choice.policy);
  layers->layerOf_ = layersOf(*layers->largest_, *layers->common_);
  return layers;
}

std::shared_ptr<const PlacementProblem> StageLayers::problem(const Design &design) {
  return once(problems_, design, [&]() -> std::shared_ptr<const PlacementProblem> {
    auto machine = objective_.machineOf(design);
    auto problem = machine ? work_->priced(*machine, share_, microbatch_) : std::nullopt;
    return problem && sameLayers(*problem, *common_) ? std::make_shared<PlacementProblem>(std::move(*problem))
                                                     : nullptr;
  });
}

double StageLayers::cost(const Design &design) const {
  auto one = objective_.machineOf(design);
  return !one                                          ? INFINITY
         : objective_.metric == MiningMetric::TdpTime  ? one->tdp.value
         : objective_.metric == MiningMetric::AreaTime ? one->area.value
                                                       : 1;
}

double StageLayers::cost(const DesignBox &box) const {
  if (objective_.metric != MiningMetric::TdpTime && objective_.metric != MiningMetric::AreaTime)
    return 1;
  const char *name = objective_.metric == MiningMetric::TdpTime ? "tdp" : "area";
  for (const auto &[known, cost] : llvm::zip(space_.costNames(), space_.costs(box)))
    if (known == name)
      return cost;
  return 0;
}

size_t StageLayers::alternative(Id cls, const std::string &policy) const {
  size_t at = llvm::find(policies_, policy) - policies_.begin();
  return cls * policies() + at % policies();
}

/// Fine layers add up. A policy that a class does not have takes what its fastest one takes.
std::vector<double> StageLayers::timesOf(const PlacementProblem &problem, bool fine) const {
  std::vector<double> times(alternatives(), 0);
  std::vector<char> seen(common_->layers.size());
  std::vector<char> done(common_->classes.size());
  Id last = ~Id(0);
  for (Id at = 0; at < problem.layers.size(); ++at) {
    Id layer = fine ? layerOf_[at] : at, cls = common_->layers[layer].of;
    if (!seen[layer] && done[cls]) // another layer of the class
      continue;
    if (last != ~Id(0) && last != layer)
      done[common_->layers[last].of] = 1;
    if (done[cls])
      continue;
    seen[layer] = 1, last = layer;
    double fastest = INFINITY;
    std::vector<double> by(policies(), INFINITY);
    for (const auto &cost : problem.classOf(at).costs) {
      if (!cost)
        continue;
      double work = cost->forward + cost->backward + cost->weight;
      for (const PlacementProblem::RecomputeChoice &choice : cost->recomputeChoices) {
        double time = work + choice.recomputeTime;
        double &of = by[alternative(0, choice.policy)];
        of = std::min(of, time), fastest = std::min(fastest, time);
      }
    }
    for (size_t policy = 0; policy < policies(); ++policy)
      times[cls * policies() + policy] += std::isinf(by[policy]) ? fastest : by[policy];
  }
  return times;
}

std::shared_ptr<const std::vector<double>> StageLayers::times(const Design &design) {
  return once(times_, design, [&] {
    auto one = problem(design);
    return one ? std::make_shared<const std::vector<double>>(timesOf(*one, false)) : nullptr;
  });
}

std::shared_ptr<const std::vector<double>> StageLayers::minTimes(const DesignBox &box) {
  return once(minTimes_, std::pair(box.low, box.high), [&] {
    std::shared_ptr<const std::vector<double>> made;
    auto machine = objective_.machineOf(box, box.one());
    if (machine) {
      StepBoundOptions options = dependence_.boundOptions(box, box.one());
      auto problem = layerOf_.empty() ? std::nullopt : work_->minimal(*machine, options, alone_);
      made = std::make_shared<const std::vector<double>>(problem && problem->layers.size() == layerOf_.size()
                                                             ? timesOf(*problem, true)
                                                             : std::vector<double>(alternatives(), 0));
    } else if (machine.error() == 0) {
      made = std::make_shared<const std::vector<double>>(alternatives(), 0);
    }
    return made;
  });
}

std::optional<PlacementProblem> StageLayers::ideal(const std::vector<double> &times) const {
  if (layerOf_.empty())
    return std::nullopt;
  PlacementProblem ideal = *largest_;
  ideal.layers = common_->layers, ideal.edges = common_->edges,
  ideal.placementConstraints = common_->placementConstraints;
  ideal.uniformClass = common_->uniformClass, ideal.ties.clear();
  for (PlacementProblem::PlacementConstraint &constraint : ideal.placementConstraints)
    constraint.deviceTypes.clear();
  ideal.classes.clear();
  for (PlacementProblem::Link &link : ideal.links)
    link = fasterOf(link);
  ideal.hostOverheadPerMicrobatch = std::min(largest_->hostOverheadPerMicrobatch, common_->hostOverheadPerMicrobatch);
  ideal.hostOverheadPerStep = std::min(largest_->hostOverheadPerStep, common_->hostOverheadPerStep);
  ideal.limits = common_->limits;
  std::vector<Id> first(common_->classes.size(), ~Id(0)); // layer of a class
  for (Id layer = 0; layer < common_->layers.size(); ++layer)
    if (Id cls = common_->layers[layer].of; first[cls] == ~Id(0))
      first[cls] = layer;
  for (Id cls = 0; cls < common_->classes.size(); ++cls) {
    PlacementProblem::LayerClass &into = ideal.classes.emplace_back();
    into.name = common_->classes[cls].name;
    double min = fastest(times, cls);
    for (Id config = 0; config < largest_->parallelConfigs.size(); ++config) {
      std::optional<PlacementProblem::Cost> sum(std::in_place);
      int parts = 0;
      for (Id fine = 0; fine < largest_->layers.size() && sum; ++fine) {
        if (layerOf_[fine] != first[cls])
          continue;
        const auto &cost = largest_->cost(fine, config);
        if (!cost) {
          sum.reset();
          break;
        }
        ++parts;
        sum->update += cost->update, sum->staticMemory += cost->staticMemory;
        sum->gradients += cost->gradients, sum->expertGradients += cost->expertGradients;
        sum->weights += cost->weights, sum->hostStaticMemory += cost->hostStaticMemory;
        if (parts == 1) {
          sum->recomputeChoices = cost->recomputeChoices;
          continue;
        }
        // Together at least what each keeps at least.
        auto minOf = [](const std::vector<PlacementProblem::RecomputeChoice> &choices) {
          PlacementProblem::RecomputeChoice one = choices.front();
          for (const PlacementProblem::RecomputeChoice &choice : choices) {
            one.activations = std::min(one.activations, choice.activations);
            one.hostActivations = std::min(one.hostActivations, choice.hostActivations);
          }
          return one;
        };
        PlacementProblem::RecomputeChoice minimal = minOf(sum->recomputeChoices), more = minOf(cost->recomputeChoices);
        minimal.activations += more.activations, minimal.hostActivations += more.hostActivations;
        minimal.policy.clear();
        sum->recomputeChoices = {minimal};
      }
      if (sum) {
        sum->backward = std::floor(min);
        for (PlacementProblem::RecomputeChoice &choice : sum->recomputeChoices) {
          double time = choice.policy.empty() ? min : times[alternative(cls, choice.policy)];
          choice.workspace = 0;
          choice.recomputeTime = int64_t(std::floor(time)) - sum->backward;
        }
      }
      into.costs.push_back(std::move(sum));
    }
  }
  return check(ideal).empty() ? std::optional(std::move(ideal)) : std::nullopt;
}

LayerMixProblem::LayerMixProblem(const DesignSpace &space, StageLayers &layers, std::vector<double> counts,
                                 Target target)
    : space_(space), layers_(layers), counts_(std::move(counts)), target_(target) {}

double LayerMixProblem::timeOf(const std::vector<double> &times) const {
  double sum = 0;
  for (size_t alternative = 0; alternative < times.size(); ++alternative)
    if (counts_[alternative] > 0)
      sum += counts_[alternative] * times[alternative];
  return sum;
}

double LayerMixProblem::bound(const DesignBox &box) {
  constexpr double Less = 1 - 1e-9; // sums taken in another order
  auto times = layers_.minTimes(box);
  double time = times ? timeOf(*times) * Less : INFINITY;
  return time > target_.longest || !times ? INFINITY
         : target_.power < 0              ? time
                                          : layers_.cost(box) * std::pow(time, target_.power) * Less;
}

double LayerMixProblem::value(const Design &design) {
  auto times = layers_.times(design);
  double time = times ? timeOf(*times) : INFINITY;
  double value = time > target_.longest || !times ? INFINITY
                 : target_.power < 0              ? time
                                                  : layers_.cost(design) * std::pow(time, target_.power);
  std::scoped_lock lock(mutex_);
  known_[design] = value;
  return value;
}

std::vector<double> LayerMixProblem::bottleneckGains(const Design &design) {
  double now = bound({design, design});
  std::vector<double> gains;
  for (size_t i = 0; i < design.size(); ++i) {
    DesignBox larger{design, design};
    larger.high[i] = space_.parameters()[i].labels.size() - 1;
    gains.push_back(std::isinf(now) ? 0 : std::max(0.0, now - bound(larger)));
  }
  return gains;
}

std::vector<Design> LayerMixProblem::best(size_t max) const {
  std::vector<std::pair<double, Design>> order;
  std::scoped_lock lock(mutex_);
  for (const auto &[design, value] : known_)
    if (std::isfinite(value))
      order.push_back({value, design});
  std::sort(order.begin(), order.end());
  std::vector<Design> best;
  for (size_t i = 0; i < std::min(max, order.size()); ++i)
    best.push_back(order[i].second);
  return best;
}

} // namespace accord
