#include "lib/placement/solve/ConfigurationContext.h"
#include "lib/placement/solve/PlacementSolver.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {

ConfigurationContext::ConfigurationContext(const DownSetLattice &lattice, RecomputeSolver &recomputeSolver,
                                           const Configuration &configuration, SearchState &searchState)
    : lattice_(lattice), recomputeSolver_(recomputeSolver), problem_(lattice.problem), configuration_(configuration),
      searchState_(searchState), model_(modelOf(configuration.schedule)), splitsWeights_(model_.splitsWeights()),
      groups_(configuration.max), stages_(configuration.max * configuration.virtualStages),
      microbatches_(configuration.microbatches), kinds_(kindsOf(problem_, configuration)),
      held_(recomputeSolver.held(shape())), inFlight_(inFlightOf(shape(), held_)), line_(lattice.line()) {
  for (Id parallelConfig : configuration.parallelConfigs)
    rates_.push_back(ratesOf(problem_, parallelConfig));
  minRates_ = rates_[0];
  for (const Rates &rates : rates_)
    minRates_ = minRates(minRates_, rates);
  if (configuration.parallelConfigs.size() == 1) {
    joules_ = lattice.all(configuration.parallelConfigs[0]).joules;
    return;
  }
  for (const PlacementProblem::Layer &layer : problem_.layers) {
    double best = INFINITY;
    for (Id parallelConfig : configuration.parallelConfigs)
      if (const auto &cost = problem_.classes[layer.of].costs[parallelConfig])
        best = std::min(best, cost->joules);
    joules_ += std::isinf(best) ? 0 : best;
  }
}

int64_t ConfigurationContext::minTransfer(Id parallelConfig, int64_t bytes, int64_t stage) const {
  // Between stages `stage` and the next one; both ends have at least these devices.
  if (bytes <= 0 || groupOf(stage) == groupOf(stage + 1))
    return 0;
  const ParallelConfig &mine = problem_.parallelConfigs[parallelConfig];
  double whole = bytes, max = whole * mine.samples() / mine.devices();
  int64_t devicesPerNode = problem_.deviceTypes[mine.deviceType].devicesPerNode;
  int64_t shortest = INT64_MAX;
  for (Id other : configuration_.parallelConfigs) {
    const ParallelConfig &its = problem_.parallelConfigs[other];
    bool intraNode = false;
    if (configuration_.parallelConfigs.size() == 1) {
      int64_t a = groupOf(stage), b = groupOf(stage + 1);
      if (mine.order == RankOrder::TensorPipelineData)
        intraNode = replicasShareNode(problem_, parallelConfig, a, b, groups_);
      else
        intraNode = std::min(a, b) * mine.devices() / devicesPerNode ==
                    ((std::max(a, b) + 1) * mine.devices() - 1) / devicesPerNode;
    } else {
      intraNode = its.deviceType == mine.deviceType && mine.devices() + its.devices() <= devicesPerNode;
    }
    for (const PlacementProblem::Link *link :
         {&problem_.link(mine.deviceType, its.deviceType), &problem_.link(its.deviceType, mine.deviceType)}) {
      if (intraNode)
        shortest = std::min(shortest, minTime({link->intraNode}, max));
      if (!intraNode || configuration_.parallelConfigs.size() > 1)
        shortest = std::min(shortest, minTime({link->interNode}, max));
    }
  }
  return shortest;
}

int64_t ConfigurationContext::minTies(Id parallelConfig, uint32_t from, uint32_t to) const {
  int64_t sum = 0;
  for (const PlacementProblem::Tie &tie : problem_.ties) {
    bool a = lattice_.holds(from, to, tie.a), b = lattice_.holds(from, to, tie.b);
    bool ends = tie.a == 0 && tie.b + 1 == problem_.layers.size();
    if (a == b || (configuration_.virtualStages > 1 && !ends)) // maybe in another virtual stage of the group
      continue;
    double bytes = problem_.cost(a ? tie.a : tie.b, parallelConfig)->tied;
    const ParallelConfig &mine = problem_.parallelConfigs[parallelConfig];
    bool row = configuration_.parallelConfigs.size() == 1 && lattice_.chain && ends &&
               mine.order == RankOrder::TensorDataPipeline;
    // First and last group: devices of all of them are in between.
    bool apart = row && groups_ * mine.devices() > problem_.deviceTypes[mine.deviceType].devicesPerNode;
    int64_t shortest = INT64_MAX;
    for (Id other : configuration_.parallelConfigs) {
      Id its = problem_.parallelConfigs[other].deviceType;
      for (const PlacementProblem::Link *link :
           {&problem_.link(mine.deviceType, its), &problem_.link(its, mine.deviceType)}) {
        shortest = std::min(shortest, minTime({link->interNode}, bytes));
        if (!apart)
          shortest = std::min(shortest, minTime({link->intraNode}, bytes));
      }
    }
    sum += shortest;
  }
  return sum;
}

