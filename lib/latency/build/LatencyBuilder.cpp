#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/CalibratedFit.h"
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
                 "the latency model's integers leave 64 bits: more than 2^40 executions in a step"};
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
                   fmt::format("device memory has another number of points at micro-batch {} and sequence {}",
                               s.microbatch, s.sequence)};
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
                   fmt::format("device memory {} is no polynomial of the micro-batch and the sequence", where)};
    addNondominated(liveSets, {where, *p},
                    [](const LiveSet &a, const LiveSet &b) { return dominated(b.bytes, a.bytes); });
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    double max = 0;
    for (const LiveSet &set : liveSets)
      max = std::max(max, set.bytes(samples[k].microbatch, samples[k].sequence));
    if (!agree(max, uses[k].peak))
      return Error{Code::NoLatencyModel,
                   fmt::format("peak memory at micro-batch {} and sequence {} is {} B, its points give {:.0f} B",
                               samples[k].microbatch, samples[k].sequence, uses[k].peak, max)};
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
  auto set = [&](size_t i, const char *name, const char *unit, const char *text, double initial, double max) {
    LatencyArgument &a = all[i];
    a.name = name, a.unit = unit, a.text = text, a.integer = true, a.initial = initial, a.max = max;
  };
  set(kBatch, "batch", "samples", "samples per step", plan.batch, std::max<double>(0x1p40, plan.batch));
  set(kMicrobatch, "microbatch", "samples", "micro-batch size; ceil(batch / microbatch) of them", plan.graph.microbatch,
      maxMicrobatch);
  set(kSequence, "sequence", "tokens", "tokens per sample", options.sequence, 1);
  all[kSequence].multiple = options.sequenceMultiple;
  int64_t min = options.minSequence, max = options.maxSequence;
  for (const LatencySample &s : samples) {
    if (!options.minSequence)
      min = min ? std::min(min, s.sequence) : s.sequence;
    if (!options.maxSequence)
      max = std::max(max, s.sequence);
  }
  all[kSequence].min = min, all[kSequence].max = max;
  for (size_t i : {kMicrobatch, kSequence})
    if (!free(i)) {
      all[i].min = all[i].max = all[i].initial;
      all[i].multiple = 1;
      all[i].fixedReason = options.fixedReason.empty() ? "no other was sampled" : options.fixedReason;
    } else if (options.tabulated) {
      std::set<int64_t> sampled;
      for (const LatencySample &s : samples)
        sampled.insert(i == kMicrobatch ? s.microbatch : s.sequence);
      all[i].allowed.assign(sampled.begin(), sampled.end());
      all[i].min = *sampled.begin(), all[i].max = *sampled.rbegin();
      all[i].multiple = 1;
    }
  return all;
}

std::vector<std::string> LatencyBuilder::tableNotes(const PricedSteps &priced) const {
  const PricedStep &step = priced.single.tabulated > 0 ? priced.single : priced.accumulated;
  if (step.tabulated == 0)
    return {};
  std::vector<std::string> notes = {
      fmt::format("the times of {} of {} operations are found for each size, by tiles or by programs: a table has them "
                  "at the sizes that are listed, exactly; between two of them nothing is proven, and the model refuses "
                  "every other size",
                  step.tabulated, step.all)};
  if (std::ranges::any_of(plan.costs.operations, [](const OperationCost &cost) { return !cost.tiles.empty(); }))
    notes.push_back("at other clocks, rates and bandwidths the tiles stay those of the machine as described: tiles "
                    "found anew take no longer where their search ends, and no less than the time as described over "
                    "the largest of these factors and 1");
  return notes;
}

