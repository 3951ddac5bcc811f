#include "lib/driver/traces/StageSteps.h"
#include "lib/comparison/solve/PlannedStep.h"
#include "lib/driver/Session.h"
#include "lib/placement/builder/CalibratedPrices.h"
#include "lib/placement/builder/StepVariants.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord {
namespace {
using namespace comparison;

CommunicationKind kindOf(const std::string &kind) {
  return kind == "all_reduce"       ? CommunicationKind::AllReduce
         : kind == "all_gather"     ? CommunicationKind::AllGather
         : kind == "reduce_scatter" ? CommunicationKind::ReduceScatter
         : kind == "all_to_all"     ? CommunicationKind::AllToAll
                                    : CommunicationKind::Other;
}
Purpose purposeOf(const std::string &axis) {
  return axis == "tensor" ? Purpose::Tensor : axis == "context" ? Purpose::Context : Purpose::Experts;
}

class StageStepBuilder {
public:
  StageStepBuilder(const PlacementPlan &plan, const Options &options)
      : plan(plan), placement(*plan.result.plan), session(options) {}

  std::optional<std::vector<StageStep>> run() {
    if (!session.prepare())
      return failed();
    std::vector<std::string> unused;
    request = session.placementRequest(unused);
    if (!request)
      return failed();
    auto layering = layers();
    if (!layering) {
      session.report(layering.error());
      return failed();
    }
    std::vector<StageStep> made;
    for (size_t group = 0; group < placement.groups(); ++group) {
      auto step = stepOf(group, *layering);
      if (!step) {
        session.report(step.error());
        return failed();
      }
      made.push_back(std::move(*step));
    }
    return made;
  }

private:
  std::optional<std::vector<StageStep>> failed() {
    session.finish(kWrongInput, "compare");
    return std::nullopt;
  }

  static Error firstOf(Errors errors) { return errors.empty() ? Error{} : std::move(errors.front()); }

  struct Priced {
    WorkGraph graph;
    Costs costs;
    Schedule schedule;
  };
  Result<Priced> priced(const StepVariant &variant, size_t deviceType) {
    Priced made;
    ACCORD_TRY(graph, instantiated(*request, variant));
    made.graph = std::move(graph);
    auto price = priceStep(made.graph, *request, request->groups[deviceType], variant);
    if (!price)
      return firstOf(price.takeError());
    made.costs = std::move(price->costs), made.schedule = std::move(price->schedule);
    auto fitted = CalibratedPrices::of(request->groups[deviceType], request->unlinked);
    if (!fitted)
      return made;
    ACCORD_TRY(times, fitted->times(made.graph, variant.sharding.tensor, variant.sharding.context));
    for (size_t id = 0; id < times.size() && id < made.costs.operations.size(); ++id)
      made.costs.operations[id].time = Seconds(times[id]);
    return made;
  }

  /// The layers of the step of one device, which have to be those of the plan.
  Result<Layering> layers() {
    ACCORD_TRY(whole, priced({}, 0));
    Layering layering = Layering::of(whole.graph, whole.schedule);
    const auto &classes = plan.problem.classes;
    const bool same =
        request->groups.size() == plan.problem.deviceTypes.size() &&
        std::ranges::equal(layering.classes, classes, [](const auto &a, const auto &b) { return a.name == b.name; }) &&
        layering.layers() == static_cast<int64_t>(plan.problem.layers.size());
    if (!same)
      return Error{Code::SourceChanged,
                   fmt::format("'{}' has {} layers in {} classes, the plan has {} in {}: it was made from another file",
                               session.job().name, layering.layers(), layering.classes.size(),
                               plan.problem.layers.size(), classes.size()),
                   {},
                   {},
                   ""};
    return layering;
  }

