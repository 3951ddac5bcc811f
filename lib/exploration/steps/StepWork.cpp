#include "lib/exploration/steps/StepData.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <map>

namespace accord {

StepWork::StepWork(WorkGraph graph, const std::vector<double> &communication)
    : data_(std::make_unique<Data>()), prices_(std::make_unique<PriceCache>(PriceCache::Detail::Numbers)) {
  Dependences deps = Dependences::of(graph);
  StepShapes shapes = StepShapes::of(graph, communication);
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
    double one = what.flops * energyPerFlop(machine, choice.type).value;
    size_t levels = machine.memories.size();
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[core]));
    for (size_t m = 0; m < levels; ++m)
      one += what.bytes * machine.memories[m].energy.value;
    joules += one * data_->executions[c];
  }
  return joules * kStepRoundingFactor;
}

} // namespace accord
