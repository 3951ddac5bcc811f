#include "lib/support/documents/JsonText.h"
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

double seconds(int64_t ps) { return static_cast<double>(ps) * 1e-12; }

json::Array strings(const std::vector<std::string> &all) {
  json::Array array;
  for (const std::string &one : all)
    array.push_back(jsonString(one));
  return array;
}

/// "0, 8, 16, …" as first rank, stride and count.
json::Object ranks(int64_t first, int64_t stride, int64_t count) {
  return json::Object{{"first", first}, {"stride", stride}, {"count", count}};
}

class Writer {
public:
  explicit Writer(const PlacementPlan &plan)
      : problem(plan.problem), placement(*plan.result.plan), worth(plan.result.worth),
        figures(figuresOf(plan)) {}

  void write(json::Object &o) {
    const PlacementProblem::Form &form = problem.forms[placement.stages[0].form];
    o["step_time_s"] = figures.seconds;
    o["throughput"] = figures.throughput;
    if (figures.mfu > 0)
      o["mfu"] = figures.mfu;
    o["energy_J"] = worth.joules;
    if (worth.price > 0)
      o["price"] = worth.price;
    o["devices"] = worth.devices;
    o["bubble"] = figures.bubble;
    o["tensor_parallel"] = form.tensor;
    o["pipeline_parallel"] = figures.pipeline;
    o["data_parallel"] = form.data;
    o["one_form"] = figures.oneForm;
    o["sequence_parallel"] = form.sequence;
    o["zero"] = form.zero;
    o["microbatch"] = form.microbatch;
    o["microbatches"] = placement.microbatches;
    o["schedule"] = name(placement.schedule);
    o["chunks"] = placement.chunks;
    o["stages"] = stages();
    o["groups"] = groups();
    o["communication"] = communication();
    o["memory"] = memory();
  }

private:
  json::Object formOf(PlacementProblem::Id id) const {
    const PlacementProblem::Form &form = problem.forms[id];
    json::Object o{{"tensor", form.tensor},
                   {"data", form.data},
                   {"sequence", form.sequence},
                   {"zero", form.zero},
                   {"microbatch", form.microbatch}};
    if (form.expert > 1)
      o["expert"] = form.expert;
    if (form.tables != PlacementProblem::Tables::Whole)
      o["tables"] = name(form.tables);
    if (form.ringOverlap)
      o["ring_overlap"] = true;
    if (form.hostStates)
      o["optimizer_on_host"] = true;
    if (form.hostWeights)
      o["weights_on_host"] = true;
    if (form.order != PlacementProblem::RankOrder::TensorDataPipeline)
      o["rank_order"] = name(form.order);
    return o;
  }

  json::Object devicesOf(const GroupFigures &group) const {
    const PlacementProblem::Kind &kind = problem.kinds[problem.forms[group.form].kind];
    int64_t firstServer = group.first / kind.perServer;
    int64_t lastServer = group.last / kind.perServer;
    return json::Object{{"kind", jsonString(kind.name)},
                        {"first", group.first},
                        {"count", group.devices},
                        {"first_server", firstServer},
                        {"servers", lastServer - firstServer + 1}};
  }

  json::Object memoryOf(const GroupFigures &group) const {
    json::Object o;
    for (size_t i = 0; i < kStageMemories; ++i)
      o[std::string(name(static_cast<StageMemory>(i))) + "_bytes"] = group.memory[i];
    o["peak_bytes"] = group.peak();
    o["capacity_bytes"] = group.capacity;
    if (group.host > 0)
      o["host_bytes"] = group.host;
    return o;
  }

