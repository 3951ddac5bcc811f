// plan.json of a cluster: one description, from which its writer and its schema come.
#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/TrafficFigures.h"
#include "lib/run/output/RunJson.h"
#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace llvm;
namespace accord {
namespace {

constexpr StringLiteral kMemoryKeys[] = {"weights_bytes", "gradients_bytes", "optimizer_states_bytes",
                                         "activations_bytes", "workspace_bytes"};
constexpr StringLiteral kStepKeys[] = {"forward_s",       "backward_s", "recompute_s", "transfer_s",
                                       "gradient_sync_s", "update_s",   "host_s",      "bubble_s"};
constexpr StringLiteral kTrafficKeys[] = {"tensor", "context", "expert", "tables", "data", "pipeline", "host"};
static_assert(std::size(kTrafficKeys) == LinkTraffic::kKinds);
static_assert(std::size(kMemoryKeys) == kStageMemories && std::size(kStepKeys) == kStepComponents);

double seconds(int64_t ps) { return ps * 1e-12; }

/// An element, or one with its defaults where there is none: a schema is described of no plan.
template <typename T> const T &at(const std::vector<T> &all, size_t index) {
  static const T none{};
  return index < all.size() ? all[index] : none;
}

/// The fields of one object, by their values.
struct Fields {
  JsonFields &f;

  template <typename T, typename... How> void put(StringLiteral key, T value, How... how) const {
    f.field(key, value, how...);
  }
  template <typename T, typename... How> void putIf(bool shown, StringLiteral key, T value, How... how) const {
    f.maybeIf(shown, key, value, how...);
  }
  const Fields &about(StringLiteral text) const { return f.about(text), *this; }
  void object(bool required, bool shown, StringLiteral key, function_ref<void(const Fields &)> fields) const {
    f.visit(key, required, shown, [&](JsonVisitor &v) { v.object([&](JsonFields &inner) { fields({inner}); }); });
  }
  void objects(bool required, bool shown, StringLiteral key, size_t count,
               function_ref<void(const Fields &, size_t)> fields) const {
    auto element = [&](size_t i, JsonVisitor &v) { v.object([&](JsonFields &inner) { fields({inner}, i); }); };
    f.visit(key, required, shown, [&](JsonVisitor &v) { v.array(count, "", [](size_t) { return true; }, element); });
  }
};

class PlacementDocument {
public:
  explicit PlacementDocument(const PlacementPlan &plan)
      : plan(plan), problem(plan.problem), metrics(plan.result.metrics), done(plan.result.plan.has_value()),
        placement(done ? *plan.result.plan : Placement()), figures(done ? figuresOf(plan) : PlacementFigures()),
        unit(formulaOf(problem.objective)) {}

