// Reading a certificate that anybody may have written.
#include "lib/placement/output/PlacementDocumentCheck.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/StrictFields.h"

using namespace llvm;
namespace accord {
using json::Path;
namespace {

using Fields = StrictFields;
constexpr int64_t kMaxIds = std::numeric_limits<uint32_t>::max() - 1;

void location(Fields &fields, SourceLocation &at) {
  fields.text("file", at.file, false)
      .integer("line", at.line, 0, kMaxIds, false)
      .integer("column", at.column, 0, kMaxIds, false);
}
bool text(const json::Value &value, Path at, std::string &out) {
  auto text = value.getAsString();
  if (text)
    out = text->str();
  else
    at.report("expected string");
  return text.has_value();
}
bool id(const json::Value &value, Path at, uint32_t &out) {
  int64_t wide = 0;
  bool ok = Fields::readInteger(value, at, wide, 0, kMaxIds);
  out = static_cast<uint32_t>(wide);
  return ok;
}
bool integer(const json::Value &value, Path at, int64_t &out) {
  return Fields::readInteger(value, at, out, 0, int64_t(1) << 61);
}
/// An array of so many numbers, which come one by one.
template <typename T, typename One>
bool tuple(const json::Value &value, Path at, std::initializer_list<T *> out, StringLiteral what, One one) {
  const json::Array *array = value.getAsArray();
  if (!array || array->size() != out.size()) {
    at.report(what);
    return false;
  }
  unsigned i = 0;
  for (T *item : out) {
    Path element = at.index(i);
    if (!one((*array)[i++], element, *item))
      return false;
  }
  return true;
}
bool read(const json::Value &value, Path at, AlphaBetaModel &out) {
  return tuple<double>(value, at, {&out.latency, &out.perByte}, "expected [latency, per byte]", Fields::readNumber);
}
bool readWays(const json::Value &value, Path at, std::vector<AlphaBetaModel> &out) {
  return Fields::readList(value, at, out,
                          [](const json::Value &v, Path p, AlphaBetaModel &way) { return read(v, p, way); });
}
template <typename E, size_t N>
bool named(const json::Value &value, Path at, E &out, const E (&all)[N], StringLiteral expected) {
  if (auto text = value.getAsString())
    for (E one : all)
      if (*text == name(one))
        return out = one, true;
  at.report(expected);
  return false;
}
bool read(const json::Value &value, Path at, PipelineSchedule &out) {
  auto text = value.getAsString();
  const ScheduleModel *found = text ? findSchedule(*text) : nullptr;
  if (!found) {
    at.report("expected a schedule of pipelines");
    return false;
  }
  out = found->schedule;
  return true;
}
bool read(const json::Value &value, Path at, PlacementObjective &out) {
  auto text = value.getAsString();
  const ObjectiveFormula *found = text ? findObjective(*text) : nullptr;
  if (!found) {
    at.report("expected an objective of placements");
    return false;
  }
  out = found->objective;
  return true;
}

bool read(const json::Value &value, Path at, PlacementProblem::GroupRange &range) {
  return tuple<int64_t>(value, at, {&range.min, &range.max}, "expected [min, max]", integer);
}
bool read(const json::Value &value, Path at, PlacementProblem::DeviceType &k) {
  Fields f(value, at);
  f.text("name", k.name)
      .integer("devices", k.devices, 1, kMaxIds)
      .integer("devices_per_node", k.devicesPerNode, 1, kMaxIds)
      .integer("memory_bytes", k.memory)
      .number("idle_W", k.idleWatts)
      .number("tdp_W", k.tdpWatts)
      .number("price_per_hour", k.pricePerHour)
      .integer("host_memory_bytes", k.hostMemory, 0, int64_t(1) << 61, false)
      .read(
          "counted",
          [&](const json::Value &v, Path p) {
            Fields at(v, p);
            location(at, k.counted);
            return at.end();
          },
          false);
  location(f, k.location);
  return f.end();
}

bool read(const json::Value &value, Path at, PlacementProblem::PlacementConstraint &constraint) {
  Fields f(value, at);
  f.text("text", constraint.text)
      .list("device_types", constraint.deviceTypes, id, false)
      .read(
          "stage", [&](const json::Value &v, Path p) { return integer(v, p, constraint.stage.emplace()); }, false)
      .flag("same_stage", constraint.sameStage, false);
  location(f, constraint.location);
  return f.end();
}

bool read(const json::Value &value, Path at, PlacementProblem::ParallelConfig &o) {
  Fields f(value, at);
  auto sync = [](const json::Value &v, Path p, PlacementProblem::GradientSync &s) {
    Fields fields(v, p);
    fields.integer("replicas_per_node", s.replicasPerNode, 1).read("alternatives", [&](const json::Value &w, Path q) {
      return readWays(w, q, s.alternatives);
    });
    return fields.end();
  };
  f.integer("device_type", o.deviceType, 0, kMaxIds)
      .integer("tensor", o.tensor, 1, kMaxIds)
      .flag("sequence", o.sequence)
      .integer("data", o.data, 1, kMaxIds)
      .integer("zero", o.zero, 0, 3)
      .integer("microbatch", o.microbatch, 1, kMaxIds)
      .list("gradient_syncs", o.gradientSyncs, sync, false)
      .list("expert_gradient_syncs", o.expertGradientSyncs, sync, false)
      .read(
          "gather", [&](const json::Value &v, Path p) { return readWays(v, p, o.gather); }, false)
      .integer("expert", o.expert, 1, kMaxIds, false)
      .read(
          "tables",
          [&](const json::Value &v, Path p) {
            return named(
                v, p, o.tables,
                {PlacementProblem::Tables::Whole, PlacementProblem::Tables::Rows, PlacementProblem::Tables::Columns},
                "expected whole, rows or columns");
          },
          false)
      .flag("ring_overlap", o.ringOverlap, false)
      .flag("host_states", o.hostStates, false)
      .flag("host_weights", o.hostWeights, false)
      .read(
          "order",
          [&](const json::Value &v, Path p) {
            return named(
                v, p, o.order,
                {PlacementProblem::RankOrder::TensorDataPipeline, PlacementProblem::RankOrder::TensorPipelineData},
                "expected tensor_data_pipeline or tensor_pipeline_data");
          },
          false);
  return f.end();
}

bool read(const json::Value &value, Path at, std::optional<PlacementProblem::Cost> &out) {
  if (value.getAsNull())
    return true;
  PlacementProblem::Cost &c = out.emplace();
  auto recomputeChoice = [](const json::Value &v, Path p, PlacementProblem::RecomputeChoice &k) {
    return Fields(v, p)
        .text("policy", k.policy)
        .integer("recompute_time", k.recomputeTime, 0, int64_t(1) << 61, false)
        .integer("activations", k.activations, 0, int64_t(1) << 61, false)
        .integer("workspace", k.workspace, 0, int64_t(1) << 61, false)
        .integer("host_activations", k.hostActivations, 0, int64_t(1) << 61, false)
        .end();
  };
  Fields f(value, at);
  auto maybe = [&](StringLiteral key, int64_t &field) { f.integer(key, field, 0, int64_t(1) << 61, false); };
  maybe("forward", c.forward);
  maybe("backward", c.backward);
  maybe("weight", c.weight);
  maybe("update", c.update);
  maybe("static_memory", c.staticMemory);
  maybe("weight_memory", c.weightMemory);
  maybe("gradient_memory", c.gradientMemory);
  maybe("gradients", c.gradients);
  maybe("expert_gradients", c.expertGradients);
  maybe("weights", c.weights);
  maybe("host_static_memory", c.hostStaticMemory);
  maybe("tied", c.tied);
  return f.number("joules", c.joules, false)
      .number("recompute_joules", c.recomputeJoules, false)
      .list("recompute_choices", c.recomputeChoices, recomputeChoice)
      .check("recompute_choices", !c.recomputeChoices.empty(), "expected at least one")
      .end();
}

bool read(const json::Value &value, Path at, PlacementProblem::LayerClass &c) {
  return Fields(value, at)
      .text("name", c.name)
      .list("costs", c.costs,
            [](const json::Value &v, Path p, std::optional<PlacementProblem::Cost> &cost) { return read(v, p, cost); })
      .end();
}

bool read(const json::Value &value, Path at, PlacementProblem::Layer &l) {
  Fields f(value, at);
  f.text("name", l.name)
      .integer("class", l.of, 0, kMaxIds)
      .list("placement_constraints", l.placementConstraints, id, false);
  location(f, l.location);
  return f.end();
}

bool read(const json::Value &value, Path at, PlacementProblem::Edge &e) {
  int64_t from = 0, to = 0;
  bool ok = tuple<int64_t>(value, at, {&from, &to, &e.bytes}, "expected [from, to, bytes]", integer);
  e.from = static_cast<uint32_t>(std::min(from, kMaxIds));
  e.to = static_cast<uint32_t>(std::min(to, kMaxIds));
  return ok;
}

bool read(const json::Value &value, Path at, PlacementProblem::Tie &tie) {
  int64_t a = 0, b = 0;
  bool ok = tuple<int64_t>(value, at, {&a, &b}, "expected [layer, layer]", integer);
  tie.a = static_cast<uint32_t>(std::min(a, kMaxIds));
  tie.b = static_cast<uint32_t>(std::min(b, kMaxIds));
  return ok;
}

bool read(const json::Value &value, Path at, PlacementProblem::Link &l);
bool read(const json::Value &value, Path at, Conflict &c);
bool read(const json::Value &value, Path at, Relaxation &r);

/// A list whose elements `read` knows.
template <typename T> Fields &all(Fields &fields, StringLiteral key, std::vector<T> &out) {
  return fields.list(key, out, [](const json::Value &v, Path p, T &item) { return read(v, p, item); });
}

bool read(const json::Value &value, Path at, PlacementProblem::Link &l) {
  return Fields(value, at)
      .read("intra_node", [&](const json::Value &v, Path p) { return read(v, p, l.intraNode); })
      .read("inter_node", [&](const json::Value &v, Path p) { return read(v, p, l.interNode); })
      .end();
}

bool read(const json::Value &value, Path at, PlacementProblem::Limits &l) {
  return Fields(value, at)
      .integer("step_ps", l.step, 0, int64_t(1) << 61, false)
      .number("watts", l.watts, false)
      .integer("devices", l.devices, 0, int64_t(1) << 61, false)
      .number("joules", l.joules, false)
      .number("price", l.price, false)
      .end();
}

bool read(const json::Value &value, Path at, PlacementProblem &p) {
  Fields f(value, at);
  f.text("name", p.name)
      .read("objective", [&](const json::Value &v, Path q) { return read(v, q, p.objective); })
      .number("cost_per_joule", p.costPerJoule, false)
      .read("limits", [&](const json::Value &v, Path q) { return read(v, q, p.limits); })
      .integer("batch", p.batch, 1);
  all(f, "device_types", p.deviceTypes);
  all(f, "parallel_configs", p.parallelConfigs);
  all(f, "classes", p.classes);
  all(f, "layers", p.layers);
  all(f, "edges", p.edges);
  all(f, "links", p.links);
  all(f, "schedules", p.schedules);
  all(f, "groups", p.groups);
  f.read("uniform_class", [&](const json::Value &v, Path p_) { return id(v, p_, p.uniformClass.emplace()); }, false);
  f.list("virtual_stages", p.virtualStages, integer)
      .flag("uniform_config_per_device_type", p.uniformConfigPerDeviceType)
      .flag("blocking_transfers", p.blockingTransfers)
      .number("overlap_fraction", p.overlapFraction)
      .number("max_overlap", p.maxOverlap)
      .integer("host_overhead_per_microbatch_ps", p.hostOverheadPerMicrobatch)
      .integer("host_overhead_per_step_ps", p.hostOverheadPerStep)
      .integer("min_step_ps", p.minStep, 0, int64_t(1) << 61, false)
      .list(
          "ties", p.ties, [](const json::Value &v, Path q, PlacementProblem::Tie &tie) { return read(v, q, tie); },
          false)
      .list(
          "placement_constraints", p.placementConstraints,
          [](const json::Value &v, Path q, PlacementProblem::PlacementConstraint &constraint) {
            return read(v, q, constraint);
          },
          false);
  location(f, p.location);
  return f.end() && checkIndices(p, at);
}

bool read(const json::Value &value, Path at, Placement &p) {
  return Fields(value, at)
      .read("schedule", [&](const json::Value &v, Path q) { return read(v, q, p.schedule); })
      .integer("virtual_stages", p.virtualStages, 1)
      .integer("microbatches", p.microbatches, 1)
      .list("stages", p.stages,
            [](const json::Value &v, Path q, PlacedStage &s) {
              return Fields(v, q)
                  .integer("parallel_config", s.parallelConfig, 0, kMaxIds)
                  .list("layers", s.layers, id)
                  .list("recompute_choices", s.recomputeChoices, id)
                  .end();
            })
      .end();
}

bool read(const json::Value &value, Path at, PlanMetrics &w) {
  return Fields(value, at)
      .integer("step_ps", w.step)
      .list("times_ps", w.times,
            [](const json::Value &v, Path p, StageTimes &t) {
              return tuple<int64_t>(v, p, {&t.forward, &t.backward, &t.weight, &t.send, &t.stepTail},
                                    "expected [forward, backward, weight, send, finish]", integer);
            })
      .list("memory_bytes", w.memory, integer)
      .list("host_bytes", w.host, integer)
      .list("in_flight", w.inFlight, integer)
      .number("joules", w.joules)
      .flag("fits", w.fits)
      .integer("devices", w.devices)
      .number("value", w.value)
      .number("price", w.price)
      .end();
}

bool read(const json::Value &value, Path at, PlacementResult &r, const PlacementProblem &problem) {
  auto count = [](uint64_t &out) {
    return [&out](const json::Value &v, Path p) {
      auto number = v.getAsUINT64();
      if (number)
        out = *number;
      else
        p.report("expected integer that is not negative");
      return number.has_value();
    };
  };
  Fields f(value, at);
  f.number("value", r.value)
      .read("bound",
            [&](const json::Value &v, Path p) {
              if (v.getAsNull())
                return r.bound = std::numeric_limits<double>::infinity(), true;
              return Fields::readNumber(v, p, r.bound);
            })
      .text("proof", r.proof)
      .read("examined", count(r.examined))
      .read("pruned", count(r.pruned))
      .read(
          "plan", [&](const json::Value &v, Path p) { return read(v, p, r.plan.emplace()); }, false)
      .read("metrics", [&](const json::Value &v, Path p) { return read(v, p, r.metrics); }, r.plan.has_value());
  return f.end() && (!r.plan || checkPlan(problem, *r.plan, r.metrics, at));
}

bool read(const json::Value &value, Path at, Conflict &c) {
  return Fields(value, at)
      .text("constraint", c.constraint)
      .text("file", c.file)
      .integer("line", c.line, 0, kMaxIds)
      .text("detail", c.detail)
      .end();
}

bool read(const json::Value &value, Path at, Relaxation &r) {
  return Fields(value, at).text("what", r.what).number("value", r.value).end();
}

bool read(const json::Value &value, Path at, PlacementPlan &plan) {
  int64_t schema = 0;
  std::string kind;
  Fields f(value, at);
  f.integer("schema", schema, 2, 2)
      .text("kind", kind)
      .check("kind", kind == "placement", "expected placement")
      .text("version", plan.version)
      .text("job", plan.job)
      .text("model", plan.model)
      .text("cluster", plan.cluster)
      .text("precision", plan.precision)
      .text("optimizer", plan.optimizer)
      .integer("parameters", plan.parameters)
      .number("model_flops", plan.modelFlops)
      .list("peak_flops", plan.peakFlops, Fields::readNumber)
      .read("problem", [&](const json::Value &v, Path p) { return read(v, p, plan.problem); })
      .read("result", [&](const json::Value &v, Path p) { return read(v, p, plan.result, plan.problem); });
  all(f, "conflict", plan.conflicts);
  f.list("relaxations", plan.relaxations, text)
      .list("runners_up", plan.runnersUp, [&](const json::Value &v, Path p, RunnerUp &r) {
        return Fields(v, p)
                   .read("plan", [&](const json::Value &w, Path q) { return read(w, q, r.plan); })
                   .read("metrics", [&](const json::Value &w, Path q) { return read(w, q, r.metrics); })
                   .end() &&
               checkPlan(plan.problem, r.plan, r.metrics, p);
      });
  all(f, "what_if", plan.whatIf);
  f.list("pareto_front", plan.front,
         [&](const json::Value &v, Path p, Tradeoff &t) {
           return Fields(v, p)
                      .text("what", t.what)
                      .read("plan", [&](const json::Value &w, Path q) { return read(w, q, t.plan); })
                      .read("metrics", [&](const json::Value &w, Path q) { return read(w, q, t.metrics); })
                      .end() &&
                  checkPlan(plan.problem, t.plan, t.metrics, p);
         })
      .number("samples", plan.samples)
      .integer("sequence", plan.sequence)
      .list("sizes", plan.sizes, [](const json::Value &v, Path p, std::pair<std::string, int64_t> &size) {
        const json::Array *both = v.getAsArray();
        auto named = both && both->size() == 2 ? (*both)[0].getAsString() : std::nullopt;
        auto number = named ? (*both)[1].getAsInteger() : std::nullopt;
        if (!number)
          return p.report("expected [name, value]"), false;
        size = {named->str(), *number};
        return true;
      });
  f.list("assumptions", plan.assumptions, text);
  location(f, plan.location);
  return f.end();
}

} // namespace

bool readPlacementProblem(const json::Value &value, PlacementProblem &problem, Path path) {
  return read(value, path, problem);
}

Expected<PlacementPlan> placementFromCertificate(StringRef text, StringRef path) {
  auto value = parseJson(text, path);
  if (!value)
    return value.takeError();
  Path::Root root("placement");
  PlacementPlan plan;
  if (read(*value, Path(root), plan))
    return plan;
  return createStringError("%s: %s", path.str().c_str(), toString(root.getError()).c_str());
}

} // namespace accord