  json::Array stages() const {
    json::Array all;
    size_t count = figures.groups.size();
    for (size_t s = 0; s < placement.stages.size(); ++s) {
      const PlacedStage &stage = placement.stages[s];
      const GroupFigures &group = figures.groups[s % count];
      const StageTimes &times = worth.times[s];
      json::Array recompute;
      for (const RecomputeRun &run : recomputeRuns(problem, stage))
        recompute.push_back(json::Object{{"policy", jsonString(run.policy)},
                                         {"layers", strings(layerRuns(problem, run.layers))},
                                         {"count", static_cast<int64_t>(run.layers.size())}});
      json::Object o{{"layers", strings(layerRuns(problem, stage.layers))},
                     {"layer_count", static_cast<int64_t>(stage.layers.size())},
                     {"group", static_cast<int64_t>(s % count)},
                     {"chunk", static_cast<int64_t>(s / count)},
                     {"form", formOf(stage.form)},
                     {"recompute", std::move(recompute)},
                     {"forward_s", seconds(times.forward)},
                     {"backward_s", seconds(times.backward + times.weight)},
                     {"in_flight", worth.inFlight[s]}};
      if (s < count) {
        o["devices"] = devicesOf(group);
        o["memory"] = memoryOf(group);
        json::Object step;
        for (size_t i = 0; i < kStepShares; ++i)
          step[std::string(name(static_cast<StepShare>(i))) + "_s"] = seconds(group.step[i]);
        o["step"] = std::move(step);
        o["bubble"] = worth.step > 0 ? static_cast<double>(group.of(StepShare::Bubble)) /
                                           static_cast<double>(worth.step)
                                     : 0.0;
      }
      all.push_back(std::move(o));
    }
    return all;
  }

  /// Ranks of one device group; the pipeline goes from group to group.
  json::Object groups() const {
    json::Array pipeline, byStage;
    for (const GroupFigures &group : figures.groups) {
      const PlacementProblem::Form &form = problem.forms[group.form];
      byStage.push_back(json::Object{{"kind", jsonString(problem.kinds[form.kind].name)},
                                     {"tensor", ranks(group.first, 1, form.tensor)},
                                     {"tensor_groups", form.data},
                                     {"data", ranks(group.first, group.stride, form.data)},
                                     {"data_groups", form.tensor}});
    }
    for (const GroupFigures &group : figures.groups)
      pipeline.push_back(group.first);
    json::Object o{
        {"rule", problem.forms[figures.groups[0].form].order ==
                         PlacementProblem::RankOrder::TensorPipelineData
                     ? "device i of replica r of stage s has rank (r * stages + s) * tensor + i: a "
                       "tensor group is `tensor` ranks in a row, a pipeline group the stages of a "
                       "replica in a row, a data group the same place in each replica"
                     : "device i of replica r of a stage has rank first + r * tensor + i of its "
                       "kind: a tensor group is `tensor` ranks in a row, a data group every "
                       "`tensor`-th rank of a stage, a pipeline group the same place in each "
                       "stage"},
        {"stages", std::move(byStage)},
        {"first_pipeline", std::move(pipeline)}};
    return o;
  }

  json::Array communication() const {
    json::Array all;
    for (const StageTransfer &transfer : figures.transfers)
      if (transfer.bytes > 0)
        all.push_back(json::Object{{"what", "activations"},
                                   {"from_stage", static_cast<int64_t>(transfer.from)},
                                   {"to_stage", static_cast<int64_t>(transfer.to)},
                                   {"bytes", transfer.bytes},
                                   {"time_s", seconds(transfer.time)},
                                   {"each_step", 2 * placement.microbatches},
                                   {"inside_server", transfer.inside}});
    for (size_t g = 0; g < figures.groups.size(); ++g) {
      const GroupFigures &group = figures.groups[g];
      if (problem.forms[group.form].data > 1 && group.gradientBytes + group.expertGradientBytes > 0)
        all.push_back(
            json::Object{{"what", "gradients"},
                         {"stage", static_cast<int64_t>(g)},
                         {"bytes", group.gradientBytes + group.expertGradientBytes},
                         {"time_s", seconds(group.exchange)},
                         {"exposed_s", seconds(group.of(StepShare::Exchange))},
                         {"each_step", 1},
                         {"inside_server", group.together >= problem.forms[group.form].data}});
    }
    return all;
  }

  json::Object memory() const {
    const GroupFigures &group = figures.groups[figures.fullest];
    json::Object o = memoryOf(group);
    o["stage"] = static_cast<int64_t>(figures.fullest);
    return o;
  }

  const PlacementProblem &problem;
  const Placement &placement;
  const PlacementWorth &worth;
  PlacementFigures figures;
};