  void describe(const Fields &f) const {
    f.f.constant("schema", 2, "expected 2")
        .constant("command", "compile", "expected compile")
        .constant("kind", "placement", "expected placement");
    f.about("version of accord that wrote this").put("version", plan.version);
    f.about("of certificate/placement.json, from which this follows")
        .put("certificate_sha256", f.f.writes() ? sha256Of(jsonText(placementCertificate(plan)) + "\n") : "");
    f.about("unknown: the search ended before it found a plan or proved that none fits").put("status", statusOf(plan));
    f.put("job", plan.job);
    f.put("model", plan.model);
    f.put("cluster", plan.cluster);
    f.put("precision", plan.precision);
    f.put("optimizer", plan.optimizer);
    f.about("samples per step").put("batch", problem.batch, kFromOne);
    f.put("parameters", plan.parameters);
    f.about("of one step").put("model_flops", plan.modelFlops);
    f.put("layers", problem.layers.size(), kFromOne);
    alternatives(f);
    std::map<std::string, int64_t> sizes(plan.sizes.begin(), plan.sizes.end());
    f.about("integer parameters of the model, by name").put("sizes", sizes, kAnyInteger);
    f.about("what frameworks call the model, where it was looked for")
        .putIf(plan.architecture.has_value(), "architecture", plan.architecture.value_or(ModelArchitecture()));
    f.put("assumptions", plan.assumptions);
    f.about("what a framework makes of memory; where one is stated")
        .object(false, plan.deviceMemory.has_value(), "framework", [&](const Fields &g) {
          DeviceMemory with = plan.deviceMemory.value_or(DeviceMemory());
          g.put("name", with.framework);
          g.about("reserved over allocated bytes").put("reserved_ratio", with.reservedRatio);
          g.about("outside of the allocator").put("context_bytes", with.context);
          g.about("outside of the allocator").put("communication_bytes", with.communication);
          g.about("share that the prediction may be too low").put("margin", with.margin);
          g.about("of the margin").put("confidence", with.confidence, kShare);
        });
    f.about("what would make it feasible").put("relaxations", plan.relaxations);
    f.objects(true, true, "conflict", plan.conflicts.size(), [&](const Fields &g, size_t i) {
      const Conflict &conflict = at(plan.conflicts, i);
      g.put("constraint", conflict.constraint);
      g.put("file", conflict.file);
      g.put("line", conflict.line);
      g.putIf(!conflict.detail.empty(), "detail", conflict.detail);
    });
    value(f);
    degrees(f);
    f.about("in their order; stage s is on device group s modulo pipeline_parallel, and what belongs to the group "
            "stands at its first stage")
        .objects(false, done, "stages", placement.stages.size(), [&](const Fields &g, size_t s) { stage(g, s); });
    f.object(false, done, "groups", [&](const Fields &g) { groups(g); });
    communication(f);
    traffic(f);
    zeros(f);
    f.about("of the device whose memory use is highest").object(false, done, "memory", [&](const Fields &g) {
      memory(g, at(figures.groups, figures.maxMemoryGroup));
      g.put("stage", figures.maxMemoryGroup);
    });
  }

private:
  const ParallelConfig &config(const GroupFigures &group) const {
    return at(problem.parallelConfigs, group.parallelConfig);
  }
  const DeviceType &type(const GroupFigures &group) const { return at(problem.deviceTypes, config(group).deviceType); }

  /// The objective, its bound and what a step takes.
  void value(const Fields &f) const {
    f.object(false, done, "objective", [&](const Fields &g) {
      PlacementObjective objective = problem.objective;
      g.put("name", objective);
      g.put("value", plan.result.value * unit.scale);
      g.put("unit", std::string(unit.unit));
    });
    f.about("no plan of this space is better").object(false, done, "bound", [&](const Fields &g) {
      g.put("value", plan.result.bound * unit.scale);
      g.put("unit", std::string(unit.unit));
      g.put("proof", plan.result.proof);
    });
    f.about("distance to the bound as a share").putIf(done, "gap", gapOf(plan), kShare);
    f.putIf(done, "step_time_s", figures.seconds);
    f.about(
         "90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: these degrees at the rates of the data "
         "sheet")
        .object(false, done && plan.estimate, "step_time_estimate", [&](const Fields &g) {
          StepEstimate estimate = plan.estimate.value_or(StepEstimate());
          g.put("low_s", estimate.low);
          g.put("high_s", estimate.high);
          g.put("ideal_s", estimate.ideal);
          g.about("the calibration").put("source", estimate.source);
        });
    f.about("samples per second").putIf(done, "throughput", figures.throughput);
    f.about("model FLOPs utilization of the devices used, a share; only where their peak is known")
        .putIf(figures.mfu > 0, "mfu", figures.mfu);
    f.about("of one step, of devices and hosts").putIf(done, "energy_J", metrics.joules);
    f.about("of the hosts alone, in W").putIf(done && powerOf(plan).hosts > 0, "host_power_W", powerOf(plan).hosts);
    f.about("of one step").putIf(done && metrics.price > 0, "price", metrics.price);
    TrainingFigures training = trainingOf(plan);
    f.about("all steps, where the job states samples or tokens to train on")
        .object(false, training.steps > 0, "training", [&](const Fields &g) {
          g.put("samples", plan.samples);
          g.putIf(plan.sequence > 0, "tokens", plan.samples * plan.sequence);
          g.put("steps", training.steps);
          g.put("time_s", training.seconds);
          g.put("energy_J", training.joules);
          g.put("price", training.price);
        });
    std::shared_ptr<const TrainingRun> run = plan.run;
    describeRun(f.f, run);
  }

