#include "lib/exploration/clusters/StageLayers.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
using Id = PlacementProblem::Id;

bool sameLayers(const PlacementProblem &a, const PlacementProblem &b) {
  auto names = [](const PlacementProblem &problem) {
    std::vector<std::pair<std::string, Id>> all;
    for (const PlacementProblem::Layer &layer : problem.layers)
      all.push_back({layer.name, layer.of});
    return all;
  };
  return a.classes.size() == b.classes.size() && names(a) == names(b);
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
    of.push_back(static_cast<uint32_t>(next - 1));
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
  auto made = PlacedWork::of(std::move(job), max);
  auto *own = made.get();
  if (!own)
    return nullptr;
  std::unique_ptr<StageLayers> layers(new StageLayers(space, dependence, metric));
  layers->alone_ = alone;
  layers->work_ = std::move(*own);
  layers->share_ = sharding, layers->microbatch_ = microbatch;
  auto machine = space.machine(common);
  if (auto *found = machine.get())
    layers->common_ = layers->work_->priced(*found, sharding, microbatch);
  StepBoundOptions options;
  options.exact = false;
  layers->largest_ = layers->work_->minimal(max, options);
  if (!layers->common_ || layers->common_->parallelConfigs.empty() || !layers->largest_)
    return nullptr;
  layers->root_ = placementLowerBound(*layers->largest_);
  for (const PlacementProblem::LayerClass &cls : layers->common_->classes)
    for (const auto &cost : cls.costs)
      if (cost)
        for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices)
          if (std::find(layers->policies_.begin(), layers->policies_.end(), recomputeChoice.policy) ==
              layers->policies_.end())
            layers->policies_.push_back(recomputeChoice.policy);
  layers->layerOf_ = layersOf(*layers->largest_, *layers->common_);
  return layers;
}

std::shared_ptr<const PlacementProblem> StageLayers::problem(const Design &design) {
  {
    std::scoped_lock lock(mutex_);
    if (auto found = problems_.find(design); found != problems_.end())
      return found->second;
  }
  std::shared_ptr<const PlacementProblem> made;
  if (auto one = objective_.machineOf(design))
    if (auto problem = work_->priced(*one, share_, microbatch_); problem && sameLayers(*problem, *common_))
      made = std::make_shared<const PlacementProblem>(std::move(*problem));
  std::scoped_lock lock(mutex_);
  return problems_.emplace(design, std::move(made)).first->second;
}

double StageLayers::cost(const Design &design) const {
  auto one = objective_.machineOf(design);
  return !one                                          ? kNever
         : objective_.metric == MiningMetric::TdpTime  ? one->tdp.value
         : objective_.metric == MiningMetric::AreaTime ? one->area.value
                                                       : 1;
}

double StageLayers::cost(const DesignBox &box) const {
  const std::vector<std::string> &names = space_.costNames();
  const char *name = objective_.metric == MiningMetric::TdpTime    ? "tdp"
                     : objective_.metric == MiningMetric::AreaTime ? "area"
                                                                   : nullptr;
  if (!name)
    return 1;
  std::vector<double> costs = space_.costs(box);
  for (size_t i = 0; i < names.size() && i < costs.size(); ++i)
    if (names[i] == name)
      return costs[i];
  return 0;
}

size_t StageLayers::alternative(Id cls, const std::string &policy) const {
  auto at = std::find(policies_.begin(), policies_.end(), policy);
  return cls * policies() + static_cast<size_t>(at - policies_.begin()) % policies();
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
    double fastest = kNever;
    std::vector<double> by(policies(), kNever);
    for (const auto &cost : problem.classOf(at).costs) {
      if (!cost)
        continue;
      auto work = static_cast<double>(cost->forward + cost->backward + cost->weight);
      for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices) {
        double time = work + recomputeChoice.recomputeTime;
        double &of = by[alternative(0, recomputeChoice.policy)];
        of = std::min(of, time), fastest = std::min(fastest, time);
      }
    }
    for (size_t policy = 0; policy < policies(); ++policy)
      times[cls * policies() + policy] += std::isinf(by[policy]) ? fastest : by[policy];
  }
  return times;
}

