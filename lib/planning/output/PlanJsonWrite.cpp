#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonLists.h"
#include <algorithm>

using namespace llvm;
namespace accord {
namespace {

template <typename U> json::Array units(const std::vector<U> &items) {
  return list(items, [](const U &u) { return json::Value(u.value); });
}
void addLocation(json::Object &object, const SourceLocation &location) {
  if (location.file.empty())
    return;
  object["file"] = jsonString(location.file);
  object["line"] = static_cast<int64_t>(location.line);
  object["column"] = static_cast<int64_t>(location.column);
}
void addId(json::Object &object, StringRef key, uint32_t id) {
  if (id != kNone)
    object[key.str()] = static_cast<int64_t>(id);
}
json::Value origins(const std::map<std::string, Origin> &all) {
  json::Object object;
  for (const auto &[key, origin] : all) {
    json::Object one{{"text", jsonString(origin.text)}};
    if (!origin.source.empty())
      one["source"] = jsonString(origin.source);
    addLocation(one, origin.location);
    object[json::ObjectKey(json::fixUTF8(key))] = std::move(one);
  }
  return object;
}

json::Value write(const Value &v) {
  json::Object o{{"name", jsonString(v.name)}, {"bytes", v.bytes}, {"category", name(v.category)}};
  addId(o, "region", v.region);
  addId(o, "alias", v.alias);
  if (v.slices != 1)
    o["slices"] = v.slices;
  return o;
}

json::Value write(const std::vector<Loop> &domain) {
  return list(domain, [](const Loop &loop) {
    return json::Value(json::Object{{"extent", loop.extent},
                                    {"kind", loop.kind == IteratorKind::Parallel ? "parallel" : "reduction"}});
  });
}

/// [[[loop, stride], …] per dimension].
json::Value write(const LoopTensor &tensor) {
  json::Array at;
  for (const auto &terms : tensor.dimensions)
    at.push_back(list(terms, [](const LoopTensor::Term &term) {
      return json::Value(json::Array{static_cast<int64_t>(term.loop), term.stride});
    }));
  json::Object o{{"bits", tensor.elementBits}, {"at", std::move(at)}};
  if (!tensor.sizes.empty())
    o["sizes"] = numbers(tensor.sizes);
  if (tensor.written)
    o["written"] = true;
  return o;
}

json::Value write(const std::vector<LoopTensor> &tensors) {
  return list(tensors, [](const LoopTensor &tensor) { return write(tensor); });
}

json::Value write(const Operation &op) {
  json::Object o{
      {"name", jsonString(op.name)},  {"kind", jsonString(op.kind)},      {"phase", name(op.phase)},
      {"core", name(op.core)},        {"type", jsonString(op.type)},      {"flops", op.flops},
      {"bytes_read", op.bytesRead},   {"bytes_written", op.bytesWritten}, {"contraction", op.contraction},
      {"operands", ids(op.operands)}, {"results", ids(op.results)},       {"region", static_cast<int64_t>(op.region)}};
  if (op.givenSeconds)
    o["given_s"] = *op.givenSeconds;
  if (!op.domain.empty())
    o["domain"] = write(op.domain);
  if (!op.tensors.empty())
    o["tensors"] = write(op.tensors);
  if (!op.parts.empty())
    o["parts"] = list(op.parts, [](const FusedPart &part) {
      json::Object one{{"name", jsonString(part.name)}, {"kind", jsonString(part.kind)},
                       {"core", name(part.core)},       {"type", jsonString(part.type)},
                       {"flops", part.flops},           {"contraction", part.contraction},
                       {"domain", write(part.domain)}};
      if (!part.tensors.empty())
        one["tensors"] = write(part.tensors);
      return json::Value(std::move(one));
    });
  if (!op.accesses.empty())
    o["accesses"] = list(op.accesses, [](const TensorAccess &a) {
      return json::Value(json::Object{{"tensor", jsonString(a.tensor)},
                                      {"shape", jsonString(a.shape)},
                                      {"map", jsonString(a.map)},
                                      {"written", a.written}});
    });
  addId(o, "body", op.body);
  addLocation(o, op.location);
  return o;
}

json::Value write(const Region &r) {
  auto slice = [](const Region::Slice &s) {
    return json::Value(
        json::Object{{"inside", static_cast<int64_t>(s.inside)}, {"stacked", static_cast<int64_t>(s.stacked)}});
  };
  json::Object o{{"name", jsonString(r.name)}, {"count", r.count}, {"operations", ids(r.operations)}};
  addId(o, "parent", r.parent);
  addId(o, "owner", r.owner);
  if (r.reverse)
    o["reverse"] = true;
  o["carried"] = list(r.carried, [](const Region::Carried &c) {
    return json::Value(json::Object{{"argument", static_cast<int64_t>(c.argument)},
                                    {"yielded", static_cast<int64_t>(c.yielded)},
                                    {"initial", static_cast<int64_t>(c.initial)},
                                    {"result", static_cast<int64_t>(c.result)}});
  });
  o["stashed"] = list(r.stashed, slice);
  o["unstashed"] = list(r.unstashed, slice);
  return o;
}

json::Value write(const WorkGraph &g) {
  return json::Object{{"model", jsonString(g.model)},
                      {"precision", jsonString(g.precision)},
                      {"optimizer", jsonString(g.optimizer)},
                      {"recompute", jsonString(g.recompute)},
                      {"microbatch", g.microbatch},
                      {"microbatches", g.microbatches},
                      {"parameters", g.parameters},
                      {"values", list(g.values, [](const Value &v) { return write(v); })},
                      {"operations", list(g.operations, [](const Operation &op) { return write(op); })},
                      {"regions", list(g.regions, [](const Region &r) { return write(r); })},
                      {"static_tensors", list(g.staticTensors, [](const StaticTensor &r) {
                         return json::Value(json::Object{
                             {"name", jsonString(r.name)}, {"category", name(r.category)}, {"bytes", r.bytes}});
                       })}};
}

const char *mappingName(const Core &core) {
  return core.anyMapping ? "any" : core.perInstanceMapping ? "per_instance" : "split";
}

json::Value write(const Machine &m) {
  json::Object o{
      {"name", jsonString(m.name)},
      {"clock_hz", m.clock.value},
      {"idle_W", m.idle.value},
      {"tdp_W", m.tdp.value},
      {"energy_per_flop_J", m.energyPerFlop.value},
      {"kernel_launch_overhead_s", m.host.kernel.value},
      {"host_overhead_per_microbatch_s", m.host.microbatch.value},
      {"host_overhead_per_step_s", m.host.step.value},
      {"cost_model", jsonString(m.costModel)},
      {"origins", origins(m.origins)},
      {"memories", list(m.memories,
                        [](const Memory &l) {
                          json::Object level{
                              {"name", jsonString(l.name)},          {"kind", jsonString(l.kind)},
                              {"capacity_bytes", l.capacity.value},  {"bandwidth_bytes_per_s", l.bandwidth.value},
                              {"latency_s", l.latency.value},        {"energy_per_byte_J", l.energy.value},
                              {"double_buffered", l.doubleBuffered}, {"efficiency", l.efficiency},
                              {"origins", origins(l.origins)}};
                          if (l.sector.value > 0)
                            level["sector_bytes"] = l.sector.value;
                          return json::Value(std::move(level));
                        })},
      {"cores", list(m.cores, [](const Core &c) {
         json::Object peak;
         for (const auto &[type, rate] : c.peak)
           peak[json::ObjectKey(json::fixUTF8(type))] = rate.value;
         json::Object cycles;
         for (const auto &[kind, count] : c.cyclesOf)
           cycles[json::ObjectKey(json::fixUTF8(kind))] = count;
         json::Object core{{"name", jsonString(c.name)},
                           {"kind", name(c.kind)},
                           {"count", c.count},
                           {"peak_flops_per_s", std::move(peak)},
                           {"rows", c.rows},
                           {"cols", c.cols},
                           {"lanes", c.lanes},
                           {"dataflow", jsonString(c.dataflow)},
                           {"reads", c.reads},
                           {"efficiency", c.efficiency},
                           {"half_performance_work_flops", c.halfPerformanceWork.value},
                           {"overlap_fill", c.overlapFill},
                           {"overlap_drain", c.overlapDrain},
                           {"mapping", mappingName(c)},
                           {"cycles", std::move(cycles)},
                           {"origins", origins(c.origins)}};
         return json::Value(std::move(core));
       })}};
  if (!m.energyPerFlopOf.empty()) {
    json::Object types;
    for (const auto &[type, energy] : m.energyPerFlopOf)
      types[json::ObjectKey(json::fixUTF8(type))] = energy.value;
    o["energy_per_flop_by_type_J"] = std::move(types);
  }
  if (m.area.value > 0)
    o["area_m2"] = m.area.value;
  if (m.hostBandwidth.value > 0)
    o["host_bandwidth_bytes_per_s"] = m.hostBandwidth.value;
  addLocation(o, m.location);
  return o;
}

json::Value write(const OperationCost &c) {
  json::Object o{{"core", c.core},
                 {"time_s", c.time.value},
                 {"cycles", c.cycles.value},
                 {"compute_s", c.compute.value},
                 {"bytes", units(c.bytes)},
                 {"transfer_s", units(c.transfer)},
                 {"energy_J", c.energy.value},
                 {"model", jsonString(c.model)},
                 {"type", jsonString(c.type)},
                 {"bound", jsonString(c.bound)},
                 {"formula", jsonString(c.formula)}};
  if (c.instances > 0)
    o["instances"] = c.instances;
  if (c.floor.value > 0)
    o["kernel_launch_overhead_s"] = c.floor.value;
  if (c.gap > 0)
    o["gap"] = c.gap;
  if (!c.tiles.empty())
    o["tiles"] = list(c.tiles, [](const Tile &tile) {
      return json::Value(json::Object{{"memory", tile.memory},
                                      {"groups", list(tile.groups, ids)},
                                      {"extents", numbers(tile.extents)},
                                      {"order", ids(tile.order)}});
    });
  if (!c.parts.empty())
    o["parts"] = list(c.parts, [](const PartCost &part) {
      return json::Value(
          json::Object{{"core", part.core}, {"type", jsonString(part.type)}, {"compute_s", part.compute.value}});
    });
  return o;
}

json::Value write(const Costs &costs) {
  auto one = [](const OperationCost &c) { return write(c); };
  json::Object o{{"assumptions", strings(costs.assumptions)}, {"operations", list(costs.operations, one)}};
  json::Array alternatives;
  for (const auto &[id, others] : costs.alternatives)
    alternatives.push_back(json::Object{{"operation", static_cast<int64_t>(id)}, {"costs", list(others, one)}});
  if (!alternatives.empty())
    o["alternatives"] = std::move(alternatives);
  return o;
}

const char *const kRules[] = {"chain", "pair", "compulsory", "energy", "set"};
const char *const kBounds[] = {"trivial", "path", "set", "windows", "solver"};

json::Value write(const ProofStep &step) {
  json::Object o{{"rule", kRules[static_cast<size_t>(step.rule)]},
                 {"task", static_cast<int64_t>(step.task)},
                 {"other", static_cast<int64_t>(step.other)},
                 {"early", step.early},
                 {"time", step.time},
                 {"from", step.from},
                 {"to", step.to}};
  if (!step.tasks.empty())
    o["tasks"] = ids(step.tasks);
  return o;
}

json::Value write(const SchedulingBound &b) {
  json::Object o{{"value_ps", b.value},
                 {"kind", kBounds[static_cast<size_t>(b.kind)]},
                 {"tasks", ids(b.tasks)},
                 {"resource", static_cast<int64_t>(b.resource)},
                 {"steps", list(b.steps, [](const ProofStep &s) { return write(s); })},
                 {"proof", jsonString(b.proof)}};
  if (b.kind == SchedulingBound::Kind::Solver)
    o["unit_ps"] = b.unit;
  return o;
}

json::Value write(const Schedule &s) {
  json::Object o{{"step_ps", s.step.value},
                 {"bound_ps", s.bound.value},
                 {"proof", jsonString(s.proof)},
                 {"regions", list(s.regions, [](const RegionSchedule &r) {
                    json::Object region{{"length_ps", r.length.value},
                                        {"critical_path_ps", r.criticalPath.value},
                                        {"resource_bound_ps", r.resourceBound.value},
                                        {"slots", list(r.slots, [](const Slot &slot) {
                                           return json::Value(
                                               json::Object{{"operation", static_cast<int64_t>(slot.operation)},
                                                            {"core", slot.core},
                                                            {"instance", slot.instance},
                                                            {"start_ps", slot.start.value},
                                                            {"duration_ps", slot.duration.value}});
                                         })}};
                    if (r.proven.kind != SchedulingBound::Kind::Nothing)
                      region["proven"] = write(r.proven);
                    return json::Value(std::move(region));
                  })}};
  if (!s.stopped.empty())
    o["stopped"] = s.stopped;
  return o;
}

json::Object byCategory(const std::array<int64_t, kCategories> &bytes) {
  json::Object o;
  for (unsigned c = 0; c < kCategories; ++c)
    o[name(static_cast<Category>(c))] = bytes[c];
  return o;
}

json::Value write(const MemoryUse &memory, const Metrics &metrics) {
  return json::Object{{"peak_bytes", memory.peak},
                      {"capacity_bytes", metrics.capacity},
                      {"when_ps", memory.when.value},
                      {"at_peak", byCategory(memory.atPeak)},
                      {"timeline", list(memory.timeline, [](const MemoryPoint &p) {
                         json::Array bytes;
                         for (int64_t b : p.bytes)
                           bytes.push_back(b);
                         return json::Value(json::Object{{"time_ps", p.time.value}, {"bytes", std::move(bytes)}});
                       })}};
}

} // namespace

ObjectiveKind objectiveKind(StringRef name) {
  if (name == "throughput")
    return {"samples/s", true};
  if (name == "mfu" || name == "utilization")
    return {"", true};
  if (name == "energy")
    return {"J", false};
  if (name == "memory")
    return {"B", false};
  return {"s", false}; // step_time
}

double gapOf(const Plan &plan) {
  bool maximize = objectiveKind(plan.objective).maximize;
  double better = plan.objectiveBound, worse = plan.objectiveValue;
  double large = maximize ? better : worse, small = maximize ? worse : better;
  if (!(large > 0) || !(small >= 0))
    return 1;
  return std::clamp(1 - small / large, 0.0, 1.0);
}

json::Value toJson(const WorkGraph &graph) { return write(graph); }

json::Value toJson(const Plan &plan) {
  Metrics metrics = measure(plan);
  const char *unit = objectiveKind(plan.objective).unit;
  json::Array layers;
  if (!plan.graph.regions.empty())
    for (OperationId id : plan.graph.regions[kMicrobatchRegion].operations)
      if (id < plan.graph.operations.size() && plan.graph.operations[id].phase == Phase::Forward)
        layers.push_back(jsonString(plan.graph.operations[id].name));
  json::Array stages;
  stages.push_back(json::Object{{"name", "stage 0"},
                                {"devices", 1},
                                {"layers", std::move(layers)},
                                {"time_s", metrics.step.value},
                                {"memory_bytes", plan.memory.peak}});
  json::Array timing =
      list(plan.timing, [](const Timing &t) { return json::Value(json::Array{t.earliest.value, t.latest.value}); });
  json::Array conflicts = list(plan.conflicts, [](const Conflict &c) {
    return json::Value(json::Object{{"constraint", jsonString(c.constraint)},
                                    {"file", jsonString(c.file)},
                                    {"line", static_cast<int64_t>(c.line)},
                                    {"detail", jsonString(c.detail)}});
  });
  return json::Object{
      {"schema", 2},
      {"command", "compile"},
      {"version", jsonString(plan.version)},
      {"status", plan.feasible ? "done" : "infeasible"},
      {"job", jsonString(plan.job)},
      {"objective", json::Object{{"name", jsonString(plan.objective)}, {"value", plan.objectiveValue}, {"unit", unit}}},
      {"bound",
       json::Object{{"value", plan.objectiveBound}, {"unit", unit}, {"proof", jsonString(plan.schedule.proof)}}},
      {"gap", metrics.gap},
      {"step_time_s", metrics.step.value},
      {"throughput", metrics.throughput},
      {"model_flops", jsonCount(metrics.modelFlops)},
      {"mfu", metrics.mfu},
      {"flops", jsonCount(metrics.flops)},
      {"energy_J", metrics.energy.value},
      {"batch", plan.batch},
      {"tensor_parallel", 1},
      {"pipeline_parallel", 1},
      {"data_parallel", 1},
      {"recompute", jsonString(plan.graph.recompute)},
      {"microbatch", plan.graph.microbatch},
      {"microbatches", plan.graph.microbatches},
      {"stages", std::move(stages)},
      {"memory", write(plan.memory, metrics)},
      {"assumptions", strings(plan.assumptions)},
      {"conflict", std::move(conflicts)},
      {"critical_path", ids(plan.criticalPath)},
      {"graph", write(plan.graph)},
      {"machine", write(plan.machine)},
      {"costs", write(plan.costs)},
      {"schedule", write(plan.schedule)},
      {"timing_ps", std::move(timing)}};
}

} // namespace accord
