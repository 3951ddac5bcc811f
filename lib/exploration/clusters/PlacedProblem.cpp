#include "lib/exploration/clusters/PlacedProblem.h"
#include "lib/exploration/steps/DesignObjective.h"
#include "lib/exploration/steps/ParameterDependence.h"
#include "lib/support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace accord {

static constexpr double kNever = INFINITY;

std::optional<PlacementObjective> objectiveOf(MiningMetric metric) {
  switch (metric) {
  case MiningMetric::StepTime:
  case MiningMetric::AreaTime:
  case MiningMetric::Expression:
    return PlacementObjective::StepTime;
  case MiningMetric::TdpTime:
    return PlacementObjective::TdpTime;
  case MiningMetric::Energy:
    break;
  }
  return std::nullopt;
}

struct PlacedProblem::Data {
  const DesignSpace &space;
  std::vector<PlacedMiningJob> jobs;
  DesignObjective objective;
  ParameterDependence dependence;
  ClusterPoints points;
  const ClusterSpace *clusters = nullptr; ///< null: nothing is relaxed or required
  std::mutex mutex;
  double min = kNever;
  std::map<Design, std::vector<PlacedBest>> kept; ///< by design that is worth `min`

  /// Of what `place` has made least: picoseconds, or W s.
  double of(const PlacedMiningJob &job, const DesignBox &box, const Machine &machine, double value) const {
    if (objective.metric == MiningMetric::TdpTime)
      return value;
    double of = objective.of(box, machine, {value * 1e-12, 0, job.batch});
    return std::isnan(of) ? 0 : of;
  }
  /// The other way round, and no less for rounding.
  double below(const PlacedMiningJob &job, const Design &design, const Machine &machine, double all) const {
    double one = objective.below(job, all) * (1 + 1e-9);
    if (objective.metric == MiningMetric::TdpTime)
      return one;
    if (objective.metric == MiningMetric::Expression) { // worth rises with the step
      double low = 1, high = 1e24;                      // picoseconds
      if (of(job, {design, design}, machine, high) < one)
        return kNever;
      while (high > low * (1 + 1e-9)) {
        double middle = std::sqrt(low * high);
        (of(job, {design, design}, machine, middle) < one ? low : high) = middle;
      }
      return high;
    }
    return one / (objective.metric == MiningMetric::AreaTime ? machine.area.value : 1) * 1e12;
  }
  /// Bounds of boxes of machines by point of the cluster's choices, of which the search asks again
  /// whenever it divides those.
  using BoundsByPoint = std::map<std::pair<Design, Design>, std::vector<double>>;
  BoundsByPoint bounds = {}, tightened = {};
  static constexpr size_t kMaxBounds = size_t(1) << 22;
  size_t boundsKept = 0;

  std::optional<double> knownAt(const BoundsByPoint &of, const DesignBox &box, size_t point) {
    if (points.none())
      return std::nullopt;
    std::scoped_lock lock(mutex);
    auto found = of.find(points.keyOf(box));
    if (found == of.end() || std::isnan(found->second[point]))
      return std::nullopt;
    return found->second[point];
  }
  void keep(BoundsByPoint &of, const DesignBox &box, size_t point, double bound) {
    if (points.none())
      return;
    std::scoped_lock lock(mutex);
    if (boundsKept >= kMaxBounds)
      bounds.clear(), tightened.clear(), boundsKept = 0;
    auto [place, isNew] = of.try_emplace(points.keyOf(box));
    if (isNew)
      place->second.assign(points.count(), NAN), boundsKept += points.count();
    place->second[point] = bound;
  }
  /// Null: the job has no placement there.
  const PlacedWork *workOf(const PlacedMiningJob &job, const Design &design) const {
    size_t point = points.of(design);
    return job.alone || point == ClusterPoints::kNone ? nullptr : job.clusters[point].get();
  }
  /// Of a box at one of its points, kept in `known`; `each` gives a job's part on its work there.
  template <typename Each> double boundAt(BoundsByPoint &known, size_t point, const DesignBox &here, Each each) {
    if (auto before = knownAt(known, here, point))
      return *before;
    double bound = !within(here) ? kNever : objective.aggregate(jobs, [&](size_t job) {
      const PlacedWork *work = workOf(jobs[job], here.low);
      return work || jobs[job].alone ? each(job, work) : kNever;
    });
    keep(known, here, point, bound);
    return bound;
  }
  /// Values of a box that a cluster as required may have; nothing: there is none.
  std::optional<DesignBox> within(const DesignBox &box) const {
    return clusters ? clusters->within(points.clustersOf(box)) : points.clustersOf(box);
  }
  bool isAllowed(const Design &design) const { return within({design, design}).has_value(); }
  /// The best network for each exchange in the box; nothing: that of the work itself.
  std::optional<Fabric> fabricOf(const PlacedWork &work, const DesignBox &within) const {
    if (!clusters || !points.relaxesAny())
      return std::nullopt;
    return clusters->fabric(work.fabric(), within);
  }
  std::optional<Fabric> fabricOf(const PlacedWork &work, const Design &design) const {
    return fabricOf(work, points.clustersOf({design, design}));
  }
};

