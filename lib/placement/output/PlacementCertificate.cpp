// certificate/placement.json: the problem by index, with nothing left out that could not be found
// again. Zeros and empty lists are left out of what there are many of.
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/documents/JsonLists.h"

using namespace llvm;
namespace accord {
namespace {

template <typename T> void some(json::Object &o, StringRef key, T value) {
  if (value != T())
    o[key.str()] = value;
}
void location(json::Object &o, const SourceLocation &at) {
  if (at.file.empty())
    return;
  o["file"] = jsonString(at.file);
  o["line"] = static_cast<int64_t>(at.line);
  o["column"] = static_cast<int64_t>(at.column);
}

/// [latency, per byte].
json::Value write(const AlphaBetaModel &t) { return json::Array{t.latency, t.perByte}; }
json::Array write(const std::vector<AlphaBetaModel> &alternatives) {
  return list(alternatives, [](const AlphaBetaModel &one) { return write(one); });
}

json::Value write(const PlacementProblem::DeviceType &k) {
  json::Object o{{"name", jsonString(k.name)},      {"devices", k.devices},  {"devices_per_node", k.devicesPerNode},
                 {"memory_bytes", k.memory},        {"idle_W", k.idleWatts}, {"tdp_W", k.tdpWatts},
                 {"price_per_hour", k.pricePerHour}};
  some(o, "host_memory_bytes", k.hostMemory);
  location(o, k.location);
  if (!k.counted.file.empty()) {
    json::Object at;
    location(at, k.counted);
    o["counted"] = std::move(at);
  }
  return o;
}

json::Value write(const PlacementProblem::PlacementConstraint &constraint) {
  json::Object o{{"text", jsonString(constraint.text)}};
  if (!constraint.deviceTypes.empty())
    o["device_types"] = ids(constraint.deviceTypes);
  if (constraint.stage)
    o["stage"] = *constraint.stage;
  if (constraint.sameStage)
    o["same_stage"] = true;
  location(o, constraint.location);
  return o;
}

json::Value write(const PlacementProblem::ParallelConfig &f) {
  json::Object o{{"device_type", static_cast<int64_t>(f.deviceType)},
                 {"tensor", f.tensor},
                 {"sequence", f.sequence},
                 {"data", f.data},
                 {"zero", f.zero},
                 {"microbatch", f.microbatch}};
  auto gradientSyncs = [&](const char *key, const std::vector<PlacementProblem::GradientSync> &all) {
    if (!all.empty())
      o[key] = list(all, [](const PlacementProblem::GradientSync &s) {
        return json::Value(
            json::Object{{"replicas_per_node", s.replicasPerNode}, {"alternatives", write(s.alternatives)}});
      });
  };
  gradientSyncs("gradient_syncs", f.gradientSyncs);
  gradientSyncs("expert_gradient_syncs", f.expertGradientSyncs);
  if (!f.gather.empty())
    o["gather"] = write(f.gather);
  if (f.expert > 1)
    o["expert"] = f.expert;
  if (f.tables != PlacementProblem::Tables::Whole)
    o["tables"] = name(f.tables);
  some(o, "ring_overlap", f.ringOverlap);
  some(o, "host_states", f.hostStates);
  some(o, "host_weights", f.hostWeights);
  if (f.order != PlacementProblem::RankOrder::TensorDataPipeline)
    o["order"] = name(f.order);
  return o;
}

json::Value write(const std::optional<PlacementProblem::Cost> &cost) {
  if (!cost)
    return nullptr;
  json::Object o;
  some(o, "forward", cost->forward);
  some(o, "backward", cost->backward);
  some(o, "weight", cost->weight);
  some(o, "update", cost->update);
  some(o, "static_memory", cost->staticMemory);
  some(o, "weight_memory", cost->weightMemory);
  some(o, "gradient_memory", cost->gradientMemory);
  some(o, "gradients", cost->gradients);
  some(o, "expert_gradients", cost->expertGradients);
  some(o, "weights", cost->weights);
  some(o, "host_static_memory", cost->hostStaticMemory);
  some(o, "tied", cost->tied);
  some(o, "joules", cost->joules);
  some(o, "recompute_joules", cost->recomputeJoules);
  o["recompute_choices"] = list(cost->recomputeChoices, [](const PlacementProblem::RecomputeChoice &k) {
    json::Object recomputeChoice{{"policy", jsonString(k.policy)}};
    some(recomputeChoice, "recompute_time", k.recomputeTime);
    some(recomputeChoice, "activations", k.activations);
    some(recomputeChoice, "workspace", k.workspace);
    some(recomputeChoice, "host_activations", k.hostActivations);
    return json::Value(std::move(recomputeChoice));
  });
  return o;
}

json::Value write(const PlacementProblem::Layer &l) {
  json::Object o{{"name", jsonString(l.name)}, {"class", static_cast<int64_t>(l.of)}};
  if (!l.placementConstraints.empty())
    o["placement_constraints"] = ids(l.placementConstraints);
  location(o, l.location);
  return o;
}

json::Value write(const PlacementProblem &p) {
  json::Object limits;
  some(limits, "step_ps", p.limits.step);
  some(limits, "watts", p.limits.watts);
  some(limits, "devices", p.limits.devices);
  some(limits, "joules", p.limits.joules);
  some(limits, "price", p.limits.price);
  json::Object o{
      {"name", jsonString(p.name)},
      {"objective", name(p.objective)},
      {"limits", std::move(limits)},
      {"batch", p.batch},
      {"device_types", list(p.deviceTypes, [](const auto &deviceType) { return write(deviceType); })},
      {"parallel_configs", list(p.parallelConfigs, [](const auto &parallelConfig) { return write(parallelConfig); })},
      {"classes", list(p.classes,
                       [](const PlacementProblem::LayerClass &c) {
                         return json::Value(
                             json::Object{{"name", jsonString(c.name)},
                                          {"costs", list(c.costs, [](const auto &x) { return write(x); })}});
                       })},
      {"layers", list(p.layers, [](const auto &layer) { return write(layer); })},
      // [from, to, bytes of a sample]
      {"edges", list(p.edges,
                     [](const PlacementProblem::Edge &e) {
                       return json::Value(
                           json::Array{static_cast<int64_t>(e.from), static_cast<int64_t>(e.to), e.bytes});
                     })},
      {"links", list(p.links,
                     [](const PlacementProblem::Link &l) {
                       return json::Value(
                           json::Object{{"intra_node", write(l.intraNode)}, {"inter_node", write(l.interNode)}});
                     })},
      {"schedules", list(p.schedules, [](PipelineSchedule s) { return json::Value(name(s)); })},
      {"virtual_stages", numbers(p.virtualStages)},
      {"groups",
       list(p.groups,
            [](const PlacementProblem::GroupRange &range) { return json::Value(json::Array{range.min, range.max}); })},
      {"uniform_config_per_device_type", p.uniformConfigPerDeviceType},
      {"blocking_transfers", p.blockingTransfers},
      {"overlap_fraction", p.overlapFraction},
      {"max_overlap", p.maxOverlap},
      {"host_overhead_per_microbatch_ps", p.hostOverheadPerMicrobatch},
      {"host_overhead_per_step_ps", p.hostOverheadPerStep}};
  if (p.costPerJoule != 1)
    o["cost_per_joule"] = p.costPerJoule;
  if (p.uniformClass)
    o["uniform_class"] = static_cast<int64_t>(*p.uniformClass);
  if (!p.placementConstraints.empty())
    o["placement_constraints"] = list(p.placementConstraints, [](const auto &constraint) { return write(constraint); });
  some(o, "min_step_ps", p.minStep);
  if (!p.ties.empty())
    o["ties"] = list(p.ties, [](const PlacementProblem::Tie &tie) {
      return json::Value(json::Array{static_cast<int64_t>(tie.a), static_cast<int64_t>(tie.b)});
    });
  location(o, p.location);
  return o;
}

json::Value write(const Placement &p) {
  return json::Object{{"schedule", name(p.schedule)},
                      {"virtual_stages", p.virtualStages},
                      {"microbatches", p.microbatches},
                      {"stages", list(p.stages, [](const PlacedStage &s) {
                         return json::Value(json::Object{{"parallel_config", static_cast<int64_t>(s.parallelConfig)},
                                                         {"layers", ids(s.layers)},
                                                         {"recompute_choices", ids(s.recomputeChoices)}});
                       })}};
}

json::Value write(const PlanMetrics &w) {
  return json::Object{{"step_ps", w.step},
                      // [forward, backward, weight, send, finish]
                      {"times_ps", list(w.times,
                                        [](const StageTimes &t) {
                                          return json::Value(
                                              json::Array{t.forward, t.backward, t.weight, t.send, t.stepTail});
                                        })},
                      {"memory_bytes", numbers(w.memory)},
                      {"host_bytes", numbers(w.host)},
                      {"in_flight", numbers(w.inFlight)},
                      {"joules", w.joules},
                      {"fits", w.fits},
                      {"devices", w.devices},
                      {"value", w.value},
                      {"price", w.price}};
}

} // namespace

json::Value toJson(const PlacementProblem &problem) { return write(problem); }

json::Value placementCertificate(const PlacementPlan &plan) {
  // An infinite bound, that nothing fits, is null.
  json::Object result{{"value", plan.result.value},
                      {"bound", plan.result.bound},
                      {"proof", jsonString(plan.result.proof)},
                      {"examined", plan.result.examined},
                      {"pruned", plan.result.pruned}};
  if (plan.result.plan) {
    result["plan"] = write(*plan.result.plan);
    result["metrics"] = write(plan.result.metrics);
  }
  json::Object o{
      {"schema", 2},
      {"kind", "placement"},
      {"version", jsonString(plan.version)},
      {"job", jsonString(plan.job)},
      {"model", jsonString(plan.model)},
      {"cluster", jsonString(plan.cluster)},
      {"precision", jsonString(plan.precision)},
      {"optimizer", jsonString(plan.optimizer)},
      {"parameters", plan.parameters},
      {"model_flops", plan.modelFlops},
      {"peak_flops", json::Array(plan.peakFlops)},
      {"problem", write(plan.problem)},
      {"result", std::move(result)},
      {"conflict", list(plan.conflicts,
                        [](const Conflict &c) {
                          return json::Value(json::Object{{"constraint", jsonString(c.constraint)},
                                                          {"file", jsonString(c.file)},
                                                          {"line", static_cast<int64_t>(c.line)},
                                                          {"detail", jsonString(c.detail)}});
                        })},
      {"relaxations", strings(plan.relaxations)},
      {"runners_up", list(plan.runnersUp,
                          [](const RunnerUp &r) {
                            return json::Value(json::Object{{"plan", write(r.plan)}, {"metrics", write(r.metrics)}});
                          })},
      {"what_if", list(plan.whatIf,
                       [](const Relaxation &r) {
                         return json::Value(json::Object{{"what", jsonString(r.what)}, {"value", r.value}});
                       })},
      {"pareto_front", list(plan.front,
                            [](const Tradeoff &t) {
                              return json::Value(json::Object{{"what", jsonString(t.what)},
                                                              {"plan", write(t.plan)},
                                                              {"metrics", write(t.metrics)}});
                            })},
      {"samples", plan.samples},
      {"sequence", plan.sequence},
      // [name, value]
      {"sizes", list(plan.sizes,
                     [](const auto &size) { return json::Value(json::Array{jsonString(size.first), size.second}); })},
      {"assumptions", strings(plan.assumptions)}};
  location(o, plan.location);
  return o;
}

} // namespace accord