Result<PricedStep> LatencyBuilder::price(LatencyModel &model, const MachineNodes &machine,
                                         const std::vector<LatencySample> &from) const {
  const auto without = options.tabulated  ? WithoutExpression::Table
                       : from.size() == 1 ? WithoutExpression::Constant
                                          : WithoutExpression::Refuse;
  OperationFit fit(plan, from, points, model.nodes, machine, without);
  PricedStep step;
  std::vector<NodeId> calibrated(plan.graph.operations.size(), kNoNode);
  if (isCalibrated(plan)) {
    CalibratedFit times(plan, from, points, model.nodes, machine);
    auto found = times.run();
    if (found) {
      calibrated = std::move(*found);
      model.labels.push_back({times.hostFactor(), "times what the device computes in a micro-batch: the host launches "
                                                  "its kernels" +
                                                      suffix});
    } else if (without != WithoutExpression::Constant) {
      return found.takeError();
    }
  }
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const Operation &op = plan.graph.operations[id];
    step.durations.push_back(model.nodes.integer(0));
    step.flops.push_back(Polynomial::constant(0));
    if (op.body != kNone)
      continue;
    ACCORD_TRY(found, fit.price(id, calibrated[id]));
    step.flops.back() = found.flops;
    step.durations.back() = model.nodes.picoseconds(found.seconds, longest);
    model.labels.push_back(
        {step.durations.back(), fmt::format("{} ({}, {}){}", op.name, op.kind, name(op.phase), suffix)});
    if (step.fixed.empty())
      step.fixed = found.fixed;
    step.tabulated += found.tabulated, step.all += op.core != CoreKind::None;
  }
  return step;
}

Result<PricedSteps> LatencyBuilder::price(LatencyModel &model, const MachineNodes &machine) const {
  PricedSteps both;
  for (auto [priced, from] : {std::pair(&both.single, &samples), {&both.accumulated, &accumulated}}) {
    ACCORD_TRY(found, price(model, machine, from->empty() ? samples : *from));
    *priced = std::move(found);
  }
  return both;
}

NodeId LatencyBuilder::lengthOf(RegionId region, LatencyModel &model, const std::vector<NodeId> &durations,
                                NodeId *lastStage) const {
  Expressions &e = model.nodes;
  std::map<OperationId, NodeId> end;
  std::vector<NodeId> ends = {e.integer(0)};
  std::vector<bool> waited(plan.graph.operations.size());
  const RegionOrder &order = orders[region];
  for (const auto &after : order.after)
    for (OperationId before : after)
      waited[before] = true;
  for (size_t i = 0; i < order.operations.size(); ++i) {
    OperationId id = order.operations[i];
    std::vector<NodeId> before = {e.integer(0)};
    for (OperationId one : order.after[i])
      before.push_back(end[one]);
    const Operation &op = plan.graph.operations[id];
    NodeId duration = durations[id];
    if (op.body != kNone) { // closed: the body's length times its count
      // Iterations that overlap are over when the last stage of the last one is.
      NodeId last = e.integer(0);
      int64_t stages = orders[op.body].stages, count = plan.graph.regions[op.body].count;
      NodeId one = lengthOf(op.body, model, durations, &last);
      duration = e.multiply(one, e.integer(stages > 0 ? count - 1 + stages : count));
      if (stages > 0)
        duration = e.add(duration, last);
      model.labels.push_back({duration, fmt::format("{}: {} times {}{}", op.name, plan.graph.regions[op.body].count,
                                                    plan.graph.regions[op.body].name, suffix)});
    }
    end[id] = e.add(e.maximum(before), duration);
    if (!waited[id]) // whoever waits ends later
      ends.push_back(end[id]);
  }
  NodeId length = e.maximum(ends);
  if (lastStage && !order.lastStage.empty()) {
    std::vector<NodeId> last;
    for (OperationId id : order.lastStage)
      last.push_back(end[id]);
    *lastStage = e.maximum(last);
  }
  const char *what = region == kMicrobatchRegion ? "one micro-batch"
                     : region == kUpdateRegion   ? "the update"
                                                 : "one iteration";
  model.labels.push_back({length, fmt::format("picoseconds of {}: {}, from its first start to its last end{}",
                                              plan.graph.regions[region].name, what, suffix)});
  return length;
}

