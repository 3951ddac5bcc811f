#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Metrics.h"
#include "lib/run/output/RunJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

using namespace llvm;
namespace accord {

void describe(JsonVisitor &v, Category &category);
void describe(JsonVisitor &v, CoreKind &kind);
void describe(JsonFields &f, WorkGraph &graph);

/// -1 or an index; an index or the largest number of 32 bits.
constexpr IntegerRange kFromNone{-1}, kIdOrNone{0, kNone};

void describe(JsonVisitor &v, Picoseconds &time) {
  visitValue(v, time.value);
  v.check([&](json::Path at) { return time.value >= 0 || (at.report("negative time"), false); });
}

void describe(JsonFields &f, Origin &origin) {
  f.about("as written: '312 TFLOP/s'").field("text", origin.text).about("who says so").maybe("source", origin.source);
  describeLocation(f, origin.location);
}

void describe(JsonFields &f, Memory &memory) {
  f.field("name", memory.name)
      .field("kind", memory.kind)
      .field("capacity_bytes", memory.capacity)
      .field("bandwidth_bytes_per_s", memory.bandwidth)
      .field("latency_s", memory.latency)
      .field("energy_per_byte_J", memory.energy)
      .field("double_buffered", memory.doubleBuffered)
      .field("efficiency", memory.efficiency)
      .field("origins", memory.origins)
      .maybe("sector_bytes", memory.sector);
}

void describe(JsonFields &f, Core &core) {
  std::string mapping = core.anyMapping ? "any" : core.perInstanceMapping ? "per_instance" : "split";
  f.field("name", core.name)
      .field("kind", core.kind)
      .field("count", core.count, kFromOne)
      .field("peak_flops_per_s", core.peak)
      .field("rows", core.rows)
      .field("cols", core.cols)
      .field("lanes", core.lanes)
      .field("dataflow", core.dataflow)
      .field("reads", core.reads, kFromNone)
      .field("efficiency", core.efficiency)
      .field("half_performance_work_flops", core.halfPerformanceWork)
      .field("overlap_fill", core.overlapFill)
      .field("overlap_drain", core.overlapDrain)
      .field("mapping", mapping, Words{{"split", "per_instance", "any"}, "expected split, per_instance or any"})
      .field("cycles", core.cyclesOf)
      .field("origins", core.origins);
  if (f.reads()) {
    core.perInstanceMapping = mapping == "per_instance";
    core.anyMapping = mapping == "any";
  }
}

void describe(JsonFields &f, Machine::Fitted &fitted) {
  std::map<std::string, double> values(fitted.values.begin(), fitted.values.end());
  f.about("the file, or whose defaults these are")
      .field("source", fitted.source)
      .about("in base units, by name: `accord calibrate` writes the same names")
      .field("parameters", values);
  if (f.reads())
    fitted.values.assign(values.begin(), values.end());
}

void describe(JsonFields &f, Machine &machine) {
  f.field("name", machine.name)
      .field("clock_hz", machine.clock)
      .field("idle_W", machine.idle)
      .field("tdp_W", machine.tdp)
      .field("energy_per_flop_J", machine.energyPerFlop)
      .field("kernel_launch_overhead_s", machine.host.kernel)
      .field("host_overhead_per_microbatch_s", machine.host.microbatch)
      .field("host_overhead_per_step_s", machine.host.step)
      .field("cost_model", machine.costModel)
      .field("origins", machine.origins)
      .field("memories", machine.memories)
      .field("cores", machine.cores)
      .maybe("energy_per_flop_by_type_J", machine.energyPerFlopOf)
      .maybe("area_m2", machine.area.value)
      .maybe("host_bandwidth_bytes_per_s", machine.hostBandwidth)
      .about("the efficiency that measured steps, or those of other machines, give it")
      .maybeIf(!machine.fitted.values.empty(), "calibration", machine.fitted);
  describeLocation(f, machine.location);
}

void describe(JsonFields &f, PartCost &part) {
  f.field("core", part.core).field("type", part.type).field("compute_s", part.compute);
}
void describe(JsonFields &f, Tile &tile) {
  f.field("memory", tile.memory, kFromOne)
      .field("groups", tile.groups)
      .field("extents", tile.extents, kFromOne)
      .field("order", tile.order);
}
void describe(JsonFields &f, OperationCost &cost) {
  f.field("core", cost.core, kFromNone)
      .field("time_s", cost.time)
      .field("cycles", cost.cycles)
      .field("compute_s", cost.compute)
      .field("bytes", cost.bytes)
      .field("transfer_s", cost.transfer)
      .field("energy_J", cost.energy)
      .field("model", cost.model)
      .field("type", cost.type)
      .field("bound", cost.bound)
      .field("formula", cost.formula)
      .maybe("instances", cost.instances)
      .maybe("kernel_launch_overhead_s", cost.floor)
      .about("no tiles take less than 1 - gap of the time; 0 where they are proven best")
      .maybe("gap", cost.gap, kShare)
      .maybe("tiles", cost.tiles)
      .maybe("parts", cost.parts);
}

void describe(JsonFields &f, Costs &costs) {
  std::vector<std::pair<OperationId, std::vector<OperationCost>>> alternatives(costs.alternatives.begin(),
                                                                               costs.alternatives.end());
  f.field("assumptions", costs.assumptions)
      .field("operations", costs.operations)
      .about("of operations that could run on another number of instances of their core: what that would cost")
      .maybe("alternatives", alternatives, [](JsonFields &g, std::pair<OperationId, std::vector<OperationCost>> &one) {
        g.field("operation", one.first).field("costs", one.second);
      });
  if (f.reads())
    for (auto &[operation, others] : alternatives)
      costs.alternatives[operation] = std::move(others);
}

void describe(JsonFields &f, ProofStep &step) {
  f.field("rule", step.rule,
          [](JsonVisitor &v, ProofStep::Rule &rule) {
            v.oneOf(rule, {"chain", "pair", "compulsory", "energy", "set"}, "an unknown word");
          })
      .field("task", step.task)
      .field("other", step.other, kIdOrNone)
      .field("early", step.early)
      .field("time", step.time, kAnyInteger)
      .field("from", step.from, kAnyInteger)
      .field("to", step.to, kAnyInteger)
      .maybe("tasks", step.tasks);
}
void describe(JsonFields &f, SchedulingBound &bound) {
  f.field("value_ps", bound.value)
      .field("kind", bound.kind,
             [](JsonVisitor &v, SchedulingBound::Kind &kind) {
               v.oneOf(kind, {"trivial", "path", "set", "windows", "solver", "budgets", "subsets"}, "an unknown word");
             })
      .field("tasks", bound.tasks)
      .field("resource", bound.resource, kIdOrNone)
      .field("steps", bound.steps)
      .field("proof", bound.proof)
      .maybeIf(bound.kind == SchedulingBound::Kind::Solver || bound.kind == SchedulingBound::Kind::Subsets, "unit_ps",
               bound.unit, kFromOne)
      .about("of `tasks`, times `unit_ps`: none that may run at once have more than 1 as the sum of weight / duration")
      .maybe("weights", bound.weights);
}

void describe(JsonFields &f, Slot &slot) {
  f.field("operation", slot.operation)
      .field("core", slot.core, kFromNone)
      .field("instance", slot.instance)
      .field("start_ps", slot.start)
      .field("duration_ps", slot.duration);
}
void describe(JsonFields &f, RegionSchedule &region) {
  f.about("from the start of one iteration to that of the next")
      .field("length_ps", region.length)
      .about("how long an iteration goes on after the next has started, where iterations overlap")
      .maybeIf(region.overhang.value != 0, "overhang_ps", region.overhang)
      .field("critical_path_ps", region.criticalPath)
      .field("resource_bound_ps", region.resourceBound)
      .field("slots", region.slots)
      .maybeIf(region.proven.kind != SchedulingBound::Kind::Nothing, "proven", region.proven);
}
void describe(JsonFields &f, Schedule &schedule) {
  f.field("step_ps", schedule.step)
      .field("bound_ps", schedule.bound)
      .field("proof", schedule.proof)
      .field("regions", schedule.regions)
      .maybe("stopped", schedule.stopped, Words{{"work limit", "time limit", "interrupted"}});
}

void describe(JsonFields &f, MemoryPoint &point) { f.field("time_ps", point.time).field("bytes", point.bytes); }
static void describeMemory(JsonFields &f, MemoryUse &memory, int64_t capacity) {
  f.field("peak_bytes", memory.peak)
      .computed("capacity_bytes", [&] { return capacity; })
      .field("when_ps", memory.when)
      .field("at_peak", memory,
             [](JsonFields &g, MemoryUse &use) {
               for (unsigned c = 0; c < kCategories; ++c)
                 g.visit(name(static_cast<Category>(c)), true, true,
                         [&](JsonVisitor &v) { visitValue(v, use.atPeak[c]); });
             })
      .field("timeline", memory.timeline);
}

void describe(JsonVisitor &v, Timing &timing) {
  v.tuple("expected earliest and latest start", timing.earliest, timing.latest);
}

void describe(JsonFields &f, Conflict &conflict) {
  f.about("as the user wrote it, or 'device memory'")
      .field("constraint", conflict.constraint)
      .field("file", conflict.file)
      .field("line", conflict.line)
      .about("what is needed against what there is")
      .field("detail", conflict.detail);
}

/// The forward operations of a micro-batch, as layers of the only stage.
struct OnlyStage {
  std::string name = "stage 0";
  int64_t devices = 1;
  std::vector<std::string> layers;
  Seconds time;
  int64_t memory = 0;
};
void describe(JsonFields &f, OnlyStage &stage) {
  f.field("name", stage.name)
      .field("devices", stage.devices, kFromOne)
      .field("layers", stage.layers)
      .field("time_s", stage.time)
      .field("memory_bytes", stage.memory);
}
static std::vector<OnlyStage> stagesOf(const Plan &plan, const Metrics &metrics) {
  OnlyStage stage;
  stage.time = metrics.step;
  stage.memory = plan.memory.peak;
  if (!plan.graph.regions.empty())
    for (OperationId id : plan.graph.regions[kMicrobatchRegion].operations)
      if (id < plan.graph.operations.size() && plan.graph.operations[id].phase == Phase::Forward)
        stage.layers.push_back(plan.graph.operations[id].name);
  return {stage};
}

void describe(JsonFields &f, StepEstimate &estimate) {
  f.field("low_s", estimate.low)
      .field("high_s", estimate.high)
      .field("ideal_s", estimate.ideal)
      .about("the calibration")
      .field("source", estimate.source);
}

void describe(JsonFields &f, WhatIf &what) {
  f.field("change", what.change)
      .field("step_time_s", what.step)
      .field("throughput", what.throughput)
      .field("memory_bytes", what.memory)
      .field("feasible", what.feasible)
      .about("what it gains")
      .field("note", what.note);
}

void describe(JsonFields &f, Plan &plan) {
  const Metrics metrics = f.writes() ? measure(plan) : Metrics();
  const char *unit = objectiveKind(plan.objective).unit;
  SearchStatus status = f.writes() ? statusOf(plan) : SearchStatus::Feasible;
  f.constant("command", "compile", "not a plan: expected 'compile'")
      .constant("schema", 2, "written by another version of accord: expected 2");
  f.visit("objective", true, true, [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.field("name", plan.objective).field("value", plan.objectiveValue).computed("unit", [&] {
        return std::string(unit);
      });
    });
  });
  f.about("no plan of this space is better").visit("bound", true, true, [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.field("value", plan.objectiveBound).computed("unit", [&] { return std::string(unit); }).computed("proof", [&] {
        return plan.schedule.proof;
      });
    });
  });
  f.about("version of accord that wrote this")
      .field("version", plan.version)
      .field("status", status)
      .field("job", plan.job)
      .about("samples per step")
      .field("batch", plan.batch, kFromOne)
      .field("memory", plan.memory,
             [&](JsonFields &g, MemoryUse &memory) { describeMemory(g, memory, metrics.capacity); })
      .field("assumptions", plan.assumptions)
      .field("conflict", plan.conflicts)
      .about("of an infeasible plan: micro-batch sizes and kinds of recomputation that bounds exclude, all there are")
      .maybe("excluded_candidates", plan.excludedCandidates, kFromOne)
      .field("critical_path", plan.criticalPath)
      .field("graph", plan.graph)
      .field("machine", plan.machine)
      .field("costs", plan.costs)
      .field("schedule", plan.schedule)
      .about("earliest and latest start of each operation in its region")
      .field("timing_ps", plan.timing);
  if (f.reads()) {
    plan.feasible = status == SearchStatus::Optimal || status == SearchStatus::Feasible;
    f.check("status", status == statusOf(plan), "does not follow from bound, gap and what stopped the search");
  }
  describeRun(f, plan.run);
  f.about("the same training with one thing changed, planned anew")
      .maybe("what_if", plan.whatIf)
      .about("tokens of a sample")
      .maybe("sequence", plan.sequence)
      .about("what frameworks call the model")
      .maybe("architecture", plan.architecture);
  // What follows from the above.
  auto one = [] { return int64_t(1); };
  f.about("distance to the bound as a share")
      .computed(
          "gap", [&] { return metrics.gap; }, kShare)
      .computed("step_time_s", [&] { return metrics.step; })
      .about("90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet")
      .maybe("step_time_estimate", plan.estimate)
      .about("samples per second")
      .computed("throughput", [&] { return metrics.throughput; })
      .about("multiply-accumulates of one step, times 2")
      .computed(
          "model_flops", [&] { return metrics.modelFlops; }, describeCount)
      .about("model FLOPs utilization, a share")
      .computed("mfu", [&] { return metrics.mfu; })
      .about("of all operations of one step")
      .computed(
          "flops", [&] { return metrics.flops; }, describeCount)
      .about("of one step")
      .computed("energy_J", [&] { return metrics.energy; })
      .computed("tensor_parallel", one, kFromOne)
      .computed("pipeline_parallel", one, kFromOne)
      .computed("data_parallel", one, kFromOne)
      .computed(
          "recompute", [&] { return plan.graph.recompute; }, recomputeWords())
      .computed(
          "microbatch", [&] { return plan.graph.microbatch; }, kFromOne)
      .computed(
          "microbatches", [&] { return plan.graph.microbatches; }, kFromOne)
      .computed("stages", [&] { return stagesOf(plan, metrics); });
}

