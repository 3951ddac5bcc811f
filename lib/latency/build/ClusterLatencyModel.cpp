#include "lib/latency/build/ClusterLatencyModel.h"
#include "lib/latency/build/CalibratedFit.h"
#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/MachineArguments.h"
#include "lib/latency/build/SampleCache.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

/// The plans of one tensor degree whose operations are the same but for whom they exchange data with: they are priced
/// once, with factors by data degree.
struct PricingGroup {
  int64_t tensor = 1;
  std::vector<const DegreePlan *> plans; ///< by ascending data degree; samples are of the first
};

bool sameLoops(const std::vector<Loop> &a, const std::vector<Loop> &b) {
  return std::ranges::equal(a, b,
                            [](const Loop &x, const Loop &y) { return x.extent == y.extent && x.kind == y.kind; });
}

bool samePart(const FusedPart &a, const FusedPart &b) { return a.flops == b.flops && sameLoops(a.domain, b.domain); }

bool sameOperation(const Operation &a, const Operation &b) {
  auto numbers = [](const Operation &x) {
    return std::tie(x.name, x.kind, x.region, x.core, x.type, x.flops, x.bytesRead, x.bytesWritten, x.operands,
                    x.results);
  };
  auto exchange = [](const Communication &x) { return std::tie(x.kind, x.axis, x.payload); };
  return numbers(a) == numbers(b) && sameLoops(a.domain, b.domain) && std::ranges::equal(a.parts, b.parts, samePart) &&
         a.communication.has_value() == b.communication.has_value() &&
         (!a.communication || exchange(*a.communication) == exchange(*b.communication));
}

/// Whether operations and sizes are the same but for exchanges among other numbers of devices.
bool sameWork(const WorkGraph &a, const WorkGraph &b) {
  return std::ranges::equal(a.operations, b.operations, sameOperation) &&
         std::ranges::equal(a.regions, b.regions, {}, &Region::count, &Region::count) &&
         std::ranges::equal(a.values, b.values, {}, &Value::bytes, &Value::bytes) &&
         std::ranges::equal(a.staticTensors, b.staticTensors, {}, &StaticTensor::bytes, &StaticTensor::bytes);
}

/// The plans by tensor degree, those of the same operations together. `sameAt`: at another size too.
std::vector<PricingGroup> pricingGroups(const ClusterJob &job,
                                        const std::function<bool(const DegreePlan &, const DegreePlan &)> &same) {
  std::vector<const DegreePlan *> sorted;
  for (const DegreePlan &one : job.plans)
    sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const DegreePlan *a, const DegreePlan *b) {
    return std::pair(a->tensor, a->data) < std::pair(b->tensor, b->data);
  });
  std::vector<PricingGroup> groups;
  for (const DegreePlan *one : sorted) {
    auto found = std::find_if(groups.begin(), groups.end(), [&](const PricingGroup &group) {
      const DegreePlan &first = *group.plans.front();
      return group.tensor == one->tensor && first.plan.graph.operations.size() == one->plan.graph.operations.size() &&
             same(first, *one);
    });
    if (found == groups.end())
      groups.push_back({one->tensor, {one}});
    else
      found->plans.push_back(one);
  }
  return groups;
}

/// Puts the steps of all parallel degrees into one latency model.
class ClusterBuilder {
public:
  /// `samples`: by group.
  ClusterBuilder(const ClusterJob &job, const std::vector<PricingGroup> &groups, std::vector<SampledSizes> samples,
                 const LatencyFitOptions &options, CollectiveTermsCache &terms);
  std::optional<Error> prepare();
  Result<LatencyModel> build(int64_t maxMicrobatch);
  /// A0707: at the plan's micro-batch and sequence the model is not what a plan says.
  std::optional<Error> compare(const LatencyModel &model) const;

private:
  /// Plans of a group whose schedules have one order and one sequence of live tensors.
  struct Step {
    std::vector<const DegreePlan *> plans;
    std::unique_ptr<LatencyBuilder> builder; ///< of the first
  };
  struct Group {
    const PricingGroup *of;
    std::vector<Step> steps;
  };
  std::vector<LatencyArgument> sizes(int64_t maxMicrobatch) const;
  const DegreePlan &initialPlan() const;
  /// By tensor degree and within it by data degree; kNoNode where there is none for a pair.
  template <typename NodeAt> NodeId selectByDegrees(Expressions &e, NodeAt nodeAt) const;
  NodeId hasPlan(Expressions &e) const;
  void guards(LatencyModel &model, NodeId samples) const;