PlacedProblem::PlacedProblem(const DesignSpace &space, std::vector<PlacedMiningJob> jobs, MiningMetric metric,
                             ObjectiveAggregation aggregation, const ClusterSpace *clusters)
    : data_(new Data{space,
                     std::move(jobs),
                     {metric, aggregation, &space},
                     ParameterDependence(space),
                     clusters ? clusters->points() : ClusterPoints(space.clusterParameters()),
                     clusters,
                     {},
                     kNever,
                     {}}) {}
PlacedProblem::~PlacedProblem() = default;

const std::vector<DesignParameter> &PlacedProblem::parameters() const { return data_->space.parameters(); }

std::vector<std::string> PlacedProblem::costNames() { return data_->space.costNames(); }
std::vector<double> PlacedProblem::costs(const DesignBox &box) { return data_->space.costs(box); }

std::string PlacedProblem::digest() {
  std::string text = fmt::format("{} {} {}", kVersion, data_->objective.name(), unsigned(data_->objective.aggregation));
  for (const PlacedMiningJob &job : data_->jobs) {
    auto first = llvm::find_if(job.clusters, [](const auto &work) { return work != nullptr; });
    text += fmt::format("; {} {}, {}{}", job.weight, job.best, job.alone ? job.alone->digest() : (*first)->digest(),
                        llvm::count(job.clusters, nullptr));
  }
  return text;
}

std::vector<size_t> PlacedProblem::dividedFirst(const DesignBox &box) {
  std::vector<size_t> ofMachine, ofPoint;
  if (!data_->points.relaxesAny())
    return ofMachine;
  size_t first = box.low.size() - data_->points.parameters();
  for (size_t p = 0; p < box.low.size(); ++p)
    if (box.low[p] < box.high[p]) {
      if (p < first)
        ofMachine.push_back(p);
      else if (!data_->points.relaxes(p - first))
        ofPoint.push_back(p);
    }
  return ofMachine.empty() ? ofPoint : ofMachine;
}

bool PlacedProblem::mayHold(const DesignBox &box) {
  auto machine = data_->objective.machineOf(box, data_->points.isSingleMachine(box));
  if (!machine && machine.error() == kNever)
    return false;
  bool any = false;
  data_->points.each(box, [&](size_t, const DesignBox &here) {
    any = any || (llvm::all_of(data_->jobs,
                               [&](const PlacedMiningJob &job) {
                                 return job.alone || data_->workOf(job, here.low) != nullptr;
                               }) &&
                  data_->within(here));
  });
  return any;
}

/// Where networks are relaxed every design has a fabric of its own, whose exchanges are priced for its bound already.
double PlacedProblem::boundsPerValue() const {
  return data_->points.relaxesAny() ? 8 : MiningProblem::boundsPerValue();
}

double PlacedProblem::bound(const DesignBox &box) {
  bool one = data_->points.isSingleMachine(box);
  auto machine = data_->objective.machineOf(box, one);
  if (!machine)
    return machine.error();
  StepBoundOptions options = data_->dependence.boundOptions(box, one);
  double min = kNever;
  data_->points.each(box, [&](size_t point, const DesignBox &here) {
    min = std::min(min, data_->boundAt(data_->bounds, point, here, [&](size_t job, const PlacedWork *work) {
      const PlacedMiningJob &one = data_->jobs[job];
      if (one.alone)
        return one.alone->bound(here);
      auto fabric = data_->fabricOf(*work, *data_->within(here));
      return data_->of(one, here, *machine, work->bound(*machine, options, fabric ? &*fabric : nullptr));
    }));
  });
  return min;
}

/// Points by their cheaper bounds, as far as these are below the least that was found.
double PlacedProblem::tightenBox(const DesignBox &box) {
  if (!data_->points.relaxesAny() || !data_->points.isSingleMachine(box))
    return 0;
  auto machine = data_->objective.machineOf(box, true);
  if (!machine)
    return machine.error();
  std::vector<std::tuple<double, size_t, DesignBox>> order;
  data_->points.each(box, [&](size_t point, const DesignBox &here) {
    if (double cheap = bound(here); cheap < kNever)
      order.emplace_back(cheap, point, here);
  });
  llvm::sort(order, [](const auto &a, const auto &b) {
    return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
  });
  double min = kNever;
  for (const auto &[cheap, point, here] : order) {
    if (cheap >= min)
      break;
    double placed = data_->boundAt(data_->tightened, point, here, [&](size_t job, const PlacedWork *work) {
      const PlacedMiningJob &one = data_->jobs[job];
      if (one.alone)
        return one.alone->bound(here);
      auto fabric = data_->fabricOf(*work, *data_->within(here));
      return data_->of(one, here, *machine, work->placedBound(*machine, fabric ? &*fabric : nullptr));
    });
    min = std::min(min, std::max(cheap, placed));
  }
  return min;
}