  void degrees(const Fields &f) const {
    f.about("used").putIf(done, "devices", metrics.devices, kFromOne);
    f.about("of the devices' time").putIf(done, "bubble", figures.bubble, kShare);
    f.about("of the first stage").putIf(done, "tensor_parallel", figures.tensor, kFromOne);
    f.about("device groups in a row").putIf(done, "pipeline_parallel", figures.pipeline, kFromOne);
    f.about("of the first stage").putIf(done, "data_parallel", figures.data, kFromOne);
    f.about("of the first stage, where devices share samples along their sequences; beside data_parallel")
        .putIf(done && figures.context > 1, "context_parallel", figures.context, IntegerRange{2});
    f.about("all stages have the degrees of the first").putIf(done, "uniform_config", figures.hasUniformConfig);
    f.putIf(done, "sequence_parallel", figures.sequence);
    f.about("ZeRO stage").putIf(done, "zero", figures.zero, IntegerRange{0, 3});
    f.putIf(done, "microbatch", figures.microbatch, kFromOne);
    f.putIf(done, "microbatches", placement.microbatches, kFromOne);
    f.putIf(done, "schedule", placement.schedule);
    f.about("stages of each device group").putIf(done, "virtual_stages", placement.virtualStages, kFromOne);
  }

  void parallelConfig(const Fields &f, const ParallelConfig &config) const {
    f.put("tensor", config.tensor, kFromOne);
    f.put("data", config.data / config.context, kFromOne);
    f.about("devices that share each sample along its sequence, beside data; 1 unless stated")
        .putIf(config.context > 1, "context", config.context, IntegerRange{2});
    f.about("how keys and values of other parts of a sequence come")
        .putIf(config.context > 1, "context_exchange", config.contextExchange);
    f.put("sequence", config.sequence);
    f.about("ZeRO stage").put("zero", config.zero, IntegerRange{0, 3});
    f.put("microbatch", config.microbatch, kFromOne);
    f.about("replicas that divide the experts; 1 unless stated")
        .putIf(config.expert > 1, "expert", config.expert, IntegerRange{2});
    f.about("tensor parallel devices that divide each expert's matrices; 1 unless stated")
        .putIf(config.expertTensor > 1, "expert_tensor", config.expertTensor, IntegerRange{2});
    f.about("of embedding tables that replicas divide").putIf(config.tables != Tables::Whole, "tables", config.tables);
    f.about("products in pieces, beside the exchange of others")
        .putIf(config.ringOverlap, "ring_overlap", config.ringOverlap);
    f.putIf(config.hostStates, "optimizer_on_host", config.hostStates);
    f.putIf(config.hostWeights, "weights_on_host", config.hostWeights);
    f.about("tensor_data_pipeline unless stated")
        .putIf(config.order != RankOrder::TensorDataPipeline, "rank_order", config.order);
  }

  void memory(const Fields &f, const GroupFigures &group) const {
    for (auto [key, bytes] : zip_equal(kMemoryKeys, group.memory))
      f.put(key, bytes);
    f.about("their sum").put("peak_bytes", group.peak());
    f.about("what a plan may use of the device").put("capacity_bytes", group.capacity);
    bool framework = plan.deviceMemory.has_value();
    DeviceMemory with = framework ? *plan.deviceMemory : DeviceMemory();
    f.about("with buckets of gradients, as the allocator of the framework counts at its peak; where one is stated")
        .putIf(framework, "allocated_bytes", with.allocated(group.peak()));
    f.about("what the allocator has then").putIf(framework, "reserved_bytes", with.reserved(group.peak()));
    f.about("with contexts and communication buffers, as a tool of the driver shows")
        .putIf(framework, "on_device_bytes", with.onDevice(group.peak()));
    f.about("of the device")
        .putIf(framework, "device_capacity_bytes", at(with.types, config(group).deviceType).capacity);
    f.about("of the host's memory, for one device; none unless stated")
        .putIf(group.host > 0, "host_bytes", group.host, kFromOne);
  }