  const ClusterJob &job;
  std::vector<SampledSizes> samples;
  const LatencyFitOptions &options;
  CollectiveTermsCache &terms;
  std::vector<Group> groups;
  std::vector<int64_t> tensorDegrees, dataDegrees;
  std::map<std::pair<int64_t, int64_t>, StepNodes> steps; ///< of the model that is being built
  int64_t longest = 0;
};

bool sameOrder(const LatencyBuilder &a, const LatencyBuilder &b) {
  auto same = [](const RegionOrder &x, const RegionOrder &y) {
    return x.operations == y.operations && x.after == y.after;
  };
  return a.exact() == b.exact() && std::ranges::equal(a.order(), b.order(), same);
}

/// Of one moment after the other, whatever times they have.
bool sameMemory(const MemoryUse &a, const MemoryUse &b) {
  return std::ranges::equal(a.timeline, b.timeline, {}, &MemoryPoint::bytes, &MemoryPoint::bytes);
}

ClusterBuilder::ClusterBuilder(const ClusterJob &job, const std::vector<PricingGroup> &all,
                               std::vector<SampledSizes> samples, const LatencyFitOptions &options,
                               CollectiveTermsCache &terms)
    : job(job), samples(std::move(samples)), options(options), terms(terms) {
  for (const PricingGroup &group : all)
    groups.push_back({&group, {}});
  std::set<int64_t> tensor, data;
  for (const DegreePlan &one : job.plans)
    tensor.insert(one.tensor), data.insert(one.data);
  tensorDegrees.assign(tensor.begin(), tensor.end()), dataDegrees.assign(data.begin(), data.end());
}

const DegreePlan &ClusterBuilder::initialPlan() const {
  return *std::find_if(job.plans.begin(), job.plans.end(),
                       [&](const DegreePlan &one) { return one.tensor == job.tensor && one.data == job.data; });
}

std::optional<Error> ClusterBuilder::prepare() {
  for (size_t g = 0; g < groups.size(); ++g) {
    Group &group = groups[g];
    const auto &[single, accumulated] = samples[g];
    for (const auto *all : {&single, &accumulated})
      if (!all->empty())
        if (auto error = checkSamples(group.of->plans.front()->plan, *all))
          return error;
    PolynomialFit points(pointsOf(single));
    for (const DegreePlan *one : group.of->plans) {
      auto builder = std::make_unique<LatencyBuilder>(one->plan, single, points, options, accumulated);
      if (auto error = builder->prepareOrder())
        return error;
      auto same = std::find_if(group.steps.begin(), group.steps.end(), [&](const Step &step) {
        return sameOrder(*step.builder, *builder) && sameMemory(step.plans.front()->plan.memory, one->plan.memory);
      });
      if (same != group.steps.end()) {
        same->plans.push_back(one);
        continue;
      }
      if (auto error = builder->prepareMemory())
        return error;
      longest = longest ? std::min(longest, builder->maxDuration()) : builder->maxDuration();
      group.steps.push_back({{one}, std::move(builder)});
    }
  }
  for (Group &group : groups)
    for (Step &step : group.steps)
      step.builder->limitDuration(longest);
  return std::nullopt;
}

std::vector<LatencyArgument> ClusterBuilder::sizes(int64_t maxMicrobatch) const {
  std::vector<LatencyArgument> all = groups.front().steps.front().builder->sizes(maxMicrobatch);
  all[kBatch].text = "samples per step, of all replicas together";
  all[kBatch].initial = job.batch;
  all[kBatch].max = std::max(0x1p40, all[kBatch].initial);
  all[kMicrobatch].text = "micro-batch size; ceil(batch / (data_parallel * microbatch)) of them in each replica";
  auto degree = [&](const char *name, const char *text, int64_t initial, const std::vector<int64_t> &allowed) {
    LatencyArgument &a = all.emplace_back();
    a.name = name, a.unit = "devices", a.text = text, a.integer = true, a.allowed = allowed;
    a.initial = initial;
    a.min = allowed.front(), a.max = allowed.back();
  };
  degree("tensor_parallel", "devices that share each layer", job.tensor, tensorDegrees);
  degree("data_parallel", "replicas that share the batch", job.data, dataDegrees);
  return all;
}

template <typename NodeAt> NodeId ClusterBuilder::selectByDegrees(Expressions &e, NodeAt nodeAt) const {
  std::vector<std::pair<int64_t, NodeId>> byTensor;
  for (int64_t tensor : tensorDegrees) {
    std::vector<std::pair<int64_t, NodeId>> byData;
    for (int64_t data : dataDegrees)
      if (NodeId node = nodeAt(tensor, data); node != kNoNode)
        byData.push_back({data, node});
    byTensor.push_back({tensor, e.select(e.argument("data_parallel"), byData)});
  }
  return e.select(e.argument("tensor_parallel"), byTensor);
}

