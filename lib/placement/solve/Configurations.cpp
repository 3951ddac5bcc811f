#include "lib/placement/solve/Configurations.h"
#include "lib/placement/solve/MixedPipelineBound.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/search/BestFirstQueue.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::placing {

Configurations::Configurations(const DownSetLattice &lattice, const std::atomic<bool> *stop)
    : lattice_(lattice), problem_(lattice.problem), stop_(stop), counts_(problem_.classes.size()) {
  for (const PlacementProblem::Layer &layer : problem_.layers)
    ++counts_[layer.of];
  listTogether();
  for (uint32_t node = 1; node < lattice.last(); ++node)
    crossing_ = node == 1 ? lattice.crossing(node) : std::min(crossing_, lattice.crossing(node));
  std::map<int64_t, std::vector<Id>> bySamples;
  for (Id parallelConfig = 0; parallelConfig < problem_.parallelConfigs.size(); ++parallelConfig) {
    rates_.push_back(ratesOf(problem_, parallelConfig));
    const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
    if (one.data > 0 && one.microbatch > 0 && one.data / one.context <= problem_.batch / one.microbatch &&
        problem_.batch % one.samples() == 0 && one.devices() <= problem_.deviceTypes[one.deviceType].devices)
      bySamples[one.samples()].push_back(parallelConfig);
  }
  for (const auto &[samples, with] : bySamples)
    parallelConfigs(samples, with);
}

void Configurations::listTogether() {
  std::map<std::pair<int64_t, Id>, std::vector<Id>> sets; // by stage, or by constraint
  for (Id layer = 0; layer < problem_.layers.size(); ++layer)
    for (Id id : problem_.layers[layer].placementConstraints) {
      const PlacementProblem::PlacementConstraint &constraint = problem_.placementConstraints[id];
      if (constraint.stage)
        sets[{*constraint.stage, 0}].push_back(layer);
      if (constraint.sameStage)
        sets[{-1, id}].push_back(layer);
    }
  for (auto &[key, layers] : sets) {
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    if (lattice_.linear) { // what is between them, too
      Id first = layers.front(), last = layers.back();
      layers.clear();
      for (Id layer = first; layer <= last; ++layer)
        layers.push_back(layer);
    }
    holds_.emplace_back();
    for (Id parallelConfig = 0; parallelConfig < problem_.parallelConfigs.size(); ++parallelConfig)
      holds_.back().push_back(fits(layers, parallelConfig));
  }
}

/// With one micro-batch in flight, and as little kept as can be.
bool Configurations::fits(const std::vector<Id> &layers, Id parallelConfig) const {
  const DeviceType &deviceType = problem_.deviceTypeOf(parallelConfig);
  int64_t bytes = 0, workspace = 0;
  for (Id layer : layers) {
    const auto &cost = problem_.cost(layer, parallelConfig);
    if (!cost || cost->recomputeChoices.empty() ||
        !mayRunOn(problem_, layer, problem_.parallelConfigs[parallelConfig].deviceType))
      return false;
    bytes += cost->staticMemory + cost->minOf(&RecomputeChoice::activations);
    workspace = std::max(workspace, cost->minOf(&RecomputeChoice::workspace));
  }
  return bytes + workspace <= deviceType.memory;
}