  void stage(const Fields &f, size_t s) const {
    const PlacedStage &stage = at(placement.stages, s);
    const StageTimes &times = at(metrics.times, s);
    size_t count = std::max<size_t>(1, figures.groups.size());
    const GroupFigures &group = at(figures.groups, s % count);
    bool first = s < count;
    f.about("names; runs as block[0..11]").put("layers", layerRuns(problem, stage.layers));
    f.put("layer_count", stage.layers.size(), kFromOne);
    f.put("group", s % count);
    f.put("virtual_stage", s / count);
    f.object(true, true, "parallel_config",
             [&](const Fields &g) { parallelConfig(g, at(problem.parallelConfigs, stage.parallelConfig)); });
    std::vector<RecomputeRun> runs = recomputeRuns(problem, stage);
    f.objects(true, true, "recompute", runs.size(), [&](const Fields &g, size_t i) {
      g.put("policy", at(runs, i).policy);
      g.put("layers", layerRuns(problem, at(runs, i).layers));
      g.put("count", at(runs, i).layers.size(), kFromOne);
    });
    f.about("of one micro-batch, with what is received").put("forward_s", seconds(times.forward));
    f.about("of one micro-batch, with both gradients and what is computed again")
        .put("backward_s", seconds(times.backward + times.weight));
    f.about("micro-batches whose activations it holds when the memory use of its devices is highest")
        .put("in_flight", at(metrics.inFlight, s));
    f.object(false, first, "devices", [&](const Fields &g) {
      int64_t firstNode = group.first / type(group).devicesPerNode, lastNode = group.last / type(group).devicesPerNode;
      g.put("device_type", type(group).name);
      g.about("rank within the device type").put("first", group.first);
      g.put("count", group.devices, kFromOne);
      g.put("first_node", firstNode);
      g.put("nodes", lastNode - firstNode + 1, kFromOne);
    });
    f.about("of one device").object(false, first, "memory", [&](const Fields &g) { memory(g, group); });
    f.about("where the time of a device goes in one step").object(false, first, "step", [&](const Fields &g) {
      for (auto [key, time] : zip_equal(kStepKeys, group.step))
        g.put(key, seconds(time));
    });
    f.about("of the step")
        .putIf(first, "bubble", metrics.step > 0 ? 1.0 * group.of(StepComponent::Bubble) / metrics.step : 0.0, kShare);
  }

  /// "0, 8, 16, …" as first rank, stride and count.
  static void ranks(const Fields &f, StringLiteral key, int64_t first, int64_t stride, int64_t count) {
    f.object(true, true, key, [&](const Fields &g) {
      g.put("first", first);
      g.put("stride", stride, kFromOne);
      g.put("count", count, kFromOne);
    });
  }

  /// Ranks of one device group; the pipeline goes from group to group.
  void groups(const Fields &f) const {
    bool replicas = config(at(figures.groups, 0)).order == RankOrder::TensorPipelineData;
    f.put("rule", std::string(replicas ? "device i of replica r of stage s has rank (r * stages + s) * tensor + i: a "
                                         "tensor group is `tensor` ranks in a row, a pipeline group the stages of a "
                                         "replica in a row, a data group the same place in each replica"
                                       : "device i of replica r of a stage has rank first + r * tensor + i of its "
                                         "kind: a tensor group is `tensor` ranks in a row, a data group every "
                                         "`tensor`-th rank of a stage, a pipeline group the same place in each "
                                         "stage"));
    f.about("the first tensor and data group of each device group")
        .objects(true, true, "stages", figures.groups.size(), [&](const Fields &g, size_t i) {
          const GroupFigures &group = at(figures.groups, i);
          g.put("device_type", type(group).name);
          ranks(g, "tensor", group.first, 1, config(group).tensor);
          g.about("such groups in the stage").put("tensor_groups", config(group).data, kFromOne);
          ranks(g, "data", group.first, group.stride, config(group).data);
          g.put("data_groups", config(group).tensor, kFromOne);
        });
    std::vector<int64_t> pipeline;
    pipeline.reserve(figures.groups.size());
    for (const GroupFigures &group : figures.groups)
      pipeline.push_back(group.first);
    f.about("ranks of the first pipeline group, each within its device type").put("first_pipeline", pipeline);
  }