  /// What most layers of the group compute again.
  std::string policyOf(size_t group) const {
    std::map<std::string, size_t> counts;
    for (size_t stage : placement.stagesOf(group))
      for (size_t i = 0; i < placement.stages[stage].layers.size(); ++i)
        ++counts[plan.problem.choiceOf(placement.stages[stage], i).policy];
    std::string policy = "none";
    size_t max = 0;
    for (const auto &[name, count] : counts)
      if (count > max)
        max = count, policy = name;
    llvm::StringRef word = policy; // where activations lie changes no operation
    if (word == "offload")
      return "none";
    word.consume_back("+offload");
    return word.str();
  }

  Result<StageStep> stepOf(size_t group, const Layering &layering) {
    const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages[group].parallelConfig];
    StepVariant variant;
    variant.sharding = shardingOf(config), variant.microbatch = config.microbatch, variant.recompute = policyOf(group);
    if (config.expert > 1 || config.tables != Tables::Whole) {
      variant.data = config.expert > 1 ? config.expert : config.data;
      variant.replicaSharding = {config.expert, config.tables};
    }
    ACCORD_TRY(made, priced(variant, config.deviceType));
    keepLayers(made.graph, layering, group);
    StageStep stage;
    for (OperationId id = 0; id < made.graph.operations.size(); ++id) {
      const Operation &op = made.graph.operations[id];
      OperationCost &cost = made.costs.operations[id];
      const auto executions = static_cast<double>(made.graph.executions(id));
      if (op.communication && op.region != kUpdateRegion) {
        StageStep::Exchange &exchange = stage.exchanges[purposeOf(op.communication->axis)];
        exchange.seconds += cost.time.value * executions;
        exchange.bytes[kindOf(op.communication->kind)] +=
            static_cast<int64_t>(static_cast<double>(op.communication->payload) * executions);
      }
      if (op.communication || op.region == kUpdateRegion)
        cost.time = Seconds(0); // what ranks exchange is compared apart; the update is a share of the step
    }
    Plan device;
    device.job = plan.job, device.graph = std::move(made.graph), device.costs = std::move(made.costs);
    device.machine = request->groups[config.deviceType].machine, device.batch = plan.problem.batch;
    ACCORD_TRY(step, plannedStepOf(device));
    stage.step = std::move(step);
    return stage;
  }

  /// Takes the layers of other groups out of the graph.
  void keepLayers(WorkGraph &graph, const Layering &layering, size_t group) const {
    std::vector<int64_t> counts(layering.classes.size());
    for (size_t stage : placement.stagesOf(group))
      for (PlacementProblem::Id layer : placement.stages[stage].layers)
        ++counts[plan.problem.layers[layer].of];
    const Dependences deps = Dependences::of(graph);
    const std::vector<layers::Part> parts = layers::partsOf(layering, graph, deps);
    std::vector<OperationId> kept;
    std::vector<bool> keeps(graph.operations.size(), true);
    const std::vector<OperationId> &all = graph.regions[kMicrobatchRegion].operations;
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t count = counts[parts[i].cls];
      keeps[all[i]] = count > 0;
      if (count == 0)
        continue;
      kept.push_back(all[i]);
      if (const RegionId body = graph.operations[all[i]].body; body != kNone && layering.classes[parts[i].cls].iterated)
        graph.regions[body].count = count;
    }
    graph.regions[kMicrobatchRegion].operations = std::move(kept);
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (graph.operations[id].region == kMicrobatchRegion && !keeps[id]) {
        graph.operations[id].communication.reset();
        if (graph.operations[id].body != kNone)
          graph.regions[graph.operations[id].body].count = 0;
      }
    graph.microbatches = placement.microbatches;
  }

  const PlacementPlan &plan;
  const Placement &placement;
  Session session;
  std::optional<PlacementProblemRequest> request;
};

} // namespace

std::optional<std::vector<StageStep>> stageSteps(const PlacementPlan &plan, const Options &options) {
  return StageStepBuilder(plan, options).run();
}

} // namespace accord