/// Which parallel configurations groups may have together: one of each device type, or any.
void Configurations::parallelConfigs(int64_t samples, const std::vector<Id> &with) {
  int64_t microbatches = problem_.batch / samples;
  auto alone = [&](Id parallelConfig) { // has to be the form of all groups
    const ParallelConfig &config = problem_.parallelConfigs[parallelConfig];
    return config.order == RankOrder::TensorPipelineData || config.oneGroup;
  };
  if (!problem_.uniformConfigPerDeviceType) {
    std::vector<Id> mixed;
    for (Id parallelConfig : with)
      if (alone(parallelConfig))
        add(microbatches, {parallelConfig}, true);
      else
        mixed.push_back(parallelConfig);
    if (!mixed.empty())
      add(microbatches, mixed, false);
    return;
  }
  std::vector<std::vector<Id>> byDeviceType(problem_.deviceTypes.size());
  for (Id parallelConfig : with)
    byDeviceType[problem_.parallelConfigs[parallelConfig].deviceType].push_back(parallelConfig);
  for (const std::vector<Id> &list : byDeviceType)
    for (Id parallelConfig : list)
      add(microbatches, {parallelConfig}, true);
  for (std::vector<Id> &list : byDeviceType)
    std::erase_if(list, alone);
  // Of several device types, all at first; `halvesOf` chooses.
  std::vector<Id> chosen;
  std::function<void(size_t, size_t)> choose = [&](size_t deviceType, size_t types) {
    if (deviceType < byDeviceType.size()) {
      choose(deviceType + 1, types);
      const std::vector<Id> &list = byDeviceType[deviceType];
      chosen.insert(chosen.end(), list.begin(), list.end());
      if (!list.empty())
        choose(deviceType + 1, types + 1);
      chosen.resize(chosen.size() - list.size());
    } else if (types > 1) {
      add(microbatches, chosen, chosen.size() == types);
    }
  };
  choose(0, 0);
}

/// Each group takes the devices of the smallest parallel configuration of its device type at least.
int64_t Configurations::maxGroups(const std::vector<Id> &parallelConfigs) const {
  int64_t max = 0, minDevices = INT64_MAX;
  for (size_t deviceType = 0; deviceType < problem_.deviceTypes.size(); ++deviceType) {
    int64_t smallest = 0;
    for (Id parallelConfig : parallelConfigs)
      if (problem_.parallelConfigs[parallelConfig].deviceType == deviceType)
        smallest = smallest ? std::min(smallest, problem_.parallelConfigs[parallelConfig].devices())
                            : problem_.parallelConfigs[parallelConfig].devices();
    if (smallest)
      max += problem_.deviceTypes[deviceType].devices / smallest, minDevices = std::min(minDevices, smallest);
  }
  if (problem_.limits.devices > 0)
    max = std::min(max, problem_.limits.devices / minDevices);
  if (parallelConfigs.size() == 1 && problem_.parallelConfigs[parallelConfigs.front()].oneGroup)
    max = std::min<int64_t>(max, 1);
  return max;
}

void Configurations::add(int64_t microbatches, const std::vector<Id> &parallelConfigs, bool each) {
  int64_t layers = problem_.layers.size();
  int64_t max = maxGroups(parallelConfigs);
  Configuration all;
  all.microbatches = microbatches, all.parallelConfigs = parallelConfigs, all.each = each;
  all.undecided = !each && problem_.uniformConfigPerDeviceType;
  int64_t min = each || all.undecided ? kindsOf(problem_, all).size() : 1;
  auto within = [&](PipelineSchedule schedule, int64_t virtualStages, int64_t from, int64_t to) {
    int64_t max = kMaxSearchedPasses / virtualStages / microbatches;
    if (to > max) {
      Configuration beyond = all;
      beyond.schedule = schedule, beyond.virtualStages = virtualStages;
      beyond.min = std::max(from, max + 1), beyond.max = to;
      if (beyond.min <= to)
        left = std::min(left, boundOf(beyond));
      to = max;
    }
    if (from > to)
      return;
    Configuration one = all;
    one.schedule = schedule, one.virtualStages = virtualStages;
    one.min = from, one.max = to;
    one.bound = boundOf(one);
    if (!std::isinf(one.bound))
      list.push_back(std::move(one));
  };
  std::function<void(PipelineSchedule, int64_t, int64_t, int64_t)> put =
      [&](PipelineSchedule schedule, int64_t virtualStages, int64_t from, int64_t to) {
        if (problem_.uniformClass && from < to) { // each number for itself
          for (; from <= to; ++from)
            put(schedule, virtualStages, from, from);
          return;
        }
        if (!problem_.mayHaveStages(from * virtualStages))
          return;
        if (problem_.groups.empty())
          within(schedule, virtualStages, from, to);
        for (const PlacementProblem::GroupRange &range : problem_.groups)
          within(schedule, virtualStages, std::max(from, range.min), std::min(to, range.max));
      };
  auto schedules = problem_.schedules;
  std::sort(schedules.begin(), schedules.end());
  schedules.erase(std::unique(schedules.begin(), schedules.end()), schedules.end());
  for (PipelineSchedule schedule : schedules) {
    const ScheduleModel &model = modelOf(schedule);
    if (model.virtualStages == ScheduleModel::VirtualStages::One) {
      put(schedule, 1, min, std::min(max, layers));
      continue;
    }
    for (int64_t v : virtualStagesOf(problem_, model))
      for (int64_t p = min; p <= std::min(max, layers / v); ++p)
        if (model.allows(p, microbatches))
          put(schedule, v, p, p);
  }
}