StageWork &operator+=(StageWork &work, const Sums &sums) {
  work.backward += sums.backward, work.weight += sums.weight;
  work.update += sums.update, work.gradients += sums.gradients;
  work.expertGradients += sums.expertGradients;
  return work;
}

StageBound ConfigurationContext::boundOf(Id parallelConfig, const Sums &sums, int64_t recomputeTime, int64_t stage,
                                         int64_t in, int64_t out) const {
  int64_t gather = minTime(problem_.parallelConfigs[parallelConfig].gather, sums.weights);
  int64_t receives = stage > 0 ? minTransfer(parallelConfig, in, stage - 1) : 0;
  int64_t sends = stage + 1 < stages_ ? minTransfer(parallelConfig, out, stage) : 0;
  StageBound bound;
  bound.forward = sums.forward + problem_.hostOverheadPerMicrobatch + gather;
  bound.backward = sums.backward + recomputeTime + gather;
  bound.weight = sums.weight;
  if (problem_.blockingTransfers)
    bound.forward += receives, bound.backward += sends;
  else
    bound.send = sends;
  return bound;
}

std::optional<StageBound> ConfigurationContext::stageAt(Id parallelConfig, uint32_t from, uint32_t to, int64_t stage) {
  auto recomputeTime = recomputeSolver_.minRecomputeTime(parallelConfig, from, to, inFlight_[stage],
                                                         problem_.deviceTypeOf(parallelConfig).memory);
  if (!recomputeTime)
    return std::nullopt;
  Sums sums = lattice_.between(parallelConfig, from, to);
  StageBound bound =
      boundOf(parallelConfig, sums, *recomputeTime, stage, lattice_.crossing(from), lattice_.crossing(to));
  if (configuration_.virtualStages == 1) {
    // More recomputation hides more of the exchange, but not more than it takes.
    StageWork work;
    work += sums;
    work.backward += problem_.overlapFraction <= 1 ? *recomputeTime : sums.maxRecomputeTime;
    bound.stepTail =
        exposedStepTail(problem_, parallelConfig, work, countReplicasPerNode(problem_, parallelConfig, groups_));
    bound.stepTail += minTies(parallelConfig, from, to);
  }
  return bound;
}

SuffixBound ConfigurationContext::extend(const SuffixBound &behind, const StageBound &stage, int64_t at) const {
  int64_t m = microbatches_, delay = at < 0 || at + 1 == stages_ ? 0 : stage.send;
  bool split = splitsWeights_;
  int64_t each = stage.forward + stage.backward + (split ? 0 : stage.weight);
  SuffixBound suffix;
  suffix.through = each + 2 * delay + behind.through;
  suffix.leave = std::max(m * each, each + 2 * delay + behind.leave);
  if (split) // weight gradients that cannot wait any longer
    suffix.leave = std::max(suffix.leave, m * each + (m - std::min(m, groups_)) * stage.weight);
  if (at >= 0 && configuration_.schedule == PipelineSchedule::GPipe)
    suffix.leave = std::max(suffix.leave, suffix.through + (m - 1) * each);
  else if (int64_t k = groups_ - at; at >= 0 && m > k)
    suffix.leave = std::max(suffix.leave, suffix.through + behind.through + (m - k) * each);
  suffix.end = suffix.leave + (split ? stage.weight : 0);
  suffix.end = std::max(suffix.end, m * stage.work()) + stage.stepTail;
  suffix.end = std::max(suffix.end, stage.forward + delay + behind.end);
  return suffix;
}

std::vector<int64_t> ConfigurationContext::maxGroupsOfKinds() const {
  std::vector<int64_t> max;
  int64_t others = kinds_.size() - 1;
  for (const std::vector<size_t> &kind : kinds_) {
    int64_t groups = 0;
    for (size_t position : kind) {
      const ParallelConfig &one = problem_.parallelConfigs[configuration_.parallelConfigs[position]];
      groups = std::max(groups, problem_.deviceTypes[one.deviceType].devices / one.devices());
    }
    max.push_back(std::min(groups_ - others, groups));
  }
  return max;
}

std::vector<std::vector<size_t>> kindsOf(const PlacementProblem &problem, const Configuration &configuration) {
  std::map<Id, std::vector<size_t>> kinds;
  for (size_t position = 0; position < configuration.parallelConfigs.size(); ++position) {
    Id parallelConfig = configuration.parallelConfigs[position];
    kinds[configuration.each        ? position
          : configuration.undecided ? problem.parallelConfigs[parallelConfig].deviceType
                                    : 0]
        .push_back(position);
  }
  std::vector<std::vector<size_t>> list;
  for (auto &[key, positions] : kinds)
    list.push_back(std::move(positions));
  return list;
}

