#include "lib/latency/Builder.h"
#include "lib/analysis/Liveness.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <tuple>

namespace accord {
namespace {
constexpr double kFactor = 1e6; ///< of a rate or bandwidth, up and down

bool close(double a, double b) {
  return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b));
}
} // namespace

LatencyBuilder::LatencyBuilder(const Plan &plan, const std::vector<LatencySample> &samples,
                               PolynomialFit points, const LatencyFitOptions &options)
    : plan(plan), samples(samples), points(std::move(points)), options(options) {}

bool LatencyBuilder::inUpdate(OperationId id) const {
  RegionId region = plan.graph.operations[id].region;
  while (region > kUpdateRegion)
    region = plan.graph.regions[region].parent;
  return region == kUpdateRegion;
}

std::optional<Issue> LatencyBuilder::prepare() {
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
    return Issue{"A0707",
                 "the latency model's integers leave 64 bits: more than 2^40 executions in a step",
                 {},
                 {}};
  longest = static_cast<int64_t>(
      std::min<Count>(Count(1) << 52, (Count(1) << 61) / std::max<Count>(all, 1)));
  return fitMemory();
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

std::optional<Issue> LatencyBuilder::fitMemory() {
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
      return Issue{"A0707",
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
      totals.push_back(
          std::accumulate(use.timeline[i].bytes.begin(), use.timeline[i].bytes.end(), int64_t{0}));
    if (!seen.insert(totals).second)
      continue;
    std::optional<Polynomial> p = points.through(totals);
    std::string where = placeOf(uses.front().timeline[i].time);
    if (!p)
      return Issue{"A0707",
                   fmt::format("device memory {} is no polynomial of the micro-batch and the "
                               "sequence",
                               where),
                   {},
                   {}};
    auto below = [](const Polynomial &a, const Polynomial &b) { return dominated(a, b); };
    if (std::any_of(liveSets.begin(), liveSets.end(),
                    [&](const LiveSet &other) { return below(*p, other.bytes); }))
      continue;
    std::erase_if(liveSets, [&](const LiveSet &other) { return below(other.bytes, *p); });
    liveSets.push_back({where, *p});
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    double most = 0;
    for (const LiveSet &set : liveSets)
      most = std::max(most, set.bytes(static_cast<double>(samples[k].microbatch),
                                      static_cast<double>(samples[k].sequence)));
    if (!close(most, static_cast<double>(uses[k].peak)))
      return Issue{"A0707",
                   fmt::format("peak memory at micro-batch {} and sequence {} is {} B, its points "
                               "give {:.0f} B",
                               samples[k].microbatch, samples[k].sequence, uses[k].peak, most),
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

std::vector<LatencyArgument> LatencyBuilder::arguments(int64_t mostMicrobatch) {
  std::vector<LatencyArgument> all(3);
  auto real = [](int64_t v) { return static_cast<double>(v); };
  all[kBatch] = {"batch",
                 "samples",
                 "samples per step",
                 true,
                 real(plan.batch),
                 1,
                 std::max(0x1p40, real(plan.batch)),
                 1,
                 ""};
  all[kMicrobatch] = {"microbatch",
                      "samples",
                      "samples at a time; ceil(batch / microbatch) of them",
                      true,
                      real(plan.graph.microbatch),
                      1,
                      real(mostMicrobatch),
                      1,
                      ""};
  all[kSequence] = {"sequence", "tokens", "tokens per sample",      true, real(options.sequence),
                    1,          1,        options.sequenceMultiple, ""};
  int64_t least = options.leastSequence, most = options.mostSequence;
  for (const LatencySample &s : samples) {
    if (!options.leastSequence)
      least = least ? std::min(least, s.sequence) : s.sequence;
    if (!options.mostSequence)
      most = std::max(most, s.sequence);
  }
  all[kSequence].least = real(least), all[kSequence].most = real(most);
  for (size_t i : {kMicrobatch, kSequence})
    if (!free(i)) {
      all[i].least = all[i].most = all[i].initial;
      all[i].multiple = 1;
      all[i].held = options.held.empty() ? "no other was sampled" : options.held;
    }
  std::set<std::string> taken = {"batch", "microbatch", "sequence", "clock_scale"};
  auto machine = [&](const std::string &name, const char *unit, const std::string &text,
                     double initial) {
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i)
      unique = fmt::format("{}_{}", name, i);
    all.push_back(
        {unique, unit, text, false, initial, initial / kFactor, initial * kFactor, 1, ""});
    return all.size() - 1;
  };
  all.push_back({"clock_scale", "1", "times the clock of cores and of memories on the chip", false,
                 1, 1 / kFactor, kFactor, 1, ""});
  bandwidthArguments.clear(), rateArguments.clear();
  for (const Memory &memory : plan.machine.memories)
    bandwidthArguments.push_back(memory.bandwidth.value > 0
                                     ? machine(cName(memory.name) + "_bandwidth", "B/s",
                                               fmt::format("bandwidth of memory '{}'", memory.name),
                                               memory.bandwidth.value)
                                     : 0);
  auto rate = [&](int index, const std::string &type) {
    if (index < 0 || rateArguments.count({index, type}))
      return;
    const Core &core = plan.machine.cores[static_cast<size_t>(index)];
    double peak = peakOfOne(plan.machine, core, type).value * static_cast<double>(core.count);
    if (peak > 0 && std::isfinite(peak * kFactor))
      rateArguments[{index, type}] =
          machine(fmt::format("{}_{}_rate", cName(core.name), cName(type)), "FLOP/s",
                  fmt::format("{} peak of all instances of core '{}'", type, core.name), peak);
  };
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const OperationCost &cost = plan.costs.operations[id];
    if (cost.parts.empty() && cost.compute.value > 0)
      rate(cost.core, cost.type.empty() ? plan.graph.operations[id].type : cost.type);
    for (const PartCost &part : cost.parts)
      if (part.compute.value > 0)
        rate(part.core, part.type);
  }
  return all;
}

std::optional<Issue> LatencyBuilder::operations(LatencyModel &model, MachineNodes &machine,
                                                std::vector<NodeId> &durations) {
  OperationFit fit(plan, samples, points, model.nodes, machine, samples.size() == 1);
  std::string fixed;
  flops.clear();
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const Operation &op = plan.graph.operations[id];
    durations.push_back(model.nodes.integer(0));
    flops.push_back(Polynomial::constant(0));
    if (op.body != kNone)
      continue;
    auto priced = fit.price(id);
    if (auto *issue = std::get_if<Issue>(&priced))
      return *issue;
    auto &found = std::get<PricedOperation>(priced);
    flops.back() = found.flops;
    durations.back() = model.nodes.picoseconds(found.seconds, longest);
    model.labels.push_back(
        {durations.back(), fmt::format("{} ({}, {})", op.name, op.kind, name(op.phase))});
    if (fixed.empty())
      fixed = found.fixed;
  }
  // Nobody said how these times follow the machine.
  if (!fixed.empty())
    for (size_t i = kSequence + 1; i < model.arguments().size(); ++i) {
      LatencyArgument &argument = model.nodes.arguments()[i];
      argument.least = argument.most = argument.initial;
      argument.held = fixed;
    }
  return std::nullopt;
}

std::variant<LatencyModel, Issue> LatencyBuilder::build(int64_t mostMicrobatch) {
  LatencyModel model;
  model.name = cName(plan.graph.model);
  model.model = plan.graph.model, model.machine = plan.machine.name, model.version = plan.version;
  model.nodes = Expressions(arguments(mostMicrobatch));
  Expressions &e = model.nodes;
  MachineNodes machine;
  machine.microbatch = e.argument(kMicrobatch), machine.sequence = e.argument(kSequence);
  machine.clock = e.argument("clock_scale");
  for (size_t index : bandwidthArguments)
    machine.bandwidths.push_back(index ? e.argument(index) : kNoNode);
  for (auto [key, index] : rateArguments)
    machine.rates[key] = e.argument(index);
  std::vector<NodeId> durations;
  if (auto issue = operations(model, machine, durations))
    return *issue;
  NodeId batch = e.argument(kBatch);
  model.guards.push_back({machine.microbatch, batch, "the micro-batch is larger than the batch"});
  NodeId microbatches = e.ceilDivide(batch, machine.microbatch);
  model.labels.push_back({microbatches, "micro-batches in a step"});
  step(model, microbatches, durations);
  if (auto issue = memoryAndFlops(model, machine, microbatches))
    return *issue;
  std::sort(model.labels.begin(), model.labels.end(), [](const auto &a, const auto &b) {
    return std::tie(a.node, a.text) < std::tie(b.node, b.text);
  });
  if (auto issue = fractional(model))
    return *issue;
  model.planStep = plan.schedule.step.seconds().value;
  LatencyEvaluation at = evaluate(model, model.initial());
  model.exact = exactOrder && close(at.result.step, model.planStep);
  for (const LatencyArgument &argument : model.arguments())
    if (!argument.held.empty())
      model.notes.push_back(fmt::format("'{}' is held at {}", argument.name, rangeText(argument)));
  return model;
}

/// A polynomial with a denominator is whole at all sizes if it is at as many in a row as its degree
/// and one more (Polya 1915).
std::optional<Issue> LatencyBuilder::fractional(const LatencyModel &model) const {
  const LatencyArgument &sequence = model.arguments()[kSequence];
  auto first = static_cast<int64_t>(std::ceil(sequence.least / double(sequence.multiple)));
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
          return Issue{"A0707",
                       fmt::format("a count of {} is no whole number at sequence {}", p.text(), s),
                       {},
                       {}};
      }
  }
  return std::nullopt;
}

bool LatencyBuilder::fits(const LatencyModel &model) const {
  // The product that is the step, and its sum with the update, are guarded where they are asked.
  std::set<NodeId> guarded;
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    if (!node.integer)
      continue;
    bool after = node.kind == NodeKind::Product &&
                 node.range.most >= 0x1p62 && // micro-batches times picoseconds of one
                 model.nodes[node.operands[0]].range.least >= 0 &&
                 std::any_of(node.operands.begin(), node.operands.end(), [&](NodeId operand) {
                   return model.nodes[operand].kind == NodeKind::CeilDivide &&
                          model.nodes[operand].operands[0] == model.guards[0].most;
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

} // namespace accord
