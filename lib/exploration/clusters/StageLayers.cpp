#include "lib/exploration/clusters/StageLayers.h"
#include "lib/exploration/space/Blend.h"
#include "lib/placement/solve/Place.h"
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

/// By fine layer, the layer that begins with it or with one before it. Empty where they do not
/// match.
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
  LinearTime faster{std::min(link.inside.latency, link.across.latency),
                    std::min(link.inside.perByte, link.across.perByte)};
  return {faster, faster};
}

std::unique_ptr<StageLayers> StageLayers::of(const DesignSpace &space, const StepReach &reach,
                                             const PlacedWork &work, const Machine &most,
                                             MiningMetric metric, const Design &common,
                                             const PlacementSpace::Share &share,
                                             int64_t microbatch) {
  PlacedJob job = work.job();
  PlacementSpace &offered = job.request.space;
  job.request.objective = PlacementObjective::StepTime;
  offered.shares = {share}, offered.microbatches = {microbatch};
  std::erase_if(offered.schedules, [](PipelineSchedule one) {
    return one != PipelineSchedule::GPipe && one != PipelineSchedule::OneFOneB;
  });
  std::erase(offered.orders, PlacementProblem::RankOrder::TensorPipelineData);
  if (offered.schedules.empty() || offered.orders.empty())
    return nullptr;
  // Replicas that divide nothing but their samples take the same time each.
  bool alone = offered.experts == std::vector<int64_t>{1} &&
               offered.tables == std::vector{PlacementProblem::Tables::Whole};
  auto made = PlacedWork::of(std::move(job), most);
  auto *own = std::get_if<std::unique_ptr<PlacedWork>>(&made);
  if (!own)
    return nullptr;
  std::unique_ptr<StageLayers> layers(new StageLayers(space, reach, metric));
  layers->alone_ = alone;
  layers->work_ = std::move(*own);
  layers->share_ = share, layers->microbatch_ = microbatch;
  auto machine = space.machine(common);
  if (auto *found = std::get_if<Machine>(&machine))
    layers->common_ = layers->work_->priced(*found, share, microbatch);
  StepBoundOptions options;
  options.exact = false;
  layers->most_ = layers->work_->least(most, options);
  if (!layers->common_ || layers->common_->forms.empty() || !layers->most_)
    return nullptr;
  layers->root_ = leastValue(*layers->most_);
  for (const PlacementProblem::LayerClass &cls : layers->common_->classes)
    for (const auto &cost : cls.costs)
      if (cost)
        for (const PlacementProblem::Keep &keep : cost->keeps)
          if (std::find(layers->policies_.begin(), layers->policies_.end(), keep.policy) ==
              layers->policies_.end())
            layers->policies_.push_back(keep.policy);
  layers->layerOf_ = layersOf(*layers->most_, *layers->common_);
  return layers;
}

std::optional<Machine> StageLayers::machine(const Design &design) const {
  if (!isDesign(space_, design))
    return std::nullopt;
  auto made = space_.machine(design);
  auto *machine = std::get_if<Machine>(&made);
  if (!machine || !MiningWorth{metric_}.knows(*machine) || space_.broken(design, *machine))
    return std::nullopt;
  return std::move(*machine);
}

std::shared_ptr<const PlacementProblem> StageLayers::problem(const Design &design) {
  {
    std::scoped_lock lock(mutex_);
    if (auto found = problems_.find(design); found != problems_.end())
      return found->second;
  }
  std::shared_ptr<const PlacementProblem> made;
  if (auto one = machine(design))
    if (auto problem = work_->priced(*one, share_, microbatch_);
        problem && sameLayers(*problem, *common_))
      made = std::make_shared<const PlacementProblem>(std::move(*problem));
  std::scoped_lock lock(mutex_);
  return problems_.emplace(design, std::move(made)).first->second;
}

double StageLayers::cost(const Design &design) const {
  auto one = machine(design);
  return !one                                ? kNever
         : metric_ == MiningMetric::TdpTime  ? one->tdp.value
         : metric_ == MiningMetric::AreaTime ? one->area.value
                                             : 1;
}

double StageLayers::cost(const DesignBox &box) const {
  const std::vector<std::string> &names = space_.costNames();
  const char *name = metric_ == MiningMetric::TdpTime    ? "tdp"
                     : metric_ == MiningMetric::AreaTime ? "area"
                                                         : nullptr;
  if (!name)
    return 1;
  std::vector<double> costs = space_.costs(box);
  for (size_t i = 0; i < names.size() && i < costs.size(); ++i)
    if (names[i] == name)
      return costs[i];
  return 0;
}

size_t StageLayers::way(Id cls, const std::string &policy) const {
  auto at = std::find(policies_.begin(), policies_.end(), policy);
  return cls * policies() + static_cast<size_t>(at - policies_.begin()) % policies();
}

