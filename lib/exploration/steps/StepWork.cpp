#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/steps/StepData.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/model/Dependences.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/planning/solve/ScheduleStep.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord {
namespace {

using Scheduled = std::pair<Costs, Schedule>;

/// Costs and schedule of the step.
Result<Scheduled, Errors> scheduled(const WorkGraph &graph, const Machine &machine, Result<Costs, Errors> priced,
                                    const ScheduleOptions &effort) {
  if (!priced)
    return priced.takeError();
  Costs &costs = *priced;
  auto schedule = scheduleStep(graph, machine, costs, effort);
  if (!schedule)
    return schedule.takeError();
  return Scheduled(std::move(costs), std::move(*schedule));
}

StepValue never() {
  StepValue value;
  value.step = value.joules = value.lowerBound = value.bytes = INFINITY;
  value.fits = false;
  return value;
}

StepValue valueOf(const WorkGraph &graph, const Machine &machine, const Scheduled &scheduled) {
  const auto &[costs, schedule] = scheduled;
  Seconds step = schedule.step.seconds();
  LivenessOptions peak;
  peak.points = 2;
  StepValue value;
  value.step = step.value;
  value.lowerBound = schedule.bound.seconds().value;
  value.joules = stepEnergyBreakdown(graph, costs, machine, step).total().value;
  value.bytes = liveness(graph, schedule, peak).peak;
  value.fits = machine.memories.empty() || value.bytes <= machine.memories[0].capacity.value;
  return value;
}

ScheduleOptions withEffort(unsigned effort) {
  ScheduleOptions options;
  options.effort = effort;
  return options;
}

} // namespace

StepWork::StepWork(WorkGraph graph, const std::vector<double> &communication, StepZeros zeros)
    : data_(std::make_unique<Data>()),
      // What zeros save of the traffic follows from tiles.
      prices_(std::make_unique<PriceCache>(zeros.empty() ? PriceCache::Detail::Numbers : PriceCache::Detail::All)) {
  data_->zeros = std::move(zeros);
  data_->zeroOperations = zeroOperations(graph, data_->zeros);
  Dependences deps = Dependences::of(graph);
  StepShapes shapes = StepShapes::of(graph, communication, minZeroShares(graph, data_->zeros));
  data_->executions.resize(shapes.classes.size());
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    data_->executions[shapes.classOf[id]] += graph.executions(id);
  auto visit = [&](auto &&self, RegionId r) -> void {
    StepPart part{r, {}};
    std::map<OperationId, uint32_t> place;
    for (OperationId id : graph.regions[r].operations) {
      if (graph.operations[id].body != kNone)
        self(self, graph.operations[id].body);
      StepItem item{shapes.classOf[id], graph.operations[id].body, {}};
      for (OperationId before : deps.predecessors[id])
        if (auto found = place.find(before); found != place.end())
          item.before.push_back(found->second);
      place[id] = static_cast<uint32_t>(part.items.size());
      part.items.push_back(std::move(item));
    }
    data_->parts.push_back(std::move(part));
  };
  visit(visit, kMicrobatchRegion);
  visit(visit, kUpdateRegion);
  data_->cores.shapes = std::move(shapes);
  data_->graph = std::move(graph);
  prices_->registerGraph(data_->graph);
}

StepWork::StepWork(StepWork &&) noexcept = default;
StepWork::~StepWork() = default;
const WorkGraph &StepWork::graph() const { return data_->graph; }
const StepZeros &StepWork::zeros() const { return data_->zeros; }

Result<Costs, Errors> StepWork::Data::estimated(const Machine &machine, PriceCache *prices) const {
  EstimateOptions options;
  options.prices = prices;
  auto costs = estimate(graph, machine, options);
  if (!costs)
    return costs;
  if (auto priced = priceZeros(graph, machine, zeroOperations, *costs); !priced)
    return Errors{priced.takeError()};
  return costs;
}

double StepWork::bound(const Machine &machine, bool exact) const {
  StepBoundOptions options;
  options.exact = exact;
  return data_->priced(machine, options);
}
double StepWork::bound(const Machine &machine, const StepBoundOptions &options) const {
  return data_->priced(machine, options);
}

void StepWork::times(const Machine &machine, const StepBoundOptions &options, std::vector<double> &seconds) const {
  data_->times(machine, options, seconds);
}