std::shared_ptr<const std::vector<double>> StageLayers::times(const Design &design) {
  {
    std::scoped_lock lock(mutex_);
    if (auto found = times_.find(design); found != times_.end())
      return found->second;
  }
  std::shared_ptr<const std::vector<double>> made;
  if (auto one = problem(design))
    made = std::make_shared<const std::vector<double>>(timesOf(*one, false));
  std::scoped_lock lock(mutex_);
  return times_.emplace(design, std::move(made)).first->second;
}

std::shared_ptr<const std::vector<double>> StageLayers::minTimes(const DesignBox &box) {
  std::pair key(box.low, box.high);
  {
    std::scoped_lock lock(mutex_);
    if (auto found = minTimes_.find(key); found != minTimes_.end())
      return found->second;
  }
  std::shared_ptr<const std::vector<double>> made;
  auto machine = objective_.machineOf(box, box.one());
  if (machine) {
    StepBoundOptions options;
    if (!box.one()) {
      options.exact = false;
      options.sameArrays = dependence_.sameArrays(box);
    }
    auto problem = layerOf_.empty() ? std::nullopt : work_->minimal(*machine, options, alone_);
    made = std::make_shared<const std::vector<double>>(problem && problem->layers.size() == layerOf_.size()
                                                           ? timesOf(*problem, true)
                                                           : std::vector<double>(alternatives(), 0));
  } else if (machine.error() == 0) {
    made = std::make_shared<const std::vector<double>>(alternatives(), 0);
  }
  std::scoped_lock lock(mutex_);
  return minTimes_.emplace(std::move(key), std::move(made)).first->second;
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
    double fastest = kNever;
    for (size_t policy = 0; policy < policies(); ++policy)
      fastest = std::min(fastest, times[cls * policies() + policy]);
    for (Id parallelConfig = 0; parallelConfig < largest_->parallelConfigs.size(); ++parallelConfig) {
      std::optional<PlacementProblem::Cost> sum(std::in_place);
      int parts = 0;
      for (Id fine = 0; fine < largest_->layers.size() && sum; ++fine) {
        if (layerOf_[fine] != first[cls])
          continue;
        const auto &cost = largest_->cost(fine, parallelConfig);
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
        auto minOf = [](const std::vector<PlacementProblem::RecomputeChoice> &recomputeChoices) {
          PlacementProblem::RecomputeChoice one = recomputeChoices.front();
          for (const PlacementProblem::RecomputeChoice &recomputeChoice : recomputeChoices) {
            one.activations = std::min(one.activations, recomputeChoice.activations);
            one.hostActivations = std::min(one.hostActivations, recomputeChoice.hostActivations);
          }
          return one;
        };
        PlacementProblem::RecomputeChoice minimal = minOf(sum->recomputeChoices), more = minOf(cost->recomputeChoices);
        minimal.activations += more.activations, minimal.hostActivations += more.hostActivations;
        minimal.policy.clear();
        sum->recomputeChoices = {minimal};
      }
      if (sum) {
        sum->backward = static_cast<int64_t>(std::floor(fastest));
        for (PlacementProblem::RecomputeChoice &recomputeChoice : sum->recomputeChoices) {
          double time = recomputeChoice.policy.empty() ? fastest : times[alternative(cls, recomputeChoice.policy)];
          recomputeChoice.workspace = 0;
          recomputeChoice.recomputeTime = static_cast<int64_t>(std::floor(time)) - sum->backward;
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
  double time = times ? timeOf(*times) * Less : kNever;
  return time > target_.longest || !times ? kNever
         : target_.power < 0              ? time
                                          : layers_.cost(box) * std::pow(time, target_.power) * Less;
}

double LayerMixProblem::value(const Design &design) {
  auto times = layers_.times(design);
  double time = times ? timeOf(*times) : kNever;
  double value = time > target_.longest || !times ? kNever
                 : target_.power < 0              ? time
                                                  : layers_.cost(design) * std::pow(time, target_.power);
  std::scoped_lock lock(mutex_);
  known_[design] = value;
  return value;
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