/// Fine layers add up. A policy that a class does not have takes what its fastest one takes.
std::vector<double> StageLayers::timesOf(const PlacementProblem &problem, bool fine) const {
  std::vector<double> times(ways(), 0);
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
      for (const PlacementProblem::Keep &keep : cost->keeps) {
        double time = work + static_cast<double>(keep.again);
        double &of = by[way(0, keep.policy)];
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

std::shared_ptr<const std::vector<double>> StageLayers::leastTimes(const DesignBox &box) {
  std::pair key(box.low, box.high);
  {
    std::scoped_lock lock(mutex_);
    if (auto found = least_.find(key); found != least_.end())
      return found->second;
  }
  std::shared_ptr<const std::vector<double>> made;
  if (isDesign(space_, box.low) && isDesign(space_, box.high) && !space_.broken(box)) {
    auto best = box.one() ? space_.machine(box.low) : space_.best(box);
    auto *machine = std::get_if<Machine>(&best);
    if (machine && box.one() &&
        (!MiningWorth{metric_}.knows(*machine) || space_.broken(box.low, *machine)))
      machine = nullptr;
    if (machine) {
      StepBoundOptions options;
      if (!box.one()) {
        options.exact = false;
        options.sameArrays = reach_.sameArrays(box);
      }
      auto problem = layerOf_.empty() ? std::nullopt : work_->least(*machine, options, alone_);
      made = std::make_shared<const std::vector<double>>(
          problem && problem->layers.size() == layerOf_.size() ? timesOf(*problem, true)
                                                               : std::vector<double>(ways(), 0));
    } else if (!box.one()) {
      made = std::make_shared<const std::vector<double>>(ways(), 0);
    }
  }
  std::scoped_lock lock(mutex_);
  return least_.emplace(std::move(key), std::move(made)).first->second;
}

std::optional<PlacementProblem> StageLayers::ideal(const std::vector<double> &times) const {
  if (layerOf_.empty())
    return std::nullopt;
  PlacementProblem ideal = *most_;
  ideal.layers = common_->layers, ideal.edges = common_->edges, ideal.pins = common_->pins;
  ideal.evenly = common_->evenly, ideal.ties.clear();
  for (PlacementProblem::Pin &pin : ideal.pins)
    pin.kinds.clear();
  ideal.classes.clear();
  for (PlacementProblem::Link &link : ideal.links)
    link = fasterOf(link);
  ideal.perMicrobatch = std::min(most_->perMicrobatch, common_->perMicrobatch);
  ideal.perStep = std::min(most_->perStep, common_->perStep);
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
    for (Id form = 0; form < most_->forms.size(); ++form) {
      std::optional<PlacementProblem::Cost> sum(std::in_place);
      int parts = 0;
      for (Id fine = 0; fine < most_->layers.size() && sum; ++fine) {
        if (layerOf_[fine] != first[cls])
          continue;
        const auto &cost = most_->cost(fine, form);
        if (!cost) {
          sum.reset();
          break;
        }
        ++parts;
        sum->update += cost->update, sum->resident += cost->resident;
        sum->gradients += cost->gradients, sum->expertGradients += cost->expertGradients;
        sum->weights += cost->weights, sum->hostResident += cost->hostResident;
        if (parts == 1) {
          sum->keeps = cost->keeps;
          continue;
        }
        // Together at least what each keeps at least.
        auto leastOf = [](const std::vector<PlacementProblem::Keep> &keeps) {
          PlacementProblem::Keep one = keeps.front();
          for (const PlacementProblem::Keep &keep : keeps) {
            one.kept = std::min(one.kept, keep.kept);
            one.hostKept = std::min(one.hostKept, keep.hostKept);
          }
          return one;
        };
        PlacementProblem::Keep least = leastOf(sum->keeps), more = leastOf(cost->keeps);
        least.kept += more.kept, least.hostKept += more.hostKept;
        least.policy.clear();
        sum->keeps = {least};
      }
      if (sum) {
        sum->backward = static_cast<int64_t>(std::floor(fastest));
        for (PlacementProblem::Keep &keep : sum->keeps) {
          double time = keep.policy.empty() ? fastest : times[way(cls, keep.policy)];
          keep.working = 0;
          keep.again = static_cast<int64_t>(std::floor(time)) - sum->backward;
        }
      }
      into.costs.push_back(std::move(sum));
    }
  }
  return check(ideal).empty() ? std::optional(std::move(ideal)) : std::nullopt;
}

StageMix::StageMix(const DesignSpace &space, StageLayers &layers, std::vector<double> counts,
                   Sought sought)
    : space_(space), layers_(layers), counts_(std::move(counts)), sought_(sought) {}

double StageMix::timeOf(const std::vector<double> &times) const {
  double sum = 0;
  for (size_t way = 0; way < times.size(); ++way)
    if (counts_[way] > 0)
      sum += counts_[way] * times[way];
  return sum;
}

double StageMix::bound(const DesignBox &box) {
  constexpr double Less = 1 - 1e-9; // sums taken in another order
  auto times = layers_.leastTimes(box);
  double time = times ? timeOf(*times) * Less : kNever;
  return time > sought_.longest || !times ? kNever
         : sought_.power < 0 ? time
                             : layers_.cost(box) * std::pow(time, sought_.power) * Less;
}

double StageMix::value(const Design &design) {
  auto times = layers_.times(design);
  double time = times ? timeOf(*times) : kNever;
  double value = time > sought_.longest || !times ? kNever
                 : sought_.power < 0 ? time
                                     : layers_.cost(design) * std::pow(time, sought_.power);
  std::scoped_lock lock(mutex_);
  known_[design] = value;
  return value;
}

std::vector<Design> StageMix::best(size_t most) const {
  std::vector<std::pair<double, Design>> order;
  std::scoped_lock lock(mutex_);
  for (const auto &[design, value] : known_)
    if (std::isfinite(value))
      order.push_back({value, design});
  std::sort(order.begin(), order.end());
  std::vector<Design> best;
  for (size_t i = 0; i < std::min(most, order.size()); ++i)
    best.push_back(order[i].second);
  return best;
}

} // namespace accord
