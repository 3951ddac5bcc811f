#include "lib/compilation/SingleDevicePlanner.h"
#include "dialects/dnn/Dnn.h"
#include "lib/compilation/RunPlanner.h"
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/cost/StepDataLoading.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/Diagnostics.h"
#include <fmt/format.h>

namespace accord {

SingleDeviceRequest deviceRequest(const TrainingRequest &request, const Planning &planning) {
  const TrainingJob &job = request.job;
  SingleDeviceRequest one;
  one.job = job.name;
  one.batch = job.batch;
  one.microbatches = job.microbatches;
  one.recomputes = job.recomputes;
  one.objective = job.objective;
  one.requirements = job.requirements;
  one.costModel = request.costModel;
  one.effort = static_cast<unsigned>(request.effort);
  one.threads = planning.threads;
  static_cast<SearchControl &>(one) = planning;
  one.fabric = planning.fabric;
  one.axes = planning.axes;
  return one;
}

Result<Plan, Errors> planOnDevice(const TrainingRequest &request, const Machine &machine,
                                  const std::map<std::string, dnn::TrainingGraphOp> &graphs, const Planning &planning) {
  const TrainingJob &job = request.job;
  SingleDeviceRequest one = deviceRequest(request, planning);
  one.instantiate = [&](int64_t microbatch, int64_t microbatches, const std::string &policy) -> Result<WorkGraph> {
    std::string error;
    dnn::TrainingGraphOp graph = graphs.at(policy);
    auto work = workGraphFrom(graph, microbatch, microbatches, error);
    if (!work)
      return Error{Code::NumberTooLarge, error, sourceOf(graph->getLoc()), {}};
    work->model = job.name;
    work->recompute = policy;
    return std::move(*work);
  };
  auto planned = planSingleDevice(one, machine);
  Plan *plan = planned.get();
  if (!plan)
    return planned;
  plan->assumptions.insert(plan->assumptions.end(), job.assumptions.begin(), job.assumptions.end());
  if (job.dataLoader) {
    auto loading = stepDataLoading(plan->graph, plan->machine, *job.dataLoader, plan->schedule.step.seconds());
    if (!loading) {
      Error error = loading.takeError();
      if (planning.diagnostics)
        error.location = planning.diagnostics->sources().location(job.dataLoaderAt);
      return error;
    }
    const auto &assumptions = loading->assumptions;
    plan->assumptions.insert(plan->assumptions.end(), assumptions.begin(), assumptions.end());
  }
  if (!plan->schedule.stopped.empty() && planning.stopReason) {
    plan->schedule.stopped = planning.stopReason();
    plan->assumptions.push_back(fmt::format(
        "planning was stopped ({}): a better plan may exist; the gap bounds the improvement", plan->schedule.stopped));
  }
  plan->estimate = stepEstimateOf(*plan, machine, one);
  PlannedRun whole = trainingRun(*plan, request);
  plan->run = whole.run;
  plan->assumptions.insert(plan->assumptions.end(), whole.assumptions.begin(), whole.assumptions.end());
  describeAccesses(plan->graph, graphs.at(plan->graph.recompute));
  return planned;
}

std::optional<StepEstimate> stepEstimateOf(const Plan &plan, const Machine &machine, SingleDeviceRequest request) {
  if (machine.fitted.values.empty() || !request.costModel.empty())
    return std::nullopt;
  Machine bare = machine;
  bare.fitted = {};
  request.effort = 0;
  request.progress = nullptr;
  auto ideal = planFor(plan.graph, bare, request);
  return calibrate::stepEstimateOf({&machine}, calibrate::hostShareOf(plan.graph) >= 1,
                                   plan.schedule.step.seconds().value,
                                   ideal ? ideal->schedule.step.seconds().value : 0);
}

} // namespace accord