Result<StepNodes> LatencyBuilder::step(LatencyModel &model, const MachineNodes &machine, const PricedSteps &priced,
                                       NodeId microbatches) const {
  Expressions &e = model.nodes;
  StepNodes nodes;
  auto length = [&](RegionId region) {
    NodeId single = lengthOf(region, model, priced.single.durations),
           accumulated = priced.accumulated.durations == priced.single.durations
                             ? single
                             : lengthOf(region, model, priced.accumulated.durations);
    return e.select(microbatches, {{1, single}, {2, accumulated}});
  };
  nodes.micro = length(kMicrobatchRegion), nodes.update = length(kUpdateRegion);
  const Machine::HostOverhead &host = plan.machine.host;
  if (host.microbatch.value > 0 || host.step.value > 0) {
    // Where the plan's step counts them, so does the model.
    NodeId withHost = e.add(nodes.micro, e.integer(Picoseconds::ceil(host.microbatch).value));
    NodeId updateHost = e.add(nodes.update, e.integer(Picoseconds::ceil(host.step).value));
    std::vector<double> own = machine.at.empty() ? model.initial() : machine.at;
    own[kMicrobatch] = plan.graph.microbatch;
    if (auto data = model.argument("data_parallel"))
      own[kBatch] = plan.batch * own[*data];
    Evaluation at(e, std::move(own));
    if (at.integer(withHost) * plan.graph.microbatches + at.integer(updateHost) == plan.schedule.step.value)
      nodes.micro = withHost, nodes.update = updateHost;
  }
  std::vector<NodeId> all = {e.integer(0)};
  for (const PricedStep *step : {&priced.single, &priced.accumulated})
    for (NodeId duration : step->durations)
      if (std::find(all.begin(), all.end(), duration) == all.end())
        all.push_back(duration);
  nodes.slowest = e.maximum(all);
  std::vector<NodeId> sets = {e.integer(0)};
  for (const LiveSet &set : liveSets) {
    sets.push_back(e.polynomial(set.bytes, machine.microbatch, machine.sequence));
    model.labels.push_back({sets.back(), "bytes " + set.where + suffix});
  }
  nodes.bytes = e.maximum(sets);
  Polynomial one = Polynomial::constant(0), update = one;
  for (OperationId id = 0; id < priced.single.flops.size(); ++id) {
    Polynomial &sum = inUpdate(id) ? update : one;
    auto more = add(sum, priced.single.flops[id], executions[id]);
    if (!more)
      return Error{Code::NoLatencyModel, "the FLOPs of a micro-batch leave 64 bits"};
    sum = *more;
  }
  nodes.microFlops = e.polynomial(one, machine.microbatch, machine.sequence);
  nodes.updateFlops = e.polynomial(update, machine.microbatch, machine.sequence);
  model.labels.push_back({nodes.microFlops, "FLOPs of a micro-batch" + suffix});
  model.labels.push_back({nodes.updateFlops, "FLOPs of the update" + suffix});
  return nodes;
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
  ACCORD_TRY(priced, price(model, machine));
  if (isCalibrated(plan))
    model.notes.push_back(calibrationNote(plan));
  if (const std::string &fixed = priced.fixed(); !fixed.empty())
    fixMachineArguments(model, fixed);
  for (std::string &note : tableNotes(priced))
    model.notes.push_back(std::move(note));
  NodeId batch = e.argument(kBatch);
  model.guards.push_back({machine.microbatch, batch, "the micro-batch is larger than the batch"});
  NodeId microbatches = e.ceilDivide(batch, machine.microbatch);
  model.labels.push_back({microbatches, "micro-batches in a step"});
  ACCORD_TRY(nodes, step(model, machine, priced, microbatches));
  if (auto error = finishModel(model, nodes, microbatches, longest))
    return *error;
  model.planStep = plan.schedule.step.seconds().value;
  LatencyEvaluation at = evaluate(model, model.initial());
  model.exact = exactOrder && agree(at.result.step, model.planStep);
  return model;
}

