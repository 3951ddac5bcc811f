#include "lib/planning/output/PlanMlir.h"
#include "dialects/plan/PlanDialect.h"
#include "lib/machine/model/Dependences.h"
#include "lib/planning/output/PlanJson.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace accord {
namespace {

int64_t wholeBytes(Bytes bytes) { return bytes.value < 0x1p63 ? int64_t(bytes.value) : INT64_MAX; }

class Writer {
public:
  Writer(MLIRContext &context, const Plan &plan)
      : plan(plan), builder(&context), dependences(Dependences::of(plan.graph)) {}

  OwningOpRef<ModuleOp> write() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    auto placement =
        plan::PlacementOp::create(builder, builder.getUnknownLoc(), plan.job, plan.graph.model, plan.machine.name,
                                  objectiveKind(plan.objective).maximize ? "maximize" : "minimize", plan.objective,
                                  APFloat(plan.objectiveValue), APFloat(plan.objectiveBound), plan.schedule.step.value);
    builder.setInsertionPointToEnd(&placement.getBody().emplaceBlock());
    resources();
    nameRegions();
    for (RegionId id = 0; id < plan.schedule.regions.size(); ++id)
      region(id);
    memory();
    plan::BoundOp::create(builder, builder.getUnknownLoc(), plan.schedule.proof, plan.schedule.bound.value);
    for (const Conflict &conflict : plan.conflicts)
      plan::ConflictOp::create(builder, location({conflict.file, conflict.line, 1}), conflict.constraint,
                               conflict.detail);
    for (const std::string &assumption : plan.assumptions)
      plan::AssumptionOp::create(builder, builder.getUnknownLoc(), assumption);
    return module;
  }

private:
  const Plan &plan;
  OpBuilder builder;
  Dependences dependences;
  std::vector<std::string> regionNames;

  Location location(const SourceLocation &source) {
    if (source.file.empty())
      return builder.getUnknownLoc();
    return FileLineColLoc::get(builder.getContext(), source.file, source.line, source.column);
  }

  void resources() {
    for (const Memory &memory : plan.machine.memories)
      plan::MemoryOp::create(builder, builder.getUnknownLoc(), memory.name, wholeBytes(memory.capacity));
    for (const Core &core : plan.machine.cores)
      plan::CoreOp::create(builder, builder.getUnknownLoc(), core.name, core.count, name(core.kind));
  }

  /// Regions are symbols here, so a second region of a name gets its number behind it.
  void nameRegions() {
    llvm::StringSet<> taken;
    for (RegionId id = 0; id < plan.graph.regions.size(); ++id) {
      std::string name = plan.graph.regions[id].name;
      while (name.empty() || !taken.insert(name).second)
        name += "_" + std::to_string(id);
      regionNames.push_back(name);
    }
  }

  void region(RegionId id) {
    const RegionSchedule &schedule = plan.schedule.regions[id];
    // The micro-batch region runs once per micro-batch, whatever count its body has in the graph.
    int64_t count = id == kMicrobatchRegion ? plan.graph.microbatches : plan.graph.regions[id].count;
    IntegerAttr overhang;
    if (schedule.overhang.value > 0)
      overhang = builder.getI64IntegerAttr(schedule.overhang.value);
    auto region = plan::RegionOp::create(builder, builder.getUnknownLoc(), regionNames[id], count,
                                         schedule.length.value, overhang);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region.getBody().emplaceBlock());
    for (const Slot &slot : schedule.slots)
      write(slot);
  }

  void write(const Slot &slot) {
    const Operation &operation = plan.graph.operations[slot.operation];
    StringAttr core;
    IntegerAttr instance;
    FlatSymbolRefAttr runs;
    if (operation.body != kNone) {
      runs = FlatSymbolRefAttr::get(builder.getContext(), regionNames[operation.body]);
    } else if (slot.core >= 0) {
      core = builder.getStringAttr(plan.machine.cores[slot.core].name);
      instance = builder.getI64IntegerAttr(slot.instance);
    }
    SmallVector<StringRef> after;
    for (OperationId before : dependences.predecessors[slot.operation])
      after.push_back(plan.graph.operations[before].name);
    plan::SlotOp::create(builder, location(operation.location), builder.getStringAttr(operation.name), core, instance,
                         runs, builder.getI64IntegerAttr(slot.start.value),
                         builder.getI64IntegerAttr(slot.duration.value),
                         after.empty() ? ArrayAttr() : builder.getStrArrayAttr(after));
  }

  void memory() {
    if (plan.machine.memories.empty())
      return;
    for (unsigned category = 0; category < kCategories; ++category)
      if (int64_t bytes = plan.memory.atPeak[category])
        plan::ResidencyOp::create(builder, builder.getUnknownLoc(), name(static_cast<Category>(category)),
                                  plan.machine.memories[0].name, bytes);
  }
};

} // namespace

OwningOpRef<ModuleOp> toPlanDialect(MLIRContext &context, const Plan &plan) {
  context.getOrLoadDialect<plan::PlanDialect>();
  return Writer(context, plan).write();
}

std::string planMlir(const Plan &plan) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string text;
  llvm::raw_string_ostream out(text);
  toPlanDialect(context, plan)->print(out);
  return text;
}

} // namespace accord
