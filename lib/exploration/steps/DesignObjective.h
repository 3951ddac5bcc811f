// What a step is worth by a metric, and several jobs together.
#pragma once
#include "lib/exploration/steps/StepProblem.h"
#include <algorithm>
#include <cmath>

namespace accord {

struct DesignObjective {
  MiningMetric metric = MiningMetric::StepTime;
  ObjectiveAggregation aggregation = ObjectiveAggregation::Sum;
  const DesignSpace *space = nullptr;

  /// Of a step on the machine of the box's design; or no more than of any step that takes so much
  /// at least on any design of the box, whose best machine it is. NaN: no value.
  double of(const DesignBox &box, const Machine &machine, const MeasuredStep &step) const {
    return metric == MiningMetric::Expression ? space->metricValue(box, machine, step)
                                              : of(machine, step.seconds, step.joules);
  }
  bool needsJoules() const {
    return metric == MiningMetric::Energy || (metric == MiningMetric::Expression && space->figures().energy);
  }
  std::string name() const {
    return metric == MiningMetric::Expression ? space->metricPrinted() : accord::name(metric);
  }
  /// Of a step on a machine; `Expression`: its time.
  double of(const Machine &machine, double step, double joules) const {
    switch (metric) {
    case MiningMetric::StepTime:
      return step;
    case MiningMetric::TdpTime:
      return step * machine.tdp.value;
    case MiningMetric::Energy:
      return joules;
    case MiningMetric::AreaTime:
      return step * machine.area.value;
    case MiningMetric::Expression:
      break;
    }
    return step;
  }
  /// Whether the machine has the number that the metric needs.
  bool canEvaluate(const Machine &machine) const {
    if (metric == MiningMetric::Expression)
      return space->measures(machine);
    return !(metric == MiningMetric::TdpTime && !(machine.tdp.value > 0)) &&
           !(metric == MiningMetric::AreaTime && !(machine.area.value > 0));
  }
  /// Nothing: the design may not be.
  std::optional<Machine> machineOf(const Design &design) const {
    if (!isValidDesign(design, space->parameters()))
      return std::nullopt;
    auto machine = space->machine(design);
    if (!machine || !canEvaluate(*machine) || space->violatedRequirement(design, *machine))
      return std::nullopt;
    return std::move(*machine);
  }
  /// The one machine that all designs of the box have, or (not `same`) the best of them; else what none of them is
  /// below: infinite where none may be, 0 where that is not known.
  Result<Machine, double> machineOf(const DesignBox &box, bool same) const {
    if (!isValidDesign(box.low, space->parameters()) || !isValidDesign(box.high, space->parameters()) ||
        space->violatedRequirement(box))
      return INFINITY;
    auto machine = same ? space->machine(box.low) : space->best(box);
    if (!machine)
      return same ? INFINITY : 0;
    if (same && (!canEvaluate(*machine) || space->violatedRequirement(box.low, *machine)))
      return INFINITY;
    return std::move(*machine);
  }
  /// Of all jobs, each with a `weight` and its `best`. `each` gives the part of the job of a
  /// number; never above what it is for larger parts.
  template <typename Jobs, typename Each> double aggregate(const Jobs &jobs, Each each) const {
    double all = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      double one = each(i);
      if (aggregation == ObjectiveAggregation::Sum)
        all += one * jobs[i].weight;
      else
        all = std::max(all, jobs[i].best > 0 ? one / jobs[i].best : one);
    }
    return std::isnan(all) ? INFINITY : all;
  }
  /// What a job may be worth less than where all are to be worth less than `below`.
  template <typename Job> double below(const Job &job, double below) const {
    if (aggregation == ObjectiveAggregation::Sum)
      return job.weight > 0 ? below / job.weight : INFINITY;
    return job.best > 0 ? below * job.best : below;
  }
};

} // namespace accord
