#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <limits>

using namespace llvm;
namespace accord {
// Found by argument-dependent look-up from llvm::json's readers of vectors and maps.
using json::ObjectMapper;
using json::Path;

/// An index or an integer narrower than JSON's.
template <typename T> struct Narrow {
  T value;
};
template <typename T> bool fromJSON(const json::Value &e, Narrow<T> &out, Path p) {
  std::optional<int64_t> number = e.getAsInteger();
  if (!number) {
    p.report("expected integer");
    return false;
  }
  if (*number < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
      *number > static_cast<int64_t>(std::numeric_limits<T>::max())) {
    p.report("integer out of range");
    return false;
  }
  out.value = static_cast<T>(*number);
  return true;
}
template <int T, int B, int F, int C, int E> bool fromJSON(const json::Value &e, Unit<T, B, F, C, E> &out, Path p) {
  return json::fromJSON(e, out.value, p);
}
bool fromJSON(const json::Value &e, Picoseconds &out, Path p) {
  if (!json::fromJSON(e, out.value, p))
    return false;
  if (out.value >= 0)
    return true;
  p.report("negative time");
  return false;
}

namespace {
/// Fields of an object, with the conversions this document needs. `ok` stays false once something
/// failed.
class Fields {
public:
  Fields(const json::Value &value, Path path) : map(value, path), ok(static_cast<bool>(map)) {}
  template <typename T> Fields &operator()(StringLiteral key, T &out) {
    ok = ok && map.map(key, out);
    return *this;
  }
  template <typename T> Fields &narrow(StringLiteral key, T &out, bool optional = false) {
    Narrow<T> n{out};
    ok = ok && (optional ? map.mapOptional(key, n) : map.map(key, n));
    out = n.value;
    return *this;
  }
  template <typename T> Fields &maybe(StringLiteral key, T &out) {
    ok = ok && map.mapOptional(key, out);
    return *this;
  }
  Fields &ids(StringLiteral key, std::vector<uint32_t> &out) {
    std::vector<Narrow<uint32_t>> wide;
    ok = ok && map.map(key, wide);
    out.clear();
    for (Narrow<uint32_t> n : wide)
      out.push_back(n.value);
    return *this;
  }
  Fields &location(SourceLocation &l) {
    return maybe("file", l.file).narrow("line", l.line, true).narrow("column", l.column, true);
  }
  explicit operator bool() const { return ok; }

private:
  ObjectMapper map;
  bool ok;
};

/// One of the enumerators up to `last` by its printed name.
template <typename E> bool enumerator(const json::Value &e, E &out, E last, Path p, StringLiteral expected) {
  std::optional<StringRef> text = e.getAsString();
  for (unsigned i = 0; text && i <= static_cast<unsigned>(last); ++i) {
    if (*text != name(static_cast<E>(i)))
      continue;
    out = static_cast<E>(i);
    return true;
  }
  p.report(expected);
  return false;
}
} // namespace

bool fromJSON(const json::Value &e, Phase &out, Path p) {
  return enumerator(e, out, Phase::Recompute, p, "expected phase");
}
bool fromJSON(const json::Value &e, CoreKind &out, Path p) {
  return enumerator(e, out, CoreKind::Vector, p, "expected kind of core");
}
bool fromJSON(const json::Value &e, Category &out, Path p) {
  return enumerator(e, out, Category::Inputs, p, "expected memory category");
}
bool fromJSON(const json::Value &e, IteratorKind &out, Path p) {
  std::optional<StringRef> text = e.getAsString();
  if (!text || (*text != "parallel" && *text != "reduction")) {
    p.report("expected 'parallel' or 'reduction'");
    return false;
  }
  out = *text == "parallel" ? IteratorKind::Parallel : IteratorKind::Reduction;
  return true;
}
bool fromJSON(const json::Value &e, Loop &l, Path p) { return bool(Fields(e, p)("extent", l.extent)("kind", l.kind)); }
bool fromJSON(const json::Value &e, Origin &o, Path p) {
  return bool(Fields(e, p)("text", o.text).maybe("source", o.source).location(o.location));
}
bool fromJSON(const json::Value &e, Value &v, Path p) {
  return bool(Fields(e, p)("name", v.name)("bytes", v.bytes)("category", v.category)
                  .narrow("region", v.region, true)
                  .narrow("alias", v.alias, true)
                  .maybe("slices", v.slices));
}
bool fromJSON(const json::Value &e, TensorAccess &a, Path p) {
  return bool(Fields(e, p)("tensor", a.tensor)("shape", a.shape)("map", a.map)("written", a.written));
}
bool fromJSON(const json::Value &e, LoopTensor::Term &term, Path p) {
  const json::Array *pair = e.getAsArray();
  std::optional<int64_t> loop, stride;
  if (pair && pair->size() == 2)
    loop = (*pair)[0].getAsInteger(), stride = (*pair)[1].getAsInteger();
  if (!loop || !stride || *loop < 0 || *loop > std::numeric_limits<unsigned>::max()) {
    p.report("expected [loop, stride]");
    return false;
  }
  term = {static_cast<unsigned>(*loop), *stride};
  return true;
}
bool fromJSON(const json::Value &e, LoopTensor &t, Path p) {
  return bool(
      Fields(e, p)("bits", t.elementBits)("at", t.dimensions).maybe("sizes", t.sizes).maybe("written", t.written));
}
bool fromJSON(const json::Value &e, FusedPart &part, Path p) {
  return bool(Fields(e, p)("name", part.name)("kind", part.kind)("core", part.core)("type", part.type)(
                  "flops", part.flops)("contraction", part.contraction)("domain", part.domain)
                  .maybe("tensors", part.tensors));
}
bool fromJSON(const json::Value &e, Operation &op, Path p) {
  return bool(Fields(e, p)("name", op.name)("kind", op.kind)("phase", op.phase)("core", op.core)("type", op.type)(
                  "flops", op.flops)("bytes_read", op.bytesRead)("bytes_written", op.bytesWritten)("contraction",
                                                                                                   op.contraction)
                  .maybe("given_s", op.givenSeconds)
                  .maybe("domain", op.domain)
                  .maybe("tensors", op.tensors)
                  .maybe("parts", op.parts)
                  .maybe("accesses", op.accesses)
                  .ids("operands", op.operands)
                  .ids("results", op.results)
                  .narrow("region", op.region)
                  .narrow("body", op.body, true)
                  .location(op.location));
}
bool fromJSON(const json::Value &e, Region::Carried &c, Path p) {
  return bool(Fields(e, p)
                  .narrow("argument", c.argument)
                  .narrow("yielded", c.yielded)
                  .narrow("initial", c.initial)
                  .narrow("result", c.result));
}
bool fromJSON(const json::Value &e, Region::Slice &s, Path p) {
  return bool(Fields(e, p).narrow("inside", s.inside).narrow("stacked", s.stacked));
}
bool fromJSON(const json::Value &e, Region &r, Path p) {
  return bool(Fields(e, p)("name", r.name)("count", r.count)
                  .ids("operations", r.operations)
                  .narrow("parent", r.parent, true)
                  .narrow("owner", r.owner, true)
                  .maybe("reverse", r.reverse)("carried", r.carried)("stashed", r.stashed)("unstashed", r.unstashed));
}
bool fromJSON(const json::Value &e, StaticTensor &r, Path p) {
  return bool(Fields(e, p)("name", r.name)("category", r.category)("bytes", r.bytes));
}
bool fromJSON(const json::Value &e, WorkGraph &g, Path p) {
  return bool(Fields(e, p)("model", g.model)("precision", g.precision)("optimizer", g.optimizer)(
      "recompute", g.recompute)("microbatch", g.microbatch)("microbatches", g.microbatches)("parameters", g.parameters)(
      "values", g.values)("operations", g.operations)("regions", g.regions)("static_tensors", g.staticTensors));
}
bool fromJSON(const json::Value &e, Memory &m, Path p) {
  return bool(Fields(e, p)("name", m.name)("kind", m.kind)("capacity_bytes", m.capacity)(
                  "bandwidth_bytes_per_s", m.bandwidth)("latency_s", m.latency)("energy_per_byte_J", m.energy)(
                  "double_buffered", m.doubleBuffered)("efficiency", m.efficiency)("origins", m.origins)
                  .maybe("sector_bytes", m.sector));
}
bool fromJSON(const json::Value &e, Core &c, Path p) {
  std::string mapping;
  if (!bool(Fields(e, p)("name", c.name)("kind", c.kind)("count", c.count)("peak_flops_per_s", c.peak)("rows", c.rows)(
                "cols", c.cols)("lanes", c.lanes)("dataflow", c.dataflow)
                .narrow("reads", c.reads)("efficiency", c.efficiency)(
                    "half_performance_work_flops", c.halfPerformanceWork)("overlap_fill", c.overlapFill)(
                    "overlap_drain", c.overlapDrain)("mapping", mapping)("cycles", c.cyclesOf)("origins", c.origins)))
    return false;
  if (mapping != "split" && mapping != "per_instance" && mapping != "any")
    return p.field("mapping").report("expected split, per_instance or any"), false;
  c.perInstanceMapping = mapping == "per_instance";
  c.anyMapping = mapping == "any";
  return true;
}
bool fromJSON(const json::Value &e, Machine &m, Path p) {
  return bool(Fields(e, p)("name", m.name)("clock_hz", m.clock)("idle_W", m.idle)("tdp_W", m.tdp)(
                  "energy_per_flop_J", m.energyPerFlop)("kernel_launch_overhead_s", m.host.kernel)(
                  "host_overhead_per_microbatch_s", m.host.microbatch)("host_overhead_per_step_s", m.host.step)(
                  "cost_model", m.costModel)("origins", m.origins)("memories", m.memories)("cores", m.cores)
                  .maybe("energy_per_flop_by_type_J", m.energyPerFlopOf)
                  .maybe("area_m2", m.area.value)
                  .maybe("host_bandwidth_bytes_per_s", m.hostBandwidth)
                  .location(m.location));
}
bool fromJSON(const json::Value &e, PartCost &c, Path p) {
  return bool(Fields(e, p).narrow("core", c.core)("type", c.type)("compute_s", c.compute));
}
bool fromJSON(const json::Value &e, Tile &t, Path p) {
  return bool(Fields(e, p).narrow("memory", t.memory)("groups", t.groups)("extents", t.extents).ids("order", t.order));
}
bool fromJSON(const json::Value &e, OperationCost &c, Path p) {
  return bool(Fields(e, p)
                  .narrow("core", c.core)("time_s", c.time)("cycles", c.cycles)("compute_s", c.compute)(
                      "bytes", c.bytes)("transfer_s", c.transfer)("energy_J", c.energy)("model", c.model)(
                      "type", c.type)("bound", c.bound)("formula", c.formula)
                  .maybe("instances", c.instances)
                  .maybe("kernel_launch_overhead_s", c.floor)
                  .maybe("gap", c.gap)
                  .maybe("tiles", c.tiles)
                  .maybe("parts", c.parts));
}
namespace {
struct Alternatives {
  OperationId operation = kNone;
  std::vector<OperationCost> costs;
};
bool fromJSON(const json::Value &e, Alternatives &a, Path p) {
  return bool(Fields(e, p).narrow("operation", a.operation)("costs", a.costs));
}
/// One of the words, by its place.
template <typename E> bool word(const json::Value &e, E &out, std::initializer_list<StringLiteral> words, Path p) {
  std::optional<StringRef> text = e.getAsString();
  const auto *found = text ? find(words, *text) : words.end();
  if (found == words.end()) {
    p.report("an unknown word");
    return false;
  }
  out = static_cast<E>(found - words.begin());
  return true;
}
} // namespace
bool fromJSON(const json::Value &e, Costs &c, Path p) {
  std::vector<Alternatives> alternatives;
  if (!Fields(e, p)("assumptions", c.assumptions)("operations", c.operations).maybe("alternatives", alternatives))
    return false;
  for (Alternatives &one : alternatives)
    c.alternatives[one.operation] = std::move(one.costs);
  return true;
}
bool fromJSON(const json::Value &e, ProofStep::Rule &out, Path p) {
  return word(e, out, {"chain", "pair", "compulsory", "energy", "set"}, p);
}
bool fromJSON(const json::Value &e, SchedulingBound::Kind &out, Path p) {
  return word(e, out, {"trivial", "path", "set", "windows", "solver"}, p);
}
bool fromJSON(const json::Value &e, ProofStep &s, Path p) {
  if (!Fields(e, p)("rule", s.rule)
           .narrow("task", s.task)
           .narrow("other", s.other)("early", s.early)("time", s.time)("from", s.from)("to", s.to))
    return false;
  return !e.getAsObject()->get("tasks") || bool(Fields(e, p).ids("tasks", s.tasks));
}
bool fromJSON(const json::Value &e, SchedulingBound &b, Path p) {
  return bool(Fields(e, p)("value_ps", b.value)("kind", b.kind)
                  .ids("tasks", b.tasks)
                  .narrow("resource", b.resource)("steps", b.steps)("proof", b.proof)
                  .maybe("unit_ps", b.unit));
}
bool fromJSON(const json::Value &e, Slot &s, Path p) {
  return bool(Fields(e, p)
                  .narrow("operation", s.operation)
                  .narrow("core", s.core)
                  .narrow("instance", s.instance)("start_ps", s.start)("duration_ps", s.duration));
}
bool fromJSON(const json::Value &e, RegionSchedule &r, Path p) {
  return bool(Fields(e, p)("length_ps", r.length)("critical_path_ps", r.criticalPath)("resource_bound_ps",
                                                                                      r.resourceBound)("slots", r.slots)
                  .maybe("proven", r.proven));
}
bool fromJSON(const json::Value &e, Schedule &s, Path p) {
  return bool(Fields(e, p)("step_ps", s.step)("bound_ps", s.bound)("proof", s.proof)("regions", s.regions)
                  .maybe("stopped", s.stopped));
}
bool fromJSON(const json::Value &e, MemoryPoint &m, Path p) {
  std::vector<int64_t> bytes;
  if (!Fields(e, p)("time_ps", m.time)("bytes", bytes))
    return false;
  if (bytes.size() != kCategories) {
    p.field("bytes").report("expected one number per memory category");
    return false;
  }
  std::copy(bytes.begin(), bytes.end(), m.bytes.begin());
  return true;
}
bool fromJSON(const json::Value &e, MemoryUse &m, Path p) {
  std::map<std::string, int64_t> atPeak;
  if (!Fields(e, p)("peak_bytes", m.peak)("when_ps", m.when)("at_peak", atPeak)("timeline", m.timeline))
    return false;
  for (unsigned c = 0; c < kCategories; ++c) {
    auto it = atPeak.find(name(static_cast<Category>(c)));
    if (it == atPeak.end()) {
      p.field("at_peak").report("a memory category is missing");
      return false;
    }
    m.atPeak[c] = it->second;
  }
  return true;
}
bool fromJSON(const json::Value &e, Timing &t, Path p) {
  std::vector<Picoseconds> pair;
  if (!json::fromJSON(e, pair, p))
    return false;
  if (pair.size() != 2) {
    p.report("expected earliest and latest start");
    return false;
  }
  t = {pair[0], pair[1]};
  return true;
}
bool fromJSON(const json::Value &e, Conflict &c, Path p) {
  return bool(Fields(e, p)("constraint", c.constraint)("file", c.file).narrow("line", c.line)("detail", c.detail));
}
bool fromJSON(const json::Value &e, Plan &plan, Path p) {
  std::string command, status;
  int64_t schema = 0;
  if (!Fields(e, p)("command", command)("schema", schema))
    return false;
  if (command != "compile") {
    p.field("command").report("not a plan: expected 'compile'");
    return false;
  }
  if (schema != 2) {
    p.field("schema").report("written by another version of accord: expected 2");
    return false;
  }
  const json::Object &o = *e.getAsObject();
  const json::Value *objective = o.get("objective"), *bound = o.get("bound");
  if (!objective || !bound) {
    p.field(objective ? "bound" : "objective").report("missing value");
    return false;
  }
  if (!Fields(*objective, p.field("objective"))("name", plan.objective)("value", plan.objectiveValue) ||
      !Fields(*bound, p.field("bound"))("value", plan.objectiveBound))
    return false;
  if (!Fields(e, p)("version", plan.version)("status", status)("job", plan.job)("batch", plan.batch)(
           "memory", plan.memory)("assumptions", plan.assumptions)("conflict", plan.conflicts)
           .ids("critical_path", plan.criticalPath)("graph", plan.graph)("machine", plan.machine)("costs", plan.costs)(
               "schedule", plan.schedule)("timing_ps", plan.timing))
    return false;
  if (status != "done" && status != "infeasible") {
    p.field("status").report("expected 'done' or 'infeasible'");
    return false;
  }
  plan.feasible = status == "done";
  return true;
}

/// lib/planning/output/PlanJsonCheck.cpp
bool checkIndices(const Plan &plan, Path p);
bool checkGraph(const WorkGraph &graph, Path p);

bool readWorkGraph(const json::Value &value, WorkGraph &graph, Path p) {
  return fromJSON(value, graph, p) && checkGraph(graph, p);
}

Expected<Plan> planFromJson(StringRef text, StringRef path) {
  Expected<json::Value> value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("plan");
  Plan plan;
  if (fromJSON(*value, plan, root) && checkIndices(plan, root))
    return plan;
  return createStringError("%s: %s", path.str().c_str(), toString(root.getError()).c_str());
}

} // namespace accord
