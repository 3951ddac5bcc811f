// certificate/placement.json: the problem by index, with nothing left out that could not be found again. Zeros and
// empty lists are left out of what there are many of.
#include "lib/placement/output/PlacementDocumentCheck.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/run/output/RunJson.h"
#include "lib/support/documents/JsonText.h"

using namespace llvm;
namespace accord {
using json::Path;

constexpr int64_t kMaxIds = std::numeric_limits<uint32_t>::max() - 1;
constexpr IntegerRange kPositive{.min = 1}, kCount{1, kMaxIds};

void describe(JsonVisitor &v, AlphaBetaModel &t) { v.tuple("expected [latency, per byte]", t.latency, t.perByte); }
void describe(JsonVisitor &v, PlacementProblem::GroupRange &range) {
  v.tuple("expected [min, max]", range.min, range.max);
}
void describe(JsonVisitor &v, Tables &tables) {
  using enum Tables;
  v.oneOf(tables, {Whole, Rows, Columns}, "expected whole, rows or columns");
}
void describe(JsonVisitor &v, ContextExchange &exchange) {
  using enum ContextExchange;
  v.oneOf(exchange, {Ring, AllGather, AllToAll}, "expected ring, all_gather or all_to_all");
}
void describe(JsonVisitor &v, RankOrder &order) {
  using enum RankOrder;
  v.oneOf(order, {TensorDataPipeline, TensorPipelineData}, "expected tensor_data_pipeline or tensor_pipeline_data");
}
/// An entry of a table, by its name.
template <typename E, typename Table, typename Entry>
static void oneOf(JsonVisitor &v, E &value, const Table &table, Entry entry, StringLiteral expected) {
  SmallVector<StringRef, 8> names;
  for (const auto &one : table)
    names.push_back(entry(one).name);
  auto index = static_cast<size_t>(value);
  v.word(index, names, expected);
  if (v.reads())
    value = static_cast<E>(index);
}
void describe(JsonVisitor &v, PipelineSchedule &schedule) {
  oneOf(
      v, schedule, scheduleModels(), [](const ScheduleModel *one) -> auto & { return *one; },
      "expected a schedule of pipelines");
}
void describe(JsonVisitor &v, PlacementObjective &objective) {
  oneOf(
      v, objective, objectiveFormulas(), [](const ObjectiveFormula &one) -> auto & { return one; },
      "expected an objective of placements");
}

void describe(JsonFields &f, DeviceType &type) {
  f.field("name", type.name)
      .field("devices", type.devices, kCount)
      .field("devices_per_node", type.devicesPerNode, kCount)
      .field("memory_bytes", type.memory)
      .about("of the board, while no operation runs")
      .field("idle_W", type.idleWatts)
      .about("of its share of its server's host and fans")
      .maybe("host_W", type.hostWatts)
      .field("tdp_W", type.tdpWatts)
      .field("price_per_hour", type.pricePerHour)
      .maybe("host_memory_bytes", type.hostMemory)
      .maybeIf(!type.counted.file.empty(), "counted", type.counted, describeLocation);
  describeLocation(f, type.location);
}

void describe(JsonFields &f, PlacementProblem::PlacementConstraint &constraint) {
  f.field("text", constraint.text)
      .maybe("device_types", constraint.deviceTypes)
      .maybe("stage", constraint.stage)
      .maybe("same_stage", constraint.sameStage);
  describeLocation(f, constraint.location);
}

void describe(JsonFields &f, GradientSync &sync) {
  f.field("replicas_per_node", sync.replicasPerNode, kPositive).field("alternatives", sync.alternatives);
}

void describe(JsonFields &f, ParallelConfig &config) {
  f.field("device_type", config.deviceType)
      .field("tensor", config.tensor, kCount)
      .field("sequence", config.sequence)
      .field("data", config.data, kCount)
      .field("zero", config.zero, IntegerRange{0, 3})
      .field("microbatch", config.microbatch, kCount)
      .maybe("gradient_syncs", config.gradientSyncs)
      .maybe("expert_gradient_syncs", config.expertGradientSyncs)
      .maybe("gather", config.gather)
      .maybeIf(config.context > 1, "context", config.context, kCount)
      .maybeIf(config.context > 1, "context_exchange", config.contextExchange)
      .maybeIf(config.expert > 1, "expert", config.expert, kCount)
      .maybeIf(config.expertTensor > 1, "expert_tensor", config.expertTensor, kCount)
      .maybeIf(config.tables != Tables::Whole, "tables", config.tables)
      .maybe("ring_overlap", config.ringOverlap)
      .maybe("host_states", config.hostStates)
      .maybe("host_weights", config.hostWeights)
      .about("a plan with it has one group of devices, and what layers have in common is in the first one's costs")
      .maybe("one_group", config.oneGroup)
      .maybeIf(config.order != RankOrder::TensorDataPipeline, "order", config.order);
}

void describe(JsonFields &f, RecomputeChoice &choice) {
  f.field("policy", choice.policy)
      .maybe("recompute_time", choice.recomputeTime)
      .maybe("activations", choice.activations)
      .maybe("workspace", choice.workspace)
      .maybe("host_activations", choice.hostActivations);
}

void describe(JsonFields &f, PlacementProblem::Cost &cost) {
  f.maybe("forward", cost.forward)
      .maybe("backward", cost.backward)
      .maybe("weight", cost.weight)
      .maybe("update", cost.update)
      .maybe("static_memory", cost.staticMemory)
      .maybe("weight_memory", cost.weightMemory)
      .maybe("gradient_memory", cost.gradientMemory)
      .maybe("gradients", cost.gradients)
      .maybe("expert_gradients", cost.expertGradients)
      .maybe("weights", cost.weights)
      .maybe("host_static_memory", cost.hostStaticMemory)
      .maybe("tied", cost.tied)
      .maybe("joules", cost.joules)
      .maybe("recompute_joules", cost.recomputeJoules)
      .field("recompute_choices", cost.recomputeChoices)
      .check("recompute_choices", !cost.recomputeChoices.empty(), "expected at least one");
}

void describe(JsonFields &f, LayerClass &c) { f.field("name", c.name).field("costs", c.costs); }

void describe(JsonFields &f, PlacementProblem::Layer &layer) {
  f.field("name", layer.name).field("class", layer.of).maybe("placement_constraints", layer.placementConstraints);
  describeLocation(f, layer.location);
}

/// An index that is checked once all layers are known; beyond all of them it is the largest.
static auto layerIndex(uint32_t &index) {
  return [&index](JsonVisitor &v) {
    int64_t wide = index;
    visitValue(v, wide);
    if (v.reads())
      index = static_cast<uint32_t>(std::min(wide, kMaxIds));
  };
}
void describe(JsonVisitor &v, PlacementProblem::Edge &edge) { // bytes of a sample
  v.tuple("expected [from, to, bytes]", layerIndex(edge.from), layerIndex(edge.to), edge.bytes);
}
void describe(JsonVisitor &v, PlacementProblem::Tie &tie) {
  v.tuple("expected [layer, layer]", layerIndex(tie.a), layerIndex(tie.b));
}

void describe(JsonFields &f, PlacementProblem::Link &link) {
  f.field("intra_node", link.intraNode).field("inter_node", link.interNode);
}

void describe(JsonFields &f, PlacementProblem::Limits &limits) {
  f.maybe("step_ps", limits.step)
      .maybe("watts", limits.watts)
      .maybe("devices", limits.devices)
      .maybe("joules", limits.joules)
      .maybe("price", limits.price);
}

static void describeProblem(JsonFields &f, PlacementProblem &p) {
  f.field("name", p.name)
      .field("objective", p.objective)
      .maybeIf(p.costPerJoule != 1, "cost_per_joule", p.costPerJoule)
      .field("limits", p.limits)
      .field("batch", p.batch, kPositive)
      .maybeIf(p.numExperts > 1, "experts", p.numExperts, kPositive)
      .field("device_types", p.deviceTypes)
      .field("parallel_configs", p.parallelConfigs)
      .field("classes", p.classes)
      .field("layers", p.layers)
      .field("edges", p.edges)
      .field("links", p.links)
      .field("schedules", p.schedules)
      .field("groups", p.groups)
      .maybe("uniform_class", p.uniformClass)
      .field("virtual_stages", p.virtualStages)
      .field("uniform_config_per_device_type", p.uniformConfigPerDeviceType)
      .field("blocking_transfers", p.blockingTransfers)
      .field("overlap_fraction", p.overlapFraction)
      .field("max_overlap", p.maxOverlap)
      .field("host_overhead_per_microbatch_ps", p.hostOverheadPerMicrobatch)
      .field("host_overhead_per_step_ps", p.hostOverheadPerStep)
      .maybe("min_step_ps", p.minStep)
      .maybe("ties", p.ties)
      .maybe("placement_constraints", p.placementConstraints);
  describeLocation(f, p.location);
}
void describe(JsonVisitor &v, PlacementProblem &problem) {
  v.object([&](JsonFields &f) { describeProblem(f, problem); });
  v.check([&](Path at) { return checkIndices(problem, at); });
}

void describe(JsonFields &f, PlacedStage &stage) {
  f.field("parallel_config", stage.parallelConfig)
      .field("layers", stage.layers)
      .field("recompute_choices", stage.recomputeChoices);
}
void describe(JsonFields &f, Placement &plan) {
  f.field("schedule", plan.schedule)
      .field("virtual_stages", plan.virtualStages, kPositive)
      .field("microbatches", plan.microbatches, kPositive)
      .field("stages", plan.stages);
}

void describe(JsonVisitor &v, StageTimes &t) {
  v.tuple("expected [forward, backward, weight, send, finish]", t.forward, t.backward, t.weight, t.send, t.stepTail);
}
void describe(JsonFields &f, PlanMetrics &metrics) {
  f.field("step_ps", metrics.step)
      .field("times_ps", metrics.times)
      .field("memory_bytes", metrics.memory)
      .field("host_bytes", metrics.host)
      .field("in_flight", metrics.inFlight)
      .field("joules", metrics.joules)
      .field("fits", metrics.fits)
      .field("devices", metrics.devices)
      .field("value", metrics.value)
      .field("price", metrics.price);
}

void describe(JsonFields &f, PlacementResult &result) {
  f.field("value", result.value)
      // An infinite bound, that nothing fits, is null.
      .field("bound", result.bound, [](JsonVisitor &v, double &bound) { v.numberOrNull(bound); })
      .field("proof", result.proof)
      .field("examined", result.examined, [](JsonVisitor &v, uint64_t &count) { v.natural(count); })
      .field("pruned", result.pruned, [](JsonVisitor &v, uint64_t &count) { v.natural(count); })
      .maybe("plan", result.plan);
  f.visit("metrics", result.plan.has_value(), result.plan.has_value(),
          [&](JsonVisitor &v) { visitValue(v, result.metrics); });
}

void describe(JsonFields &f, Relaxation &relaxation) {
  f.field("what", relaxation.what).field("value", relaxation.value);
}

void describe(JsonFields &f, DeviceMemory::Type &type) {
  f.field("capacity_bytes", type.capacity).maybe("limit_bytes", type.limit);
}
void describe(JsonFields &f, DeviceMemory &memory) {
  f.field("framework", memory.framework)
      .field("reserved_ratio", memory.reservedRatio)
      .field("context_bytes", memory.context)
      .field("communication_bytes", memory.communication)
      .field("bucket_bytes", memory.buckets)
      .field("margin", memory.margin)
      .field("confidence", memory.confidence)
      .maybe("fp32_gradients", memory.fp32Gradients)
      .maybe("fp32_reductions", memory.fp32Reductions)
      .field("vocabulary_multiple", memory.vocabularyMultiple, kPositive)
      .maybe("vocabulary_per_tensor", memory.vocabularyPerTensor)
      .field("types", memory.types)
      .check("reserved_ratio", memory.reservedRatio >= 1, "expected at least 1");
}

void describe(JsonVisitor &v, LinkTraffic::Kind &kind) {
  using enum LinkTraffic::Kind;
  v.oneOf(kind, {Tensor, Context, Expert, Tables, Data, Pipeline, Host}, "expected what bytes are sent for");
}
void describe(JsonFields &f, LinkTraffic::Link &link) {
  f.field("name", link.name)
      .field("device_type", link.deviceType)
      .field("devices", link.devices, kPositive)
      .field("bytes_per_s", link.bandwidth);
}
void describe(JsonVisitor &v, LinkTraffic::Flow &flow) {
  v.tuple("expected [group, kind, link, bytes]", flow.group, flow.kind, flow.link, flow.bytes);
}
static void describeTraffic(JsonFields &f, LinkTraffic &traffic, const PlacementPlan &plan) {
  f.field("links", traffic.links).field("flows", traffic.flows);
  if (!f.reads())
    return;
  f.check("links",
          all_of(traffic.links,
                 [&](const LinkTraffic::Link &link) { return link.deviceType < plan.problem.deviceTypes.size(); }),
          "expected links of the problem's device types")
      .check("flows",
             plan.result.plan && all_of(traffic.flows,
                                        [&](const LinkTraffic::Flow &flow) {
                                          return flow.group < plan.result.plan->groups() &&
                                                 flow.link < traffic.links.size() && flow.bytes >= 0;
                                        }),
             "expected bytes that groups of the plan send over these links");
}

void describe(JsonFields &f, PlacementPlan &plan) {
  int64_t schema = 2;
  auto checkedPlan = [&](JsonVisitor &v, Placement &placement, PlanMetrics &metrics, std::string *what, double *bound) {
    v.object([&](JsonFields &g) {
      if (what)
        g.field("what", *what);
      g.field("plan", placement).field("metrics", metrics);
      if (bound)
        g.maybe("bound", *bound);
    });
    v.check([&](Path at) { return checkPlan(plan.problem, placement, metrics, at); });
  };
  f.field("schema", schema, IntegerRange{2, 2})
      .constant("kind", "placement", "expected placement")
      .field("version", plan.version)
      .field("job", plan.job)
      .field("model", plan.model)
      .field("cluster", plan.cluster)
      .field("precision", plan.precision)
      .field("optimizer", plan.optimizer)
      .field("parameters", plan.parameters)
      .field("model_flops", plan.modelFlops)
      .field("peak_flops", plan.peakFlops)
      .field("problem", plan.problem)
      .field("result", plan.result,
             [&](JsonVisitor &v, PlacementResult &result) {
               v.object([&](JsonFields &g) { describe(g, result); });
               v.check(
                   [&](Path at) { return !result.plan || checkPlan(plan.problem, *result.plan, result.metrics, at); });
             })
      .field("conflict", plan.conflicts)
      .field("relaxations", plan.relaxations)
      .field("runners_up", plan.runnersUp,
             [&](JsonVisitor &v, RunnerUp &r) { checkedPlan(v, r.plan, r.metrics, nullptr, &r.bound); })
      .field("what_if", plan.whatIf)
      .field("pareto_front", plan.front,
             [&](JsonVisitor &v, Tradeoff &t) { checkedPlan(v, t.plan, t.metrics, &t.what, nullptr); })
      .field("samples", plan.samples)
      .field("sequence", plan.sequence)
      .field("sizes", plan.sizes,
             [](JsonVisitor &v, std::pair<std::string, int64_t> &size) {
               v.custom([&] { return json::Array{jsonString(size.first), size.second}; },
                        [&](const json::Value &value, Path at) {
                          const json::Array *both = value.getAsArray();
                          auto named = both && both->size() == 2 ? (*both)[0].getAsString() : std::nullopt;
                          auto number = named ? (*both)[1].getAsInteger() : std::nullopt;
                          if (!number)
                            return at.report("expected [name, value]"), false;
                          size = {named->str(), *number};
                          return true;
                        });
             })
      .maybe("architecture", plan.architecture)
      .maybe("step_time_estimate", plan.estimate)
      .maybe("traffic", plan.traffic, [&](JsonFields &g, LinkTraffic &traffic) { describeTraffic(g, traffic, plan); })
      .field("assumptions", plan.assumptions)
      .maybe("device_memory", plan.deviceMemory)
      .check("device_memory", !plan.deviceMemory || plan.deviceMemory->types.size() == plan.problem.deviceTypes.size(),
             "expected as many types as devices have");
  describeRun(f, plan.run);
  describeLocation(f, plan.location);
}

json::Value placementCertificate(const PlacementPlan &plan) { return toDocument(plan); }

Expected<PlacementPlan> placementFromCertificate(StringRef text, StringRef path) {
  return readCertificate<PlacementPlan>(text, path, "placement");
}

} // namespace accord