/// Time of one micro-batch if all devices shared the work evenly: each layer takes time * devices of its parallel
/// configuration from the devices of its device type. For any weights of the device types, the weighted sum over the
/// layers, each in its least parallel configuration, is at most time * the weighted sum of the devices; a device type's
/// weight is one over what it would take for all layers.
double Configurations::deviceTime(const Configuration &configuration) const {
  size_t deviceTypes = problem_.deviceTypes.size();
  std::vector<std::vector<double>> min(counts_.size(), std::vector<double>(deviceTypes, INFINITY));
  std::vector<double> all(deviceTypes), devices(deviceTypes), shares(deviceTypes, 1);
  for (Id parallelConfig : configuration.parallelConfigs) {
    const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
    double n = one.devices();
    // Of one parallel configuration, no more than the groups take.
    double use = problem_.deviceTypes[one.deviceType].devices;
    if (configuration.each)
      use = n * std::min<double>(std::floor(use / n), configuration.max);
    devices[one.deviceType] = std::max(devices[one.deviceType], use);
    for (Id of = 0; of < counts_.size(); ++of)
      if (const auto &cost = problem_.classes[of].costs[parallelConfig]; cost && !cost->recomputeChoices.empty()) {
        int64_t recomputeTime = cost->minOf(&RecomputeChoice::recomputeTime);
        double time = n * (cost->forward + cost->backward + cost->weight + recomputeTime);
        min[of][one.deviceType] = std::min(min[of][one.deviceType], time);
      }
  }
  double max = 0, total = 0, work = 0;
  for (size_t deviceType = 0; deviceType < deviceTypes; ++deviceType) {
    if (devices[deviceType] <= 0)
      continue;
    for (Id of = 0; of < counts_.size(); ++of)
      if (counts_[of] > 0 && !std::isinf(min[of][deviceType]))
        all[deviceType] += counts_[of] * min[of][deviceType];
    if (all[deviceType] > 0)
      shares[deviceType] = 1 / all[deviceType];
    max = std::max(max, shares[deviceType]);
    total += shares[deviceType] * devices[deviceType];
  }
  if (problem_.limits.devices > 0)
    total = std::min(total, max * problem_.limits.devices);
  for (Id of = 0; of < counts_.size(); ++of) {
    double best = INFINITY;
    for (size_t deviceType = 0; deviceType < deviceTypes; ++deviceType)
      if (devices[deviceType] > 0)
        best = std::min(best, shares[deviceType] * min[of][deviceType]);
    if (counts_[of] > 0)
      work += counts_[of] * best;
  }
  return total > 0 ? work / total : 0;
}