ObjectiveKind objectiveKind(StringRef name) {
  return StringSwitch<ObjectiveKind>(name)
      .Case("throughput", {"samples/s", true})
      .Cases({"mfu", "utilization"}, {"", true})
      .Case("energy", {"J", false})
      .Case("memory", {"B", false})
      .Default({"s", false}); // step_time
}

double gapOf(const Plan &plan) {
  bool maximize = objectiveKind(plan.objective).maximize;
  double better = plan.objectiveBound, worse = plan.objectiveValue;
  double large = maximize ? better : worse, small = maximize ? worse : better;
  if (!(large > 0) || !(small >= 0))
    return 1;
  return std::clamp(1 - small / large, 0.0, 1.0);
}

SearchStatus statusOf(const Plan &plan) { return statusOf(plan.feasible, gapOf(plan), plan.excludedCandidates > 0); }

json::Value toJson(const Plan &plan) { return toDocument(plan); }

json::Value planSchema() {
  // What is written is closed; a reader takes more, for `verify` to judge.
  return schemaOf<Plan>();
}

Expected<Plan> planFromJson(StringRef text, StringRef path) {
  return readJsonDocument<Plan>(text, path, "plan", [](const json::Value &value, Plan &plan, json::Path at) {
    return readJson(value, at, [&](JsonVisitor &v) { visitValue(v, plan); }, JsonRule::Open) && checkIndices(plan, at);
  });
}

} // namespace accord
