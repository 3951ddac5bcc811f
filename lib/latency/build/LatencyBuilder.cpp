#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/MachineArguments.h"
#include "lib/planning/analysis/Liveness.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <tuple>

namespace accord {
namespace {
bool close(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b)); }
} // namespace

LatencyBuilder::LatencyBuilder(const Plan &plan, const std::vector<LatencySample> &samples, PolynomialFit points,
                               const LatencyFitOptions &options, const std::vector<LatencySample> &accumulated)
    : plan(plan), samples(samples), accumulated(accumulated), points(std::move(points)), options(options) {}

bool LatencyBuilder::inUpdate(OperationId id) const {
  RegionId region = plan.graph.operations[id].region;
  while (region > kUpdateRegion)
    region = plan.graph.regions[region].parent;
  return region == kUpdateRegion;
}

std::optional<Error> LatencyBuilder::prepare() {
  auto error = prepareOrder();
  return error ? error : prepareMemory();
}

std::optional<Error> LatencyBuilder::prepareOrder() {
  const WorkGraph &graph = plan.graph;
  Dependences dependences = Dependences::of(graph);
  for (RegionId r = 0; r < graph.regions.size(); ++r) {
    orders.push_back(orderOf(plan, dependences, r));
    exactOrder &= orders.back().exact;
  }
  Count all = 0;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    Count times = 1;
    for (RegionId r = graph.operations[id].region; r > kUpdateRegion && times < Count(1) << 60;
         r = graph.regions[r].parent)
      times *= graph.regions[r].count;
    all += times;
    executions.push_back(static_cast<int64_t>(std::min<Count>(times, Count(1) << 60)));
  }
  // A picosecond sum over a micro-batch stays below 2^61.
  if (all >= Count(1) << 40)
    return Error{Code::NoLatencyModel,
                 "the latency model's integers leave 64 bits: more than 2^40 executions in a step",
                 {},
                 {}};
  longest = static_cast<int64_t>(std::min<Count>(Count(1) << 52, (Count(1) << 61) / std::max<Count>(all, 1)));
  return std::nullopt;
}

/// What runs at a time of the step, for comments.
std::string LatencyBuilder::placeOf(Picoseconds time) const {
  std::string text = fmt::format("{:.4g} ms into the step", time.seconds().value * 1e3);
  int64_t micro = plan.schedule.regions[kMicrobatchRegion].length.value;
  bool update = micro <= 0 || time.value >= micro * plan.graph.microbatches;
  int64_t at = update ? time.value - micro * plan.graph.microbatches : time.value % micro;
  const Slot *found = nullptr;
  for (const Slot &slot : plan.schedule.regions[update ? kUpdateRegion : kMicrobatchRegion].slots)
    if (slot.start.value <= at && at < slot.start.value + slot.duration.value)
      found = &slot;
  return found ? text + ", during " + plan.graph.operations[found->operation].name : text;
}

std::optional<Error> LatencyBuilder::prepareMemory() {
  auto memoryOf = [&](const WorkGraph &graph) {
    if (options.memoryOf)
      return options.memoryOf(graph);
    LivenessOptions all;
    all.points = ~0u;
    return liveness(graph, plan.schedule, all);
  };
  std::vector<MemoryUse> uses;
  for (const LatencySample &s : samples) {
    uses.push_back(memoryOf(*s.graph));
    if (uses.back().timeline.size() != uses.front().timeline.size())
      return Error{Code::NoLatencyModel,
                   fmt::format("device memory has another number of points at micro-batch {} and "
                               "sequence {}",
                               s.microbatch, s.sequence),
                   {},
                   {}};
  }
  std::set<std::vector<int64_t>> seen; // most points repeat another's bytes
  for (size_t i = 0; i < uses.front().timeline.size(); ++i) {
    std::vector<int64_t> totals;
    for (const MemoryUse &use : uses)
      totals.push_back(std::accumulate(use.timeline[i].bytes.begin(), use.timeline[i].bytes.end(), int64_t{0}));
    if (!seen.insert(totals).second)
      continue;
    std::optional<Polynomial> p = points.through(totals);
    std::string where = placeOf(uses.front().timeline[i].time);
    if (!p)
      return Error{Code::NoLatencyModel,
                   fmt::format("device memory {} is no polynomial of the micro-batch and the "
                               "sequence",
                               where),
                   {},
                   {}};
    addNondominated(liveSets, {where, *p},
                    [](const LiveSet &a, const LiveSet &b) { return dominated(b.bytes, a.bytes); });
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    double max = 0;
    for (const LiveSet &set : liveSets)
      max = std::max(max, set.bytes(samples[k].microbatch, samples[k].sequence));
    if (!close(max, uses[k].peak))
      return Error{Code::NoLatencyModel,
                   fmt::format("peak memory at micro-batch {} and sequence {} is {} B, its points "
                               "give {:.0f} B",
                               samples[k].microbatch, samples[k].sequence, uses[k].peak, max),
                   {},
                   {}};
  }
  return std::nullopt;
}

