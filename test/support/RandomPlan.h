// A whole plan for a work graph, made as the compiler makes it.
#pragma once
#include "lib/machine/cost/Estimate.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/solve/ScheduleStep.h"
#include "test/support/RandomGraph.h"

namespace accord::testing {

inline Plan planFor(const WorkGraph &graph, const Machine &machine, const ScheduleOptions &options = {}) {
  Plan plan;
  plan.graph = graph;
  plan.machine = machine;
  plan.costs = *estimate(graph, machine);
  plan.schedule = *scheduleStep(graph, machine, plan.costs, options);
  addRepeatCosts(graph, plan.schedule, plan.costs);
  CriticalPath path = CriticalPath::of(graph, Dependences::of(graph), durationsOf(graph, plan.costs));
  plan.timing = path.timing;
  plan.criticalPath = path.chain;
  plan.memory = liveness(graph, plan.schedule);
  plan.batch = graph.microbatch * graph.microbatches;
  plan.objectiveValue = static_cast<double>(plan.batch) / plan.schedule.step.seconds().value;
  plan.objectiveBound = static_cast<double>(plan.batch) / plan.schedule.bound.seconds().value;
  return plan;
}

} // namespace accord::testing