double PlacedProblem::tightenBound(const Design &design, unsigned) {
  auto machine = data_->objective.machineOf(design);
  if (!machine || !data_->isAllowed(design))
    return kNever;
  return data_->objective.aggregate(data_->jobs, [&](size_t job) {
    const PlacedMiningJob &one = data_->jobs[job];
    if (one.alone)
      return one.alone->bound({design, design});
    const PlacedWork *work = data_->workOf(one, design);
    if (!work)
      return kNever;
    auto fabric = data_->fabricOf(*work, design);
    return data_->of(one, {design, design}, *machine, work->tightenBound(*machine, fabric ? &*fabric : nullptr));
  });
}

std::vector<double> PlacedProblem::bottleneckGains(const Design &design) {
  auto machine = data_->objective.machineOf(design);
  if (!machine)
    return {};
  std::vector<double> bottleneckGains(parameters().size());
  auto raise = [&](size_t p, double less, double whole) {
    if (whole > 0 && std::isfinite(whole))
      bottleneckGains[p] = std::max(bottleneckGains[p], 1 - less / whole);
  };
  for (const PlacedMiningJob &job : data_->jobs) {
    if (job.alone) {
      std::vector<double> alone = job.alone->bottleneckGains(design);
      for (size_t p = 0; p < alone.size(); ++p)
        raise(p, 1 - alone[p], 1);
      continue;
    }
    const PlacedWork *work = data_->workOf(job, design);
    if (!work)
      return {};
    auto own = data_->fabricOf(*work, design);
    const Fabric *fabric = own ? &*own : nullptr;
    double whole = work->bound(*machine, {}, fabric);
    std::optional<double> priced;
    for (size_t p = 0; p < bottleneckGains.size(); ++p) {
      const ParameterDependence::Effect &of = data_->dependence.of(p);
      StepBoundOptions left;
      left.cores = of.cores, left.memories = of.memories;
      left.cores.resize(machine->cores.size()), left.memories.resize(machine->memories.size());
      raise(p, work->bound(*machine, left, fabric), whole);
      if (!of.capacity)
        continue;
      if (!priced) // more room makes steps at most as short as compulsory traffic alone does
        priced = work->tightenBound(*machine, fabric);
      raise(p, whole, *priced);
    }
  }
  return bottleneckGains;
}

/// One job after the other: where one of them alone is worth too much, the rest is not looked at.
DesignEvaluation PlacedProblem::evaluate(const Design &design, double below) {
  auto machine = data_->objective.machineOf(design);
  if (!machine || !data_->isAllowed(design))
    return {kNever, kNever};
  std::vector<DesignEvaluation> known(data_->jobs.size());
  std::vector<PlacedBest> placed(known.size());
  for (size_t job = 0; job < known.size(); ++job) {
    const PlacedMiningJob &one = data_->jobs[job];
    if (!one.alone) {
      const PlacedWork *work = data_->workOf(one, design);
      if (!work)
        return {kNever, kNever};
      auto fabric = data_->fabricOf(*work, design);
      placed[job] = work->best(*machine, data_->below(one, design, *machine, below), fabric ? &*fabric : nullptr);
      known[job] = {data_->of(one, {design, design}, *machine, placed[job].value),
                    data_->of(one, {design, design}, *machine, placed[job].bound)};
    } else {
      known[job] = one.alone->evaluate(design, data_->objective.below(one, below));
    }
    if (std::isinf(known[job].value)) {
      for (size_t rest = job; rest < known.size(); ++rest)
        known[rest].value = kNever;
      break;
    }
  }
  DesignEvaluation all{data_->objective.aggregate(data_->jobs, [&](size_t job) { return known[job].value; }),
                       data_->objective.aggregate(data_->jobs, [&](size_t job) { return known[job].lowerBound; })};
  for (size_t job = 0; job < known.size() && std::isfinite(all.value); ++job)
    all.steps.push_back(data_->jobs[job].alone
                            ? known[job].steps.at(0)
                            : EvaluatedStep{placed[job].metrics.step * 1e-12, placed[job].metrics.joules});
  std::scoped_lock lock(data_->mutex);
  if (all.value < data_->min)
    data_->min = all.value, data_->kept.clear();
  if (all.value == data_->min && std::isfinite(all.value))
    data_->kept.insert_or_assign(design, std::move(placed));
  return all;
}

std::optional<PlacedBest> PlacedProblem::placed(size_t job, const Design &design) {
  auto machine = data_->objective.machineOf(design);
  if (job >= data_->jobs.size() || data_->jobs[job].alone || !machine)
    return std::nullopt;
  const PlacedMiningJob &one = data_->jobs[job];
  const PlacedWork *work = data_->workOf(one, design);
  if (!work)
    return std::nullopt;
  PlacedBest best;
  {
    std::scoped_lock lock(data_->mutex);
    if (auto found = data_->kept.find(design); found != data_->kept.end())
      best = found->second[job];
  }
  auto fabric = data_->fabricOf(*work, design);
  if (!best.plan)
    best = work->best(*machine, kNever, fabric ? &*fabric : nullptr);
  if (!best.plan)
    return std::nullopt;
  best.value = data_->of(one, {design, design}, *machine, best.value);
  best.bound = data_->of(one, {design, design}, *machine, best.bound);
  return best;
}

} // namespace accord