double StepWork::minJoules(const Machine &machine, double step) const {
  static thread_local StepCores::View view;
  data_->cores.choose(machine, view);
  double joules = machine.idle.value * step;
  const StepShapes &shapes = data_->cores.shapes;
  for (size_t c = 0; c < shapes.classes.size(); ++c) {
    const StepClass &what = shapes.classes[c];
    if (what.kind != StepClass::Kind::Whole && what.kind != StepClass::Kind::Fused)
      continue;
    const StepCores::Choice &choice = view.choices[what.want];
    if (choice.cores.empty() || choice.unknown)
      continue;
    double one = what.flops * std::min(1.0, what.zeros.active) * energyPerFlop(machine, choice.type).value;
    const double bytes = std::max(0.0, what.bytes * what.zeros.bytes - what.savedBytes);
    size_t levels = machine.memories.size();
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[core]));
    auto counted = [&](size_t m) { // by beats, where a core has the memory itself
      return std::none_of(choice.cores.begin(), choice.cores.end(),
                          [&](int core) { return isInside(machine.cores[core], machine.memories[m]); });
    };
    for (size_t m = 0; m < levels; ++m)
      if (counted(m))
        one += bytes * machine.memories[m].energy.value;
    joules += one * data_->executions[c];
  }
  return joules * kStepRoundingFactor;
}

StepValue StepWork::value(const Machine &machine, Errors *errors) const {
  auto found = scheduled(graph(), machine, data_->estimated(machine, prices_.get()), withEffort(0));
  if (!found) {
    if (errors)
      *errors = found.takeError();
    return never();
  }
  return valueOf(graph(), machine, *found);
}

StepValue StepWork::boundedBySubsets(const Machine &machine) const {
  ScheduleOptions options = withEffort(0);
  options.subsets = true;
  options.orders = &data_->orders;
  auto found = scheduled(graph(), machine, data_->estimated(machine, prices_.get()), options);
  return found ? valueOf(graph(), machine, *found) : never();
}

std::optional<Costs> StepWork::costs(const Machine &machine) const {
  auto costs = data_->estimated(machine, prices_.get());
  return costs ? std::optional(std::move(*costs)) : std::nullopt;
}

StepPrices StepWork::pricesOf(const Costs &costs, const Machine &machine) const {
  const StepShapes &shapes = data_->cores.shapes;
  StepPrices prices;
  prices.classes.assign(shapes.classes.size(), {INFINITY, -2, INFINITY, {}});
  for (OperationId id = 0; id < graph().operations.size(); ++id) {
    const Operation &op = graph().operations[id];
    if (op.body != kNone || op.core == CoreKind::Network)
      continue;
    StepPrices::OfClass &of = prices.classes[shapes.classOf[id]];
    auto add = [&](const OperationCost &cost) {
      of.time = std::min(of.time, cost.time.value);
      of.core = of.core == -2 || of.core == cost.core ? cost.core : -1;
      if (of.transfers.empty())
        of.transfers.assign(machine.memories.size(), INFINITY);
      for (size_t m = 0; m < of.transfers.size(); ++m)
        of.transfers[m] = std::min(of.transfers[m], m < cost.transfer.size() ? cost.transfer[m].value : 0);
      if (cost.core >= 0)
        of.work = std::min(of.work, cost.time.value * static_cast<double>(occupiedInstances(machine, cost, cost.core)) /
                                        static_cast<double>(machine.cores[cost.core].count));
    };
    add(costs.operations[id]);
    if (auto others = costs.alternatives.find(id); others != costs.alternatives.end())
      for (const OperationCost &cost : others->second)
        add(cost);
  }
  for (StepPrices::OfClass &of : prices.classes) {
    of.time = std::isfinite(of.time) ? of.time : 0;
    of.work = of.core >= 0 && std::isfinite(of.work) ? of.work : 0;
  }
  return prices;
}

StepValue StepWork::refined(const Machine &machine, unsigned effort, bool searches) const {
  OrderedBound ordered;
  ScheduleOptions options = withEffort(effort);
  options.searches = searches;
  options.ordered = &ordered;
  auto found = scheduled(graph(), machine, data_->estimated(machine, prices_.get()), options);
  if (!found)
    return never();
  StepValue value = valueOf(graph(), machine, *found);
  value.lowerBound = std::max(value.lowerBound, ordered.step.seconds().value);
  value.effort = effort;
  return value;
}

std::optional<Plan> StepWork::planned(const Machine &machine) const {
  auto found = scheduled(graph(), machine, data_->estimated(machine, nullptr), withEffort(0));
  if (!found)
    return std::nullopt;
  Plan plan;
  plan.graph = graph();
  plan.machine = machine;
  std::tie(plan.costs, plan.schedule) = std::move(*found);
  return plan;
}

} // namespace accord