  /// Activations between stages, then gradients of groups.
  void communication(const Fields &f) const {
    std::vector<StageTransfer> sent = sentTransfers(figures);
    std::vector<size_t> synced;
    for (const auto &[g, group] : enumerate(figures.groups))
      if (config(group).data > 1 && group.gradientBytes + group.expertGradientBytes > 0)
        synced.push_back(g);
    size_t sends = sent.size();
    f.about("of one device")
        .objects(false, done, "communication", sends + synced.size(), [&](const Fields &g, size_t i) {
          bool gradients = i >= sends;
          const StageTransfer &transfer = at(sent, i);
          size_t from = gradients ? at(synced, i - sends) : transfer.from;
          const GroupFigures &group = at(figures.groups, from);
          double bytes = gradients ? group.gradientBytes + group.expertGradientBytes : transfer.bytes;
          g.f.visit("what", true, true, [&](JsonVisitor &v) {
            size_t what = gradients;
            v.word(what, {"activations", "gradients"}, "expected activations or gradients");
          });
          g.putIf(!gradients, "from_stage", transfer.from);
          g.putIf(!gradients, "to_stage", transfer.to);
          g.putIf(gradients, "stage", from);
          g.about("each time").put("bytes", bytes);
          g.about("each time").put("time_s", seconds(gradients ? group.exchange : transfer.time));
          g.about("not hidden behind the backward pass")
              .putIf(gradients, "exposed_s", seconds(group.of(StepComponent::GradientSync)));
          g.about("how often").put("per_step", gradients ? 1 : 2 * placement.microbatches, kFromOne);
          g.put("intra_node", gradients ? group.replicasPerNode >= config(group).data : transfer.intraNode);
        });
  }

  void traffic(const Fields &f) const {
    bool known = done && plan.traffic.has_value();
    LinkTraffic all = known ? *plan.traffic : LinkTraffic();
    TrafficFigures of = known ? trafficFiguresOf(plan) : TrafficFigures();
    f.about("what devices send over which links in one step, inside of layers, too")
        .object(false, known, "traffic", [&](const Fields &g) {
          g.about("each a kind of equal links: a level of a network, or what joins devices to their hosts")
              .objects(true, true, "links", all.links.size(), [&](const Fields &h, size_t l) {
                const LinkTraffic::Link &link = at(all.links, l);
                const LinkFigures &figures = at(of.links, l);
                h.put("name", link.name);
                h.put("device_type", at(problem.deviceTypes, link.deviceType).name);
                h.about("that share one link").put("devices", link.devices, kFromOne);
                h.about("of one link in one direction, bytes/s").put("bandwidth", link.bandwidth);
                h.about("sent by all devices").put("bytes", figures.total());
                h.about("of these, by what they are sent for")
                    .object(true, true, "bytes_by_kind", [&](const Fields &k) {
                      for (auto [kind, bytes] : enumerate(figures.bytes))
                        k.putIf(bytes > 0, kTrafficKeys[kind], bytes);
                    });
                h.about("links that carry any").put("used", figures.used);
                h.about("first rank of the devices whose link carries more than any other one")
                    .putIf(figures.used > 0, "busiest_rank", figures.busiestRank);
                h.about("that these devices send").putIf(figures.used > 0, "busiest_bytes", figures.busiestBytes);
                h.about("share of the step for which that link carries them at its bandwidth")
                    .put("utilization", figures.utilization);
              });
          g.about("of the links, the position of that with the highest utilization")
              .putIf(of.busiestLink.has_value(), "busiest_link", of.busiestLink.value_or(0));
          g.about("of each device of a stage's group, the mean over them")
              .objects(true, true, "flows", all.flows.size(), [&](const Fields &h, size_t i) {
                const LinkTraffic::Flow &flow = at(all.flows, i);
                h.put("group", flow.group);
                h.put("kind", flow.kind);
                h.about("position among the links").put("link", flow.link);
                h.put("bytes", flow.bytes);
              });
        });
  }

  void zeros(const Fields &f) const {
    const bool known = done && plan.zeros.has_value();
    const SparsityFigures of = known ? sparsityFiguresOf(plan) : SparsityFigures();
    f.about("zeros of layers, chosen together with the placement")
        .object(false, known, "sparsity", [&](const Fields &g) {
          g.about("layers that are decided together")
              .objects(true, true, "decisions", of.rows.size(), [&](const Fields &h, size_t i) {
                h.put("layers", at(of.rows, i).layers);
                h.put("option", at(of.rows, i).option);
                h.about("to choose from").put("options", at(of.rows, i).options, kFromOne);
              });
          g.objects(true, true, "budgets", of.budgets.size(), [&](const Fields &h, size_t i) {
            h.put("what", at(of.budgets, i).what);
            h.put("used", at(of.budgets, i).used);
            h.put("max", at(of.budgets, i).max);
          });
          g.about("of the objective, of the best dense plan that was found")
              .putIf(known && plan.zeros->denseValue.has_value(), "dense_value",
                     known ? plan.zeros->denseValue.value_or(0) * unit.scale : 0.0);
          g.about("parts of the choices of zeros that the search looked at")
              .put("parts", known ? static_cast<int64_t>(plan.zeros->parts) : int64_t{0});
          AccuracyReport accuracy = known ? plan.zeros->accuracy.value_or(AccuracyReport()) : AccuracyReport();
          g.f.visit("accuracy", false, known && plan.zeros->accuracy.has_value(),
                    [&](JsonVisitor &v) { visitValue(v, accuracy); });
        });
  }