/// 1 where the pair of degrees has a plan or more devices than there are, else 0.
NodeId ClusterBuilder::hasPlan(Expressions &e) const {
  return selectByDegrees(e, [&](int64_t tensor, int64_t data) {
    bool planned = llvm::any_of(job.plans, [&](const auto &one) { return one.tensor == tensor && one.data == data; });
    return e.integer(planned || tensor * data > job.fabric->devices());
  });
}

void ClusterBuilder::guards(LatencyModel &model, NodeId samplesOfReplica) const {
  Expressions &e = model.nodes;
  NodeId tensor = e.argument("tensor_parallel"), data = e.argument("data_parallel");
  model.guards.push_back(
      {e.argument(kMicrobatch), samplesOfReplica, "the micro-batch is larger than the samples of a replica"});
  model.guards.push_back({e.multiply(tensor, data), e.integer(job.fabric->devices()),
                          fmt::format("tensor_parallel x data_parallel is more than the {} devices of '{}'",
                                      job.fabric->devices(), job.cluster)});
  model.guards.push_back(
      {e.multiply(samplesOfReplica, data), e.argument(kBatch), "data_parallel does not divide the batch"});
  if (NodeId has = hasPlan(e); e[has].range.min < 1)
    model.guards.push_back({e.integer(1), has, "this pair of tensor_parallel and data_parallel has no plan"});
}

Result<LatencyModel> ClusterBuilder::build(int64_t maxMicrobatch) {
  LatencyModel model;
  const Plan &plan = initialPlan().plan;
  model.name = cName(plan.graph.model);
  model.model = plan.graph.model, model.version = plan.version;
  model.machine = fmt::format("{} of {}", job.cluster, plan.machine.name);
  std::vector<LatencyArgument> all = sizes(maxMicrobatch);
  MachineArguments arguments(all);
  arguments.memories(plan.machine);
  for (const DegreePlan &one : job.plans)
    arguments.rates(one.plan);
  arguments.networks(*job.fabric);
  model.nodes = Expressions(all);
  Expressions &e = model.nodes;
  MachineNodes machine = arguments.nodes(e);
  size_t tensorAt = *model.argument("tensor_parallel"), dataAt = *model.argument("data_parallel");
  NodeId data = e.argument(dataAt);
  NodeId samplesOfReplica = e.ceilDivide(e.argument(kBatch), data);
  guards(model, samplesOfReplica);
  NodeId microbatches = e.ceilDivide(samplesOfReplica, machine.microbatch);
  steps.clear();
  std::string fixed;
  for (Group &group : groups) {
    std::vector<CollectiveNodes::Member> members;
    for (const DegreePlan *one : group.of->plans)
      members.push_back({one->data, {{"tensor", one->tensor}, {"data", one->data}}});
    CollectiveNodes collectives(e, terms, arguments.networkNodes(e), data, std::move(members));
    machine.communication = [&](const Communication &communication, NodeId payload) {
      return collectives.seconds(communication, payload);
    };
    machine.devices = [&](const Communication &communication) {
      return communication.axis == "data" ? data : e.integer(communication.devices);
    };
    machine.at = model.initial();
    machine.at[tensorAt] = group.of->tensor;
    machine.at[dataAt] = group.of->plans.front()->data;
    std::string suffix = fmt::format(", tensor_parallel {}", group.of->tensor);
    group.steps.front().builder->setSuffix(suffix);
    ACCORD_TRY(operations, group.steps.front().builder->price(model, machine));
    if (fixed.empty())
      fixed = operations.fixed();
    for (std::string &note : group.steps.front().builder->tableNotes(operations))
      if (!llvm::is_contained(model.notes, note))
        model.notes.push_back(std::move(note));
    for (Step &step : group.steps) {
      step.builder->setSuffix(suffix);
      machine.at[dataAt] = step.plans.front()->data;
      ACCORD_TRY(nodes, step.builder->step(model, machine, operations, microbatches));
      for (const DegreePlan *one : step.plans)
        steps[{one->tensor, one->data}] = nodes;
    }
  }
  if (!fixed.empty())
    fixMachineArguments(model, fixed);
  model.labels.push_back({samplesOfReplica, "samples of a replica"});
  model.labels.push_back({microbatches, "micro-batches in a step"});
  StepNodes chosen;
  for (NodeId StepNodes::*field : {&StepNodes::micro, &StepNodes::update, &StepNodes::slowest, &StepNodes::bytes,
                                   &StepNodes::microFlops, &StepNodes::updateFlops})
    chosen.*field = selectByDegrees(e, [&](int64_t tensor, int64_t data) {
      auto found = steps.find({tensor, data});
      return found == steps.end() ? kNoNode : found->second.*field;
    });
  if (auto error = finishModel(model, chosen, microbatches, longest))
    return *error;
  model.outputs[kMemory].text = "bytes in the memory of a device at its peak";
  model.outputs[kFlops].text = "floating-point operations of a step, of one device";
  if (isCalibrated(plan))
    model.notes.push_back(calibrationNote(plan));
  model.notes.insert(model.notes.end(), job.notes.begin(), job.notes.end());
  model.planStep = plan.schedule.step.seconds().value;
  return model;
}