/// Step if groups of several device types waited for each other, in any order. A group's rate is one over what it would
/// take for all layers, so that each layer's work is its time times the rate, in the parallel configuration where that
/// is least.
double Configurations::mixedStep(const Configuration &configuration) const {
  auto kindsOfIt = kindsOf(problem_, configuration);
  if (kindsOfIt.size() < 2 || configuration.virtualStages != 1 || !lattice_.chain ||
      modelOf(configuration.schedule).splitsWeights() || (stop_ && *stop_))
    return 0;
  std::vector<GroupKind> kinds;
  std::vector<double> work(counts_.size(), INFINITY);
  int64_t all = 0;
  for (const std::vector<size_t> &kind : kindsOfIt) {
    std::vector<double> times(counts_.size(), INFINITY);
    int64_t groups = 0;
    for (size_t position : kind) {
      Id parallelConfig = configuration.parallelConfigs[position];
      const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
      groups = std::max(groups, problem_.deviceTypes[one.deviceType].devices / one.devices());
      for (Id of = 0; of < counts_.size(); ++of)
        if (const auto &cost = problem_.classes[of].costs[parallelConfig];
            counts_[of] > 0 && cost && !cost->recomputeChoices.empty())
          times[of] = std::min<double>(times[of], cost->forward + cost->backward + cost->weight +
                                                      cost->minOf(&RecomputeChoice::recomputeTime));
    }
    double sum = 0;
    for (Id of = 0; of < counts_.size(); ++of)
      sum += counts_[of] > 0 && !std::isinf(times[of]) ? counts_[of] * times[of] : 0;
    if (!(sum > 0))
      return 0;
    kinds.push_back({groups, 1 / sum});
    all += groups;
    for (Id of = 0; of < counts_.size(); ++of)
      work[of] = std::min(work[of], times[of] / sum);
  }
  double total = 0;
  for (Id of = 0; of < counts_.size(); ++of)
    total += counts_[of] > 0 ? counts_[of] * work[of] : 0;
  if (std::isinf(total))
    return 0;
  // Where each group waits for the one before it alone, more groups never get less done.
  PipelineSchedule schedule = configuration.schedule;
  if (configuration.min < configuration.max && schedule != PipelineSchedule::GPipe)
    schedule = PipelineSchedule::ZeroBubble;
  else if (configuration.min < configuration.max)
    return 0;
  int64_t groups = std::min(configuration.max, all);
  if (groups < configuration.min)
    return INFINITY;
  double throughput = maxMixedThroughput(schedule, configuration.microbatches, groups, kinds);
  return std::isinf(throughput) || throughput <= 0 ? 0 : total / throughput;
}

/// Balanced stages have equally many layers, or one more. So many groups as the others leave to a parallel
/// configuration share the layers of other classes, and one of them has as many of the most frequent class as is their
/// mean.
double Configurations::balancedStep(const Configuration &configuration) const {
  if (!configuration.each || configuration.virtualStages < 2 || problem_.uniformClass ||
      configuration.min < configuration.max)
    return 0;
  auto frequent = std::ranges::max_element(counts_);
  int64_t p = configuration.min, layers = problem_.layers.size(), others = layers - *frequent;
  int64_t held = layers / (p * configuration.virtualStages) * configuration.virtualStages;
  int64_t full =
      (layers + p * configuration.virtualStages - 1) / (p * configuration.virtualStages) * configuration.virtualStages;
  auto groupsOf = [&](Id parallelConfig) {
    const ParallelConfig &one = problem_.parallelConfigs[parallelConfig];
    return problem_.deviceTypes[one.deviceType].devices / one.devices();
  };
  double slowest = 0;
  for (Id parallelConfig : configuration.parallelConfigs) {
    const auto &cost = problem_.classes[frequent - counts_.begin()].costs[parallelConfig];
    if (!cost || cost->recomputeChoices.empty())
      continue;
    int64_t groups = p;
    for (Id other : configuration.parallelConfigs)
      groups -= other == parallelConfig ? 0 : groupsOf(other);
    groups = std::max<int64_t>(groups, 1);
    // No group has more than one layer more in each of its stages.
    int64_t together = std::max(groups * held, layers - (p - groups) * full);
    double blocks = std::ceil(static_cast<double>(std::max<int64_t>(0, together - others)) / groups);
    slowest = std::max(slowest, blocks * (cost->forward + cost->backward + cost->weight +
                                          cost->minOf(&RecomputeChoice::recomputeTime)));
  }
  return configuration.microbatches * slowest;
}