Rates ConfigurationContext::minRatesOf(const std::vector<StagePlacement> &stages) const {
  Rates sum;
  std::vector<char> seen(configuration_.parallelConfigs.size());
  int64_t left = configuration_.min;
  for (size_t s = 0; s < stages.size() && left > 0; ++s, --left)
    for (size_t f = 0; f < configuration_.parallelConfigs.size(); ++f)
      if (configuration_.parallelConfigs[f] == stages[s].parallelConfig)
        sum += rates_[f], seen[f] = 1;
  if (configuration_.each)
    for (size_t f = 0; f < seen.size() && left > 0; ++f)
      if (!seen[f])
        sum += rates_[f], --left;
  if (configuration_.undecided)
    for (const std::vector<size_t> &kind : kinds_) {
      Rates min = rates_[kind[0]];
      for (size_t position : kind)
        min = minRates(min, rates_[position]);
      sum += min, --left;
    }
  sum += left * minRates_;
  return sum;
}

int64_t ConfigurationContext::longest() const {
  double step = stepFor(problem_, searchState_.cutoff(), minRatesOf({}), joules_) - problem_.hostOverheadPerStep;
  return step >= 4e18 ? INT64_MAX / 2 : static_cast<int64_t>(std::max(step, 0.0)) + 1;
}

Rates &Rates::operator+=(const Rates &b) {
  watts += b.watts, price += b.price, tdp += b.tdp, devices += b.devices;
  return *this;
}

Rates ratesOf(const DeviceType &deviceType, int64_t devices) {
  double n = devices;
  return {n * deviceType.restWatts(), n * deviceType.pricePerHour / 3600, n * deviceType.tdpWatts, devices};
}

Rates ratesOf(const PlacementProblem &problem, Id parallelConfig) {
  return ratesOf(problem.deviceTypeOf(parallelConfig), problem.parallelConfigs[parallelConfig].devices());
}

Rates operator*(int64_t groups, const Rates &each) {
  double n = groups;
  return {n * each.watts, n * each.price, n * each.tdp, groups * each.devices};
}

Rates minRates(Rates a, const Rates &b) {
  return {std::min(a.watts, b.watts), std::min(a.price, b.price), std::min(a.tdp, b.tdp),
          std::min(a.devices, b.devices)};
}

bool isFeasible(const PlacementProblem &problem, const Placement &plan, const PlanMetrics &metrics, double maxTdpTime) {
  return metrics.fits && satisfiesLimits(problem, metrics) &&
         !(maxTdpTime > 0 && tdpTimeOf(problem, plan, metrics) > maxTdpTime);
}

double valueOf(const PlacementProblem &problem, double step, const Rates &rates, double joules, double maxTdpTime) {
  constexpr double Slack = 1 + 1e-12; // sums taken in another order
  step = std::max<double>(step, problem.minStep);
  const PlacementProblem::Limits &limits = problem.limits;
  // What the layers take is no more than the limit of power leaves of what idle devices take.
  if (double left = limits.watts - rates.watts; limits.watts > 0 && left > 0)
    step = std::max(step, joules / left * 1e12 / Slack);
  double seconds = step * 1e-12;
  joules += rates.watts * seconds;
  double price = rates.price * seconds;
  if ((limits.step > 0 && step > limits.step * Slack) || (limits.devices > 0 && rates.devices > limits.devices) ||
      (limits.joules > 0 && joules > limits.joules * Slack) || (limits.price > 0 && price > limits.price * Slack) ||
      (limits.watts > 0 && rates.watts > limits.watts * Slack) ||
      (maxTdpTime > 0 && rates.tdp * seconds > maxTdpTime * Slack))
    return INFINITY;
  return formulaOf(problem.objective).value({step, joules, price, rates.tdp * seconds, 0}, problem.costPerJoule);
}

double stepFor(const PlacementProblem &problem, double value, const Rates &rates, double joules) {
  const ObjectiveFormula &formula = formulaOf(problem.objective);
  double rate =
      formula.perSecond ? formula.perSecond({rates.watts, rates.price, rates.tdp}, problem.costPerJoule) * 1e-12 : 1;
  double of = formula.countsJoules ? value - joules * problem.costPerJoule : value;
  double step = std::isinf(of) ? INFINITY : of <= 0 ? 0 : rate > 0 ? of / rate : INFINITY;
  if (problem.limits.step > 0)
    step = std::min<double>(step, problem.limits.step);
  return step * (1 + 1e-9);
}

} // namespace accord::placing