std::optional<Error> ClusterBuilder::compare(const LatencyModel &model) const {
  size_t tensorAt = *model.argument("tensor_parallel"), dataAt = *model.argument("data_parallel");
  for (const Group &group : groups)
    for (const Step &step : group.steps)
      for (const DegreePlan *one : step.plans) {
        const WorkGraph &graph = one->plan.graph;
        std::vector<double> at = model.initial();
        at[kBatch] = 1.0 * graph.microbatch * graph.microbatches * one->data;
        at[kMicrobatch] = graph.microbatch;
        at[tensorAt] = one->tensor, at[dataAt] = one->data;
        LatencyEvaluation found = evaluate(model, at);
        double step_ = one->plan.schedule.step.seconds().value;
        // Where the plan waits without need, the model does not.
        bool wrong =
            found.status ||
            (step.builder->exact() ? !agree(found.result.step, step_) : found.result.step > step_ * (1 + 1e-12)) ||
            !agree(found.result.memory, one->plan.memory.peak);
        if (wrong)
          return Error{Code::NoLatencyModel, fmt::format("at tensor_parallel {} and data_parallel {} the model says "
                                                         "{:.9g} s and {:.0f} B, the plan {:.9g} s and {} B",
                                                         one->tensor, one->data, found.result.step, found.result.memory,
                                                         step_, one->plan.memory.peak)};
      }
  return std::nullopt;
}

} // namespace

Result<LatencyModel> clusterLatencyModelOf(const ClusterJob &job, std::optional<int64_t> sequence,
                                           const DegreeSampleAt &sampleAt, const DegreeGraphAt &graphAt) {
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<SampleCache>> sampled; // by degrees
  auto samplesOf = [&](const DegreePlan &one) -> SampleCache & {
    auto &slot = sampled[{one.tensor, one.data}];
    if (!slot)
      slot = std::make_unique<SampleCache>(sequence.value_or(1),
                                           [&sampleAt, &one](int64_t b, int64_t of, std::optional<int64_t> s) {
                                             auto work = sampleAt(one.tensor, one.data, b, of, s);
                                             if (work)
                                               work->graph.microbatches = one.plan.graph.microbatches;
                                             return work;
                                           });
    return *slot;
  };
  // Equal at one micro-batch and number of them is no proof; equal at three leaves no line between.
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, std::optional<WorkGraph>> graphs;
  auto graphOf = [&](const DegreePlan &one, int64_t microbatch, int64_t of) {
    auto [slot, fresh] = graphs.try_emplace({one.tensor, one.data, microbatch, of});
    if (fresh)
      slot->second = graphAt(one.tensor, one.data, microbatch, of);
    return slot->second ? &*slot->second : nullptr;
  };
  auto same = [&](const DegreePlan &a, const DegreePlan &b) {
    for (auto [microbatch, of] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {1, 2}}) {
      const WorkGraph *x = graphOf(a, microbatch, of), *y = graphOf(b, microbatch, of);
      if (!x || !y || !sameWork(*x, *y))
        return false;
    }
    return true;
  };
  std::vector<PricingGroup> groups = pricingGroups(job, same);
  CollectiveTermsCache terms(*job.fabric);
  auto fit = [&](const std::vector<std::pair<int64_t, int64_t>> &points,
                 const LatencyFitOptions &options) -> Result<LatencyModel> {
    std::vector<SampledSizes> samples;
    for (const PricingGroup &group : groups) {
      ACCORD_TRY(found, samplesOf(*group.plans.front()).of(points, group.plans.front()->plan));
      samples.push_back(std::move(found));
    }
    ClusterBuilder builder(job, groups, std::move(samples), options, terms);
    if (auto error = builder.prepare())
      return *error;
    auto model =
        buildWithinInt64(job.plans.front().plan.graph.microbatch, [&](int64_t max) { return builder.build(max); });
    auto *built = model.get();
    if (!built)
      return model;
    if (auto error = builder.compare(*built))
      return *error;
    double own = evaluate(*built, built->initial()).result.step;
    built->exact = std::fabs(own - built->planStep) <= 1e-12 * built->planStep;
    addSamples(*built, 24);
    return model;
  };
  return fitOverGrids(job.plans.front().plan.graph.microbatch, sequence, fit);
}

} // namespace accord