bool LatencyBuilder::free(size_t argument) const {
  return std::any_of(samples.begin(), samples.end(), [&](const LatencySample &s) {
    return argument == kMicrobatch ? s.microbatch != samples.front().microbatch
                                   : s.sequence != samples.front().sequence;
  });
}

std::vector<LatencyArgument> LatencyBuilder::sizes(int64_t maxMicrobatch) const {
  std::vector<LatencyArgument> all(3);
  auto real = [](int64_t v) { return static_cast<double>(v); };
  all[kBatch] = {"batch", "samples", "samples per step", true, real(plan.batch), 1, std::max(0x1p40, real(plan.batch)),
                 1,       ""};
  all[kMicrobatch] = {"microbatch",
                      "samples",
                      "micro-batch size; ceil(batch / microbatch) of them",
                      true,
                      real(plan.graph.microbatch),
                      1,
                      real(maxMicrobatch),
                      1,
                      ""};
  all[kSequence] = {"sequence", "tokens", "tokens per sample",      true, real(options.sequence),
                    1,          1,        options.sequenceMultiple, ""};
  int64_t min = options.minSequence, max = options.maxSequence;
  for (const LatencySample &s : samples) {
    if (!options.minSequence)
      min = min ? std::min(min, s.sequence) : s.sequence;
    if (!options.maxSequence)
      max = std::max(max, s.sequence);
  }
  all[kSequence].min = real(min), all[kSequence].max = real(max);
  for (size_t i : {kMicrobatch, kSequence})
    if (!free(i)) {
      all[i].min = all[i].max = all[i].initial;
      all[i].multiple = 1;
      all[i].fixedReason = options.fixedReason.empty() ? "no other was sampled" : options.fixedReason;
    }
  return all;
}

Result<PricedStep> LatencyBuilder::price(LatencyModel &model, const MachineNodes &machine,
                                         const std::vector<LatencySample> &from) const {
  OperationFit fit(plan, from, points, model.nodes, machine, from.size() == 1);
  PricedStep step;
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const Operation &op = plan.graph.operations[id];
    step.durations.push_back(model.nodes.integer(0));
    step.flops.push_back(Polynomial::constant(0));
    if (op.body != kNone)
      continue;
    auto priced = fit.price(id);
    if (!priced)
      return priced.error();
    auto &found = *priced;
    step.flops.back() = found.flops;
    step.durations.back() = model.nodes.picoseconds(found.seconds, longest);
    model.labels.push_back(
        {step.durations.back(), fmt::format("{} ({}, {}){}", op.name, op.kind, name(op.phase), suffix)});
    if (step.fixed.empty())
      step.fixed = found.fixed;
  }
  return step;
}

Result<PricedSteps> LatencyBuilder::price(LatencyModel &model, const MachineNodes &machine) const {
  PricedSteps both;
  for (auto [priced, from] : {std::pair(&both.single, &samples), {&both.accumulated, &accumulated}}) {
    auto found = price(model, machine, from->empty() ? samples : *from);
    if (!found)
      return found.error();
    *priced = std::move(*found);
  }
  return both;
}

Result<LatencyModel> LatencyBuilder::build(int64_t maxMicrobatch) {
  LatencyModel model;
  model.name = cName(plan.graph.model);
  model.model = plan.graph.model, model.machine = plan.machine.name, model.version = plan.version;
  std::vector<LatencyArgument> all = sizes(maxMicrobatch);
  MachineArguments arguments(all);
  arguments.memories(plan.machine);
  arguments.rates(plan);
  model.nodes = Expressions(all);
  Expressions &e = model.nodes;
  MachineNodes machine = arguments.nodes(e);
  auto priced = price(model, machine);
  if (!priced)
    return priced.error();
  if (const std::string &fixed = priced->single.fixed; !fixed.empty())
    fixMachineArguments(model, fixed);
  NodeId batch = e.argument(kBatch);
  model.guards.push_back({machine.microbatch, batch, "the micro-batch is larger than the batch"});
  NodeId microbatches = e.ceilDivide(batch, machine.microbatch);
  model.labels.push_back({microbatches, "micro-batches in a step"});
  auto nodes = step(model, machine, *priced, microbatches);
  if (!nodes)
    return nodes.error();
  if (auto error = finishModel(model, *nodes, microbatches, longest))
    return *error;
  model.planStep = plan.schedule.step.seconds().value;
  LatencyEvaluation at = evaluate(model, model.initial());
  model.exact = exactOrder && close(at.result.step, model.planStep);
  return model;
}

} // namespace accord