/// Stages wait for each other's tensors on the best link between two of them, each gathers its weights, and each
/// exchanges its gradients. Times of a sum of bytes are no more than the sum of the times. With what is hidden behind
/// the last backward pass left out, m passes and what is exposed are no less for any longer passes, for m >= 1 >=
/// hidden.
Configurations::Outside Configurations::outsideOf(const Configuration &configuration) const {
  Outside outside;
  if (configuration.parallelConfigs.size() != 1)
    return outside;
  Id id = configuration.parallelConfigs.front();
  const ParallelConfig &parallelConfig = problem_.parallelConfigs[id];
  const PlacementProblem::Link &link = problem_.link(parallelConfig.deviceType, parallelConfig.deviceType);
  int64_t crossings = configuration.min * configuration.virtualStages - 1 - modelOf(configuration.schedule).turns();
  if (problem_.blockingTransfers && configuration.min > 1 && crossing_ > 0) {
    double bytes = 1.0 * crossing_ * parallelConfig.samples() / parallelConfig.devices();
    int64_t takes = minTime({link.interNode}, bytes);
    bool apart = parallelConfig.order == RankOrder::TensorDataPipeline &&
                 2 * parallelConfig.devices() > problem_.deviceTypes[parallelConfig.deviceType].devicesPerNode;
    if (!apart)
      takes = std::min(takes, minTime({link.intraNode}, bytes));
    outside.passes += 2.0 * crossings * takes;
  }
  double weights = 0, gradients = 0, behind = 0, update = 0;
  for (Id of = 0; of < counts_.size(); ++of)
    if (const auto &cost = problem_.classes[of].costs[id]; cost && counts_[of] > 0) {
      double n = counts_[of];
      weights += n * cost->weights;
      gradients += n * cost->gradients;
      update += n * cost->update;
      behind += n * (cost->backward + cost->weight + cost->minOf(&RecomputeChoice::recomputeTime));
    }
  outside.passes += 2.0 * minTime(parallelConfig.gather, weights);
  double exchange = INFINITY;
  for (const GradientSync &sync : parallelConfig.gradientSyncs)
    exchange = std::min<double>(exchange, minTime(sync.alternatives, gradients));
  if (parallelConfig.gradientSyncs.empty())
    exchange = 0;
  exchange = std::max(0.0, exchange - 1); // rounded up
  outside.exposed = update + std::max({0.0, exchange - problem_.overlapFraction * behind,
                                       exchange * (1 - std::min(1.0, problem_.maxOverlap))});
  return outside;
}

double Configurations::boundOf(const Configuration &configuration) const {
  for (const std::vector<char> &holds : holds_)
    if (std::none_of(configuration.parallelConfigs.begin(), configuration.parallelConfigs.end(),
                     [&](Id parallelConfig) { return holds[parallelConfig] != 0; }))
      return INFINITY;
  // The least of each layer in any of the parallel configurations.
  double total = 0, max = 0, joules = 0, staticMemory = 0, ratio = 1, memory = 0;
  for (Id parallelConfig : configuration.parallelConfigs)
    memory = std::max<double>(memory, problem_.deviceTypeOf(parallelConfig).memory);
  bool split = modelOf(configuration.schedule).splitsWeights();
  for (Id of = 0; of < counts_.size(); ++of) {
    if (counts_[of] == 0)
      continue;
    double time = INFINITY, energy = INFINITY, bytes = INFINITY;
    for (Id parallelConfig : configuration.parallelConfigs) {
      const auto &cost = problem_.classes[of].costs[parallelConfig];
      if (!cost || cost->recomputeChoices.empty())
        continue;
      int64_t workspace = INT64_MAX;
      for (const RecomputeChoice &choice : cost->recomputeChoices)
        workspace = std::min(workspace, choice.activations + choice.workspace);
      double all = cost->forward + cost->backward + cost->weight + cost->minOf(&RecomputeChoice::recomputeTime);
      time = std::min(time, all);
      energy = std::min(energy, cost->joules);
      bytes = std::min<double>(bytes, cost->staticMemory);
      if (all > 0) // of ZeroBubble the weight gradients may end beside later groups' passes
        ratio = std::min(ratio, split ? cost->forward / all : 1);
      if (cost->staticMemory + workspace > problem_.deviceTypeOf(parallelConfig).memory &&
          configuration.parallelConfigs.size() == 1)
        return INFINITY;
    }
    if (std::isinf(time))
      return INFINITY;
    double n = counts_[of];
    total += n * time, joules += n * energy, staticMemory += n * bytes;
    max = std::max(max, time);
  }
  auto min = configuration.min, groups = configuration.max;
  if (staticMemory > groups * memory)
    return INFINITY;
  double m = configuration.microbatches, p = groups;
  Outside outside = outsideOf(configuration);
  total += outside.passes;
  total += min * configuration.virtualStages * problem_.hostOverheadPerMicrobatch;
  // Where each stage waits for the one before: a step takes m w_s + rho * sum of the w before s, for each s, where rho
  // is the share of a stage's work that is on that way. Its least over all shares w of the total makes all of these
  // equal: total * rho / (1 - (1 - rho / m)^p).
  double factor = m / p;
  if (lattice_.chain && configuration.virtualStages == 1 && ratio > 1e-9)
    factor = std::max(factor, ratio / (1 - std::pow(1 - ratio / m, p)));
  // See `SuffixBound` for where even stages are known to be best.
  if (lattice_.chain && (configuration.schedule == PipelineSchedule::GPipe ||
                         (configuration.schedule == PipelineSchedule::OneFOneB && m > p)))
    factor = std::max(factor, (m + p - 1) / p);
  double step = std::max({total * factor, (total * m + outside.exposed) / p, m * deviceTime(configuration),
                          m * (max + (configuration.virtualStages * problem_.hostOverheadPerMicrobatch))});
  step = std::max({step, mixedStep(configuration), balancedStep(configuration)});
  Rates rates, smallest = rates_[configuration.parallelConfigs[0]];
  for (Id parallelConfig : configuration.parallelConfigs)
    smallest = minRates(smallest, rates_[parallelConfig]);
  int64_t left = min;
  if (configuration.each || configuration.undecided)
    for (const std::vector<size_t> &kind : kindsOf(problem_, configuration)) {
      Rates min = rates_[configuration.parallelConfigs[kind[0]]];
      for (size_t position : kind)
        min = minRates(min, rates_[configuration.parallelConfigs[position]]);
      rates += min, --left;
    }
  left = std::max<int64_t>(left, 0);
  rates += left * smallest;
  return valueOf(problem_, step * (1 - 1e-12) + problem_.hostOverheadPerStep, rates, joules, lattice_.maxTdpTime);
}

