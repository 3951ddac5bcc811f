#include "lib/placement/builder/StepVariants.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/planning/solve/ScheduleStep.h"

namespace accord {

Result<WorkGraph> instantiated(const PlacementProblemRequest &request, const StepVariant &step) {
  const auto &[tensor, sequence] = step.sharding;
  return step.replicaSharding.any() ? request.instantiateDivided(tensor, sequence, step.microbatch, step.recompute,
                                                                 step.data, step.replicaSharding)
                                    : request.instantiate(tensor, sequence, step.microbatch, step.recompute);
}

Result<PricedStep, Errors> priceStep(const WorkGraph &graph, const PlacementProblemRequest &request,
                                     const Cluster &group, const StepVariant &step, PriceCache *prices) {
  EstimateOptions options;
  options.costModel = request.costModel;
  options.fabric = &group.fabric;
  options.axes = {{"tensor", step.sharding.tensor}};
  if (step.data > 1)
    options.axes.push_back({"data", step.data});
  options.prices = prices;
  auto costs = estimate(graph, group.machine, options);
  if (!costs)
    return costs.takeError();
  PricedStep priced{std::move(*costs), {}};
  ScheduleOptions brief;
  brief.effort = 0;
  auto schedule = scheduleStep(graph, group.machine, priced.costs, brief);
  if (!schedule)
    return schedule.takeError();
  priced.schedule = std::move(*schedule);
  return priced;
}

Result<const ReplicaCommunication *> CommunicationCache::find(const Cluster &group, PlacementProblem::Id deviceType,
                                                              int64_t tensor, int64_t data, bool divided,
                                                              int64_t between) {
  std::scoped_lock lock(mutex_);
  auto [at, isNew] = known_.try_emplace({deviceType, tensor, data, divided, between});
  if (!isNew)
    return at->second.get();
  Groups groups = groupsAlong({{"tensor", tensor}, {"pipeline", between}, {"data", data}}, "data");
  ReplicaCommunication made;
  for (auto [collective, into] : {std::pair{Collective::AllReduce, &made.allReduce},
                                  {Collective::ReduceScatter, &made.scatter},
                                  {Collective::AllGather, &made.gather}}) {
    if (into != &made.allReduce && !divided)
      continue;
    auto found = linesOf(group.fabric, collective, groups);
    if (!found) {
      known_.erase(at);
      return found.error();
    }
    *into = std::move(*found);
  }
  at->second = std::make_unique<const ReplicaCommunication>(std::move(made));
  return at->second.get();
}

} // namespace accord