/// A polynomial with a denominator is whole at all sizes if it is at as many in a row as its degree and one more (Polya
/// 1915).
static std::optional<Error> fractional(const LatencyModel &model) {
  const LatencyArgument &sequence = model.arguments()[kSequence];
  auto first = static_cast<int64_t>(std::ceil(sequence.min / double(sequence.multiple)));
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    if (node.kind != NodeKind::Polynomial || model.nodes.polynomialOf(node).denominator == 1)
      continue;
    const Polynomial &p = model.nodes.polynomialOf(node);
    for (int64_t b : {1, 2})
      for (int64_t t : {first, first + 1, first + 2}) {
        int64_t s = t * sequence.multiple;
        Count sum = 0, powerB = 1;
        for (unsigned i = 0; i < Polynomial::kB; ++i, powerB *= b) {
          Count power = powerB;
          for (unsigned j = 0; j < Polynomial::kS; ++j, power *= s)
            sum += p.c[i][j] * power;
        }
        if (sum % p.denominator != 0)
          return Error{Code::NoLatencyModel,
                       fmt::format("a count of {} is no whole number at sequence {}", p.text(), s)};
      }
  }
  return std::nullopt;
}

/// Whether all integers of the model stay within 64 bits in its domain.
static bool fitsInt64(const LatencyModel &model) {
  // The product that is the step, and its sum with the update, are guarded where they are asked.
  std::set<NodeId> guarded;
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    if (!node.integer)
      continue;
    bool after = node.kind == NodeKind::Product && node.range.max >= 0x1p62 && // micro-batches times picoseconds of one
                 model.nodes[node.operands[0]].range.min >= 0 &&
                 std::any_of(node.operands.begin(), node.operands.end(), [&](NodeId operand) {
                   return model.nodes[operand].kind == NodeKind::CeilDivide &&
                          model.nodes[operand].operands[0] == model.guards[0].max;
                 });
    for (NodeId operand : node.operands)
      after |= guarded.count(operand) > 0;
    if (after)
      guarded.insert(id);
    else if (model.nodes.magnitude(id) >= 0x1p62)
      return false;
  }
  return true;
}

Result<LatencyModel> buildWithinInt64(int64_t microbatch,
                                      const std::function<Result<LatencyModel>(int64_t max)> &build) {
  for (int64_t max = int64_t{1} << 20;; max /= 2) {
    auto model = build(std::max(max, microbatch));
    if (!model)
      return model;
    auto &built = *model;
    if (fitsInt64(built)) {
      LatencyEvaluation own = evaluate(built, built.initial());
      if (own.status)
        return Error{Code::NoLatencyModel, "the plan's own sizes: " + explain(built, own.status, built.initial())};
      return model;
    }
    if (max <= microbatch)
      return Error{Code::NoLatencyModel, "the latency model's integers leave 64 bits"};
  }
}

std::optional<Error> finishModel(LatencyModel &model, const StepNodes &nodes, NodeId microbatches,
                                 int64_t maxDuration) {
  Expressions &e = model.nodes;
  model.guards.push_back({nodes.slowest, e.integer(maxDuration - 1),
                          fmt::format("an operation takes {:.3g} s or longer", maxDuration * 1e-12)});
  NodeId estimate = e.add(e.multiply(e.toReal(microbatches), e.toReal(nodes.micro)), e.toReal(nodes.update));
  model.guards.push_back({estimate, e.real(0x1p62), fmt::format("the step takes {:.3g} s or longer", 0x1p62 * 1e-12)});
  NodeId total = e.add(e.multiply(microbatches, nodes.micro), nodes.update);
  model.outputs.push_back({"step_time_s", "seconds of a step: all micro-batches, then the update",
                           e.multiply(e.real(1e-12), e.toReal(total))});
  model.outputs.push_back(
      {"memory_bytes", "bytes in device memory at the peak of the plan's schedule", e.toReal(nodes.bytes)});
  model.outputs.push_back(
      {"flops", "floating-point operations of a step",
       e.add(e.multiply(e.toReal(microbatches), e.toReal(nodes.microFlops)), e.toReal(nodes.updateFlops))});
  auto key = [](const LatencyModel::Label &label) { return std::tie(label.node, label.text); };
  std::sort(model.labels.begin(), model.labels.end(), [&](const auto &a, const auto &b) { return key(a) < key(b); });
  if (auto error = fractional(model))
    return *error;
  return std::nullopt;
}

} // namespace accord