  /// Other plans, and what limits would gain.
  void alternatives(const Fields &f) const {
    f.about("best first").objects(true, true, "runners_up", plan.runnersUp.size(), [&](const Fields &g, size_t i) {
      const RunnerUp &other = at(plan.runnersUp, i);
      PlacementFigures its =
          plan.runnersUp.empty() ? PlacementFigures() : figuresOf(problem, other.plan, other.metrics);
      double loss = metrics.value > 0 ? other.metrics.value / metrics.value - 1 : 0;
      g.put("tensor_parallel", its.tensor, kFromOne);
      g.put("pipeline_parallel", its.pipeline, kFromOne);
      g.put("data_parallel", its.data, kFromOne);
      g.putIf(its.context > 1, "context_parallel", its.context, IntegerRange{2});
      g.put("uniform_config", its.hasUniformConfig);
      g.put("microbatch", its.microbatch, kFromOne);
      g.put("microbatches", other.plan.microbatches, kFromOne);
      g.put("sequence_parallel", its.sequence);
      g.about("ZeRO stage").put("zero", its.zero, IntegerRange{0, 3});
      g.put("schedule", other.plan.schedule);
      g.put("virtual_stages", other.plan.virtualStages, kFromOne);
      g.put("devices", other.metrics.devices, kFromOne);
      g.put("step_time_s", its.seconds);
      g.about("of the objective").put("value", other.metrics.value * unit.scale);
      g.about("share that the objective is worse").put("relative_loss", loss, kAnyNumber);
      g.about("share of the objective by which another plan of these degrees may be better")
          .put("gap", other.gap(), kShare);
      g.about("of the devices' time").put("bubble", its.bubble, kShare);
      g.put("fits", other.metrics.fits);
      g.about("of its device whose memory use is highest")
          .put("memory_bytes", at(its.groups, its.maxMemoryGroup).peak());
    });
    f.objects(true, true, "what_if", plan.whatIf.size(), [&](const Fields &g, size_t i) {
      g.put("what", at(plan.whatIf, i).what);
      g.about("of the objective then").put("value", at(plan.whatIf, i).value * unit.scale);
    });
    f.about("this plan and those with fewer devices or less memory, none of which beats another in everything")
        .objects(true, true, "pareto_front", plan.front.size(), [&](const Fields &g, size_t i) {
          const Tradeoff &one = at(plan.front, i);
          PlacementFigures its = plan.front.empty() ? PlacementFigures() : figuresOf(problem, one.plan, one.metrics);
          g.put("what", one.what);
          g.put("parallel_degrees", plan.front.empty() ? std::string() : degreesText(problem, one.plan));
          g.put("devices", one.metrics.devices, kFromOne);
          g.about("of the device whose memory use is highest")
              .put("memory_bytes", at(its.groups, its.maxMemoryGroup).peak());
          g.put("step_time_s", its.seconds);
          g.about("samples per second").put("throughput", its.throughput);
          g.about("of one step").put("energy_J", one.metrics.joules);
          g.about("of one step").put("price", one.metrics.price);
        });
  }

  const PlacementPlan &plan;
  const PlacementProblem &problem;
  const PlanMetrics &metrics;
  bool done;
  Placement placement;
  PlacementFigures figures;
  const ObjectiveFormula &unit;
};

void describeDocument(JsonFields &f, PlacementPlan &plan) { PlacementDocument(plan).describe({f}); }

} // namespace

double gapOf(const PlacementPlan &plan) {
  double gap = std::clamp(plan.result.gap(), 0.0, 1.0);
  return gap < 1e-9 ? 0 : gap; // what rounding leaves, which the proof allows, too
}

SearchStatus statusOf(const PlacementPlan &plan) {
  return statusOf(plan.result.plan.has_value(), gapOf(plan), std::isinf(plan.result.bound));
}

json::Value toJson(const PlacementPlan &plan) { return toDocument(plan, describeDocument); }

json::Value placementSchema() { return schemaOf<PlacementPlan>(describeDocument); }

} // namespace accord