double Configurations::refinedBoundOf(Configuration one, double until) const {
  auto laterBound = [](const Configuration &a, const Configuration &b) { return a.bound > b.bound; };
  BestFirstQueue open(laterBound, std::vector{std::move(one)});
  for (;;) {
    Configuration first = open.pop();
    if (!first.splits() || first.bound >= until)
      return first.bound;
    for (Configuration &half : halvesOf(first))
      open.push(std::move(half));
  }
}

bool Configurations::mayHave(const Configuration &configuration) const {
  return configuration.max <= maxGroups(configuration.parallelConfigs) &&
         configuration.max * configuration.virtualStages <= static_cast<int64_t>(problem_.layers.size()) &&
         problem_.mayHaveGroups(configuration.min) &&
         problem_.mayHaveStages(configuration.min * configuration.virtualStages) &&
         configuration.max <= kMaxSearchedPasses / configuration.microbatches &&
         std::ranges::all_of(configuration.parallelConfigs, [&](Id id) {
           const ParallelConfig &one = problem_.parallelConfigs[id];
           return one.order == RankOrder::TensorDataPipeline && !one.oneGroup &&
                  one.devices() <= problem_.deviceTypes[one.deviceType].devices;
         });
}

/// Of the device type with the most parallel configurations, those of fewer devices and those of more, or of equally
/// many those that take less time and those that take more.
std::array<std::vector<Id>, 2> Configurations::halvesOfChoice(const Configuration &configuration) const {
  std::vector<Id> split;
  for (const std::vector<size_t> &kind : kindsOf(problem_, configuration))
    if (kind.size() > split.size()) {
      split.clear();
      for (size_t position : kind)
        split.push_back(configuration.parallelConfigs[position]);
    }
  auto time = [&](Id id) {
    double sum = 0;
    for (Id of = 0; of < counts_.size(); ++of)
      if (const auto &cost = problem_.classes[of].costs[id]; counts_[of] > 0 && cost && !cost->recomputeChoices.empty())
        sum += static_cast<double>(counts_[of]) * static_cast<double>(cost->forward + cost->backward + cost->weight +
                                                                      cost->minOf(&RecomputeChoice::recomputeTime));
    return sum;
  };
  auto devices = [&](Id id) { return problem_.parallelConfigs[id].devices(); };
  std::vector<std::tuple<int64_t, double, Id>> sorted;
  for (Id id : split)
    sorted.emplace_back(devices(id), time(id), id);
  std::sort(sorted.begin(), sorted.end());
  size_t cut = sorted.size() / 2;
  if (devices(std::get<2>(sorted.front())) != devices(std::get<2>(sorted.back()))) {
    int64_t middle = std::get<0>(sorted[cut]); // all of equally many devices on one side
    size_t first = 0, last = sorted.size();
    while (std::get<0>(sorted[first]) < middle)
      ++first;
    while (std::get<0>(sorted[last - 1]) > middle)
      --last;
    cut = first > 0 && (last == sorted.size() || cut - first < last - cut) ? first : last;
  }
  std::array<std::vector<Id>, 2> halves;
  for (Id id : configuration.parallelConfigs)
    if (std::ranges::find(split, id) == split.end())
      halves[0].push_back(id), halves[1].push_back(id);
  for (size_t i = 0; i < sorted.size(); ++i)
    halves[i < cut ? 0 : 1].push_back(std::get<2>(sorted[i]));
  for (std::vector<Id> &half : halves)
    std::sort(half.begin(), half.end());
  return halves;
}