json::Array runnersUp(const PlacementPlan &plan, double scale) {
  json::Array all;
  for (const RunnerUp &other : plan.runnersUp) {
    PlacementFigures figures = figuresOf(plan.problem, other.plan, other.worth);
    double loses =
        plan.result.worth.value > 0 ? other.worth.value / plan.result.worth.value - 1 : 0;
    all.push_back(json::Object{{"tensor_parallel", figures.tensor},
                               {"pipeline_parallel", figures.pipeline},
                               {"data_parallel", figures.data},
                               {"one_form", figures.oneForm},
                               {"microbatch", figures.microbatch},
                               {"microbatches", other.plan.microbatches},
                               {"sequence_parallel", figures.sequence},
                               {"zero", figures.zero},
                               {"schedule", name(other.plan.schedule)},
                               {"chunks", other.plan.chunks},
                               {"devices", other.worth.devices},
                               {"step_time_s", figures.seconds},
                               {"value", other.worth.value * scale},
                               {"loses", loses},
                               {"bubble", figures.bubble},
                               {"fits", other.worth.fits},
                               {"memory_bytes", figures.groups[figures.fullest].peak()}});
  }
  return all;
}

json::Array front(const PlacementPlan &plan) {
  json::Array all;
  for (const Tradeoff &one : plan.front) {
    PlacementFigures figures = figuresOf(plan.problem, one.plan, one.worth);
    all.push_back(json::Object{{"what", jsonString(one.what)},
                               {"degrees", jsonString(degreesText(plan.problem, one.plan))},
                               {"devices", one.worth.devices},
                               {"memory_bytes", figures.groups[figures.fullest].peak()},
                               {"step_time_s", figures.seconds},
                               {"throughput", figures.throughput},
                               {"energy_J", one.worth.joules},
                               {"price", one.worth.price}});
  }
  return all;
}

} // namespace

double gapOf(const PlacementPlan &plan) {
  double gap = std::clamp(plan.result.gap(), 0.0, 1.0);
  return gap < 1e-9 ? 0 : gap; // what rounding leaves, which the proof allows, too
}

json::Value toJson(const PlacementPlan &plan) {
  PlacementUnit unit = unitOf(plan.problem.objective);
  json::Array whatIf, conflicts;
  for (const Relaxation &one : plan.whatIf)
    whatIf.push_back(
        json::Object{{"what", jsonString(one.what)}, {"value", one.value * unit.scale}});
  for (const Conflict &c : plan.conflicts) {
    json::Object o{{"constraint", jsonString(c.constraint)},
                   {"file", jsonString(c.file)},
                   {"line", static_cast<int64_t>(c.line)}};
    if (!c.detail.empty())
      o["detail"] = jsonString(c.detail);
    conflicts.push_back(std::move(o));
  }
  json::Object o{{"schema", 1},
                 {"command", "compile"},
                 {"version", jsonString(plan.version)},
                 {"status", plan.result.plan ? "done" : "infeasible"},
                 {"kind", "placement"},
                 {"job", jsonString(plan.job)},
                 {"model", jsonString(plan.model)},
                 {"cluster", jsonString(plan.cluster)},
                 {"precision", jsonString(plan.precision)},
                 {"optimizer", jsonString(plan.optimizer)},
                 {"batch", plan.problem.batch},
                 {"parameters", plan.parameters},
                 {"model_flops", plan.modelFlops},
                 {"layers", static_cast<int64_t>(plan.problem.layers.size())},
                 {"runners_up", runnersUp(plan, unit.scale)},
                 {"what_if", std::move(whatIf)},
                 {"front", front(plan)},
                 {"assumptions", strings(plan.assumptions)},
                 {"relaxations", strings(plan.relaxations)},
                 {"conflict", std::move(conflicts)}};
  if (plan.result.plan) {
    o["objective"] = json::Object{{"name", name(plan.problem.objective)},
                                  {"value", plan.result.value * unit.scale},
                                  {"unit", unit.unit}};
    o["bound"] = json::Object{{"value", plan.result.bound * unit.scale},
                              {"unit", unit.unit},
                              {"proof", jsonString(plan.result.proof)}};
    o["gap"] = gapOf(plan);
    if (TrainingFigures training = trainingOf(plan); training.steps > 0) {
      json::Object whole{{"samples", plan.samples},
                         {"steps", training.steps},
                         {"time_s", training.seconds},
                         {"energy_J", training.joules},
                         {"price", training.price}};
      if (plan.sequence > 0)
        whole["tokens"] = plan.samples * static_cast<double>(plan.sequence);
      o["training"] = std::move(whole);
    }
    Writer(plan).write(o);
  }
  json::Object sizes;
  for (const auto &[name, value] : plan.sizes)
    sizes[name] = value;
  o["sizes"] = std::move(sizes);
  return o;
}

} // namespace accord