std::array<Configuration, 2> Configurations::halvesOf(const Configuration &configuration) const {
  std::array<Configuration, 2> halves = {configuration, configuration};
  if (configuration.undecided) {
    auto choices = halvesOfChoice(configuration);
    size_t types = kindsOf(problem_, configuration).size();
    for (size_t i = 0; i < 2; ++i) {
      halves[i].parallelConfigs = std::move(choices[i]);
      halves[i].max = std::min(configuration.max, maxGroups(halves[i].parallelConfigs));
      if (halves[i].parallelConfigs.size() == types)
        halves[i].undecided = false, halves[i].each = true;
    }
  } else {
    halves[0].max = configuration.min + (configuration.max - configuration.min) / 2;
    halves[1].min = halves[0].max + 1;
  }
  for (Configuration &half : halves) {
    half.step = 0;
    half.bound = half.min > half.max ? INFINITY : std::max(configuration.bound, boundOf(half));
  }
  return halves;
}

bool later(const Configuration &a, const Configuration &b) {
  return std::tie(a.bound, a.microbatches, a.schedule, a.virtualStages, a.min, a.parallelConfigs) >
         std::tie(b.bound, b.microbatches, b.schedule, b.virtualStages, b.min, b.parallelConfigs);
}

} // namespace accord::placing

namespace accord {

double placementLowerBound(const PlacementProblem &problem) {
  placing::DownSetLattice lattice(problem, placing::kMaxDownSets);
  placing::Configurations all(lattice);
  double min = all.complete ? all.left : 0;
  std::sort(all.list.begin(), all.list.end(), [](const auto &a, const auto &b) { return a.bound < b.bound; });
  for (const placing::Configuration &one : all.list) {
    if (one.bound >= min)
      break;
    min = std::min(min, all.refinedBoundOf(one, min));
  }
  return min;
}

std::vector<double> lowerBoundByConfig(const PlacementProblem &problem) {
  placing::DownSetLattice lattice(problem, placing::kMaxDownSets);
  placing::Configurations all(lattice);
  std::vector<double> min(problem.parallelConfigs.size(), all.complete ? all.left : 0);
  auto untilOf = [&](const placing::Configuration &one) { // no more than this says anything new
    double until = 0;
    for (PlacementProblem::Id parallelConfig : one.parallelConfigs)
      until = std::max(until, min[parallelConfig]);
    return until;
  };
  BestFirstQueue open(placing::later, std::move(all.list));
  while (!open.empty()) {
    placing::Configuration one = open.pop();
    if (one.bound >= untilOf(one))
      continue;
    if (one.splits()) {
      for (placing::Configuration &half : all.halvesOf(one))
        open.push(std::move(half));
      continue;
    }
    for (PlacementProblem::Id parallelConfig : one.parallelConfigs)
      min[parallelConfig] = std::min(min[parallelConfig], one.bound);
  }
  return min;
}

} // namespace accord
