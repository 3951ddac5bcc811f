#include "lib/latency/build/OperationFit.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

bool agree(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b)); }

bool isFoundForEachSize(const OperationCost &cost) { return !cost.tiles.empty() || timesInstructions(cost.model); }

const std::vector<Loop> &OperationFit::Piece::domain(const WorkGraph &graph) const {
  const Operation &op = graph.operations[id];
  return part ? op.parts[*part].domain : op.domain;
}
int64_t OperationFit::Piece::flops(const WorkGraph &graph) const {
  const Operation &op = graph.operations[id];
  return part ? op.parts[*part].flops : op.flops;
}
double OperationFit::Piece::compute(const Costs &costs) const {
  const OperationCost &cost = costs.operations[id];
  return (part ? cost.parts[*part].compute : cost.compute).value;
}

OperationFit::OperationFit(const Plan &plan, const std::vector<LatencySample> &samples, const PolynomialFit &points,
                           Expressions &nodes, const MachineNodes &machine, WithoutExpression without)
    : plan(plan), samples(samples), points(points), nodes(nodes), machine(machine), without(without) {
  std::vector<double> arguments = machine.at;
  if (arguments.empty())
    for (const LatencyArgument &argument : nodes.arguments())
      arguments.push_back(argument.initial);
  for (const LatencySample &s : samples) {
    arguments[nodes[machine.microbatch].index] = s.microbatch;
    arguments[nodes[machine.sequence].index] = s.sequence;
    at.emplace_back(nodes, arguments);
  }
}

Error OperationFit::error(OperationId id, const std::string &what) const {
  const Operation &op = plan.graph.operations[id];
  return {Code::NoLatencyModel, fmt::format("operation '{}': {}", op.name, what), op.location};
}

std::optional<Polynomial> OperationFit::polynomial(const std::vector<double> &values) const {
  std::vector<int64_t> whole;
  for (double value : values) {
    if (std::fabs(value) > 9e18 || value != std::floor(value))
      return std::nullopt;
    whole.push_back(static_cast<int64_t>(value));
  }
  return points.through(whole);
}

template <typename Expected> bool OperationFit::agrees(NodeId seconds, Expected expected) {
  for (size_t i = 0; i < samples.size(); ++i)
    if (!agree(at[i].real(seconds), expected(samples[i])))
      return false;
  return true;
}

bool OperationFit::agreesWithTime(OperationId id, NodeId seconds) {
  return agrees(seconds, [&](const LatencySample &s) { return s.costs->operations[id].time.value; });
}

template <typename Get> std::optional<Polynomial> OperationFit::counted(Get get) const {
  std::vector<int64_t> values;
  for (const LatencySample &s : samples)
    values.push_back(get(*s.graph));
  return points.through(values);
}

NodeId OperationFit::arithmetic(const Piece &piece, NodeId flops, PricedOperation &out) {
  const OperationCost &cost = plan.costs.operations[piece.id];
  auto compute = [&](const LatencySample &s) { return piece.compute(*s.costs); };
  if (agrees(nodes.real(0), compute))
    return nodes.real(0);
  if (timesInstructions(cost.model))
    return programs(piece, out);
  const Operation &op = plan.graph.operations[piece.id];
  SymbolicOperation symbolic;
  symbolic.operation = &op;
  symbolic.kind = piece.part ? op.parts[*piece.part].kind : op.kind;
  symbolic.tensors = piece.part ? &op.parts[*piece.part].tensors : &op.tensors;
  symbolic.machine = &plan.machine;
  symbolic.core = piece.part ? cost.parts[*piece.part].core : cost.core;
  // Where either may be: as it was chosen for this operation.
  std::optional<Machine> alone;
  if (symbolic.core >= 0 && plan.machine.cores[symbolic.core].anyMapping) {
    alone = plan.machine;
    alone->cores[symbolic.core].perInstanceMapping = occupiedInstances(plan.machine, cost, symbolic.core) == 1;
    symbolic.machine = &*alone;
  }
  symbolic.flops = flops;
  symbolic.clock = machine.clock;
  std::string type = piece.part ? cost.parts[*piece.part].type : cost.type;
  if (auto rate = machine.rates.find({symbolic.core, type.empty() ? op.type : type}); rate != machine.rates.end())
    symbolic.rate = rate->second;
  const std::vector<Loop> &domain = piece.domain(plan.graph);
  for (size_t l = 0; l < domain.size(); ++l) {
    std::vector<double> values;
    for (const LatencySample &s : samples) {
      const std::vector<Loop> &loops = piece.domain(*s.graph);
      values.push_back(l < loops.size() ? static_cast<double>(std::max<int64_t>(loops[l].extent, 1)) : 0.5);
    }
    auto extent = polynomial(values);
    if (!extent) {
      symbolic.extents.clear();
      break;
    }
    symbolic.extents.push_back(nodes.polynomial(*extent, machine.microbatch, machine.sequence));
    symbolic.kinds.push_back(domain[l].kind);
  }
  for (unsigned stage = 0; stage < kSymbolicCostStages; ++stage)
    for (NodeId candidate : symbolicCosts(cost.model, symbolic, nodes, stage))
      if (agrees(candidate, compute))
        return candidate;
  if (NodeId constant = constantRate(piece, flops, out); constant != kNoNode)
    return constant;
  NodeId tabulated = without == WithoutExpression::Table ? tabulatedArithmetic(piece) : kNoNode;
  out.tabulated |= tabulated != kNoNode;
  return tabulated;
}

/// Another cost model: a constant rate that it may have from anywhere.
NodeId OperationFit::constantRate(const Piece &piece, NodeId flops, PricedOperation &out) {
  auto compute = [&](const LatencySample &s) { return piece.compute(*s.costs); };
  const LatencySample &first = samples.front();
  double seconds = piece.compute(*first.costs);
  double rate = piece.flops(*first.graph) / seconds;
  NodeId constant =
      rate > 0 && std::isfinite(rate) ? nodes.divide(nodes.toReal(flops), nodes.real(rate)) : nodes.real(seconds);
  if (!agrees(constant, compute) && samples.size() == 1)
    constant = nodes.real(seconds);
  if (!agrees(constant, compute))
    return kNoNode;
  out.fixed = noExpression(piece.id);
  return constant;
}

/// Whether an operation is the same at every sample.
bool OperationFit::isFixed(OperationId id) const {
  const Operation &here = samples.front().graph->operations[id];
  return std::ranges::all_of(samples, [&](const LatencySample &s) {
    const Operation &there = s.graph->operations[id];
    return here.flops == there.flops && here.bytesRead == there.bytesRead && here.bytesWritten == there.bytesWritten &&
           std::ranges::equal(here.domain, there.domain, {}, &Loop::extent, &Loop::extent);
  });
}

NodeId OperationFit::programs(const Piece &piece, PricedOperation &out) {
  NodeId seconds = tabulatedArithmetic(piece);
  out.tabulated |= seconds != kNoNode && !isFixed(piece.id);
  return seconds;
}

NodeId OperationFit::table(const std::vector<double> &values) {
  std::map<int64_t, std::map<int64_t, NodeId>> bySequence;
  for (size_t i = 0; i < samples.size(); ++i)
    bySequence[samples[i].sequence][samples[i].microbatch] = nodes.real(values[i]);
  std::vector<std::pair<int64_t, NodeId>> rows;
  for (const auto &[sequence, byMicrobatch] : bySequence)
    rows.push_back({sequence, nodes.select(machine.microbatch, {byMicrobatch.begin(), byMicrobatch.end()})});
  return nodes.select(machine.sequence, rows);
}

NodeId OperationFit::tabulatedArithmetic(const Piece &piece) {
  const OperationCost &cost = plan.costs.operations[piece.id];
  auto placeOf = [&](const OperationCost &of) {
    return piece.part ? std::pair(of.parts[*piece.part].core, of.parts[*piece.part].type) : std::pair(of.core, of.type);
  };
  std::vector<double> seconds;
  for (const LatencySample &s : samples) {
    const OperationCost &there = s.costs->operations[piece.id];
    if (there.model != cost.model || placeOf(there) != placeOf(cost)) // whose clock or rate is it
      return kNoNode;
    seconds.push_back(piece.compute(*s.costs));
  }
  if (timesInstructions(cost.model))
    return nodes.divide(table(seconds), machine.clock);
  if (cost.model != "array" && cost.model != "vector")
    return kNoNode;
  auto rate = machine.rates.find(placeOf(cost));
  if (rate == machine.rates.end())
    return kNoNode;
  NodeId faster = nodes.divide(rate->second, nodes.real(nodes.arguments()[nodes[rate->second].index].initial));
  return nodes.divide(table(seconds), nodes.multiply(faster, machine.clock));
}

std::string OperationFit::noExpression(OperationId id) const {
  return fmt::format("cost model '{}' gives operation '{}' a time that is no expression of the machine",
                     plan.costs.operations[id].model, plan.graph.operations[id].name);
}

NodeId OperationFit::transfer(OperationId id, size_t level, PricedOperation &out) {
  auto transferred = [&](const LatencySample &s) {
    const auto &transfer = s.costs->operations[id].transfer;
    return level < transfer.size() ? transfer[level].value : 0.0;
  };
  if (agrees(nodes.real(0), transferred))
    return nodes.real(0);
  std::vector<double> values;
  for (const LatencySample &s : samples) {
    const auto &bytes = s.costs->operations[id].bytes;
    values.push_back(level < bytes.size() ? bytes[level].value : 0);
  }
  auto bytes = polynomial(values);
  bool tabulates = !bytes && without == WithoutExpression::Table;
  if ((!bytes && !tabulates) || machine.bandwidths[level] == kNoNode)
    return kNoNode;
  const Memory &memory = plan.machine.memories[level];
  // What lies on the chip runs at its clock; device memory has one of its own.
  NodeId clock = memory.kind == "dram" || memory.kind.empty() ? nodes.real(1) : machine.clock;
  NodeId moved =
      tabulates ? table(values) : nodes.toReal(nodes.polynomial(*bytes, machine.microbatch, machine.sequence));
  for (double efficiency : {memory.efficiency, 1.0}) {
    NodeId bandwidth = nodes.multiply(machine.bandwidths[level], nodes.real(efficiency));
    NodeId seconds = nodes.divide(nodes.add(nodes.real(memory.latency.value), nodes.divide(moved, bandwidth)), clock);
    if (agrees(seconds, transferred)) {
      out.tabulated |= tabulates;
      return seconds;
    }
  }
  return kNoNode;
}

NodeId OperationFit::communication(OperationId id) {
  std::vector<double> payloads;
  for (const LatencySample &s : samples) {
    const auto &communication = s.graph->operations[id].communication;
    payloads.push_back(communication ? static_cast<double>(communication->payload) : 0.5);
  }
  auto payload = polynomial(payloads);
  if (!payload || !machine.communication)
    return kNoNode;
  if (payload->zero()) // nothing to exchange
    return nodes.real(0);
  return machine.communication(*plan.graph.operations[id].communication,
                               nodes.toReal(nodes.polynomial(*payload, machine.microbatch, machine.sequence)));
}

NodeId OperationFit::total(OperationId id, PricedOperation &out) {
  const Operation &op = plan.graph.operations[id];
  const OperationCost &cost = plan.costs.operations[id];
  std::vector<NodeId> terms;
  std::map<int, NodeId> sums; // the parts of one core add up, the largest sum counts
  for (size_t i = 0; i < std::max<size_t>(op.parts.size(), 1); ++i) {
    Piece piece{id, op.parts.empty() ? std::nullopt : std::optional(i)};
    auto own = counted([&](const WorkGraph &g) { return piece.flops(g); });
    NodeId seconds =
        own ? arithmetic(piece, nodes.polynomial(*own, machine.microbatch, machine.sequence), out) : kNoNode;
    if (seconds == kNoNode)
      return kNoNode;
    int core = piece.part ? cost.parts[i].core : cost.core;
    auto [sum, fresh] = sums.try_emplace(core, seconds);
    if (!fresh)
      sum->second = nodes.add(sum->second, seconds);
  }
  for (auto [core, sum] : sums)
    terms.push_back(sum);
  const size_t computed = terms.size();
  for (size_t l = 0; l < plan.machine.memories.size(); ++l)
    terms.push_back(transfer(id, l, out));
  if (op.core == CoreKind::Network && op.communication)
    terms.push_back(communication(id));
  if (std::ranges::find(terms, kNoNode) != terms.end())
    return kNoNode;
  std::vector<NodeId> rooflines = {nodes.maximum(terms)};
  if (cost.core >= 0)
    rooflines.push_back(filledBeforeUse(id, std::span(terms).first(computed), std::span(terms).subspan(computed)));
  for (NodeId roofline : rooflines)
    for (NodeId candidate : symbolicTotals(cost.model, roofline, plan.machine.host.kernel.value, nodes))
      if (agreesWithTime(id, candidate))
        return candidate;
  return kNoNode;
}

/// A memory that is filled before it is used adds its time, from the core outwards (`roofline` of cost/CostModel.h).
NodeId OperationFit::filledBeforeUse(OperationId id, std::span<const NodeId> computes,
                                     std::span<const NodeId> transfers) {
  const Machine &described = plan.machine;
  const size_t levels = levelsOf(described, described.cores[plan.costs.operations[id].core]);
  NodeId time = nodes.maximum({computes.begin(), computes.end()});
  for (size_t l = levels; l-- > 0;)
    time = l + 1 < levels && !overlapsTransfers(described.memories[l + 1]) ? nodes.add(time, transfers[l])
                                                                           : nodes.maximum({time, transfers[l]});
  return time;
}

Result<PricedOperation> OperationFit::price(OperationId id, NodeId calibrated) {
  const OperationCost &cost = plan.costs.operations[id];
  PricedOperation out;
  auto flops = counted([&](const WorkGraph &g) { return g.operations[id].flops; });
  if (!flops)
    return error(id, "its FLOPs are no polynomial of the micro-batch (degree 1) and the sequence (degree 2)");
  out.flops = *flops;
  // What a search or a program gives at three sizes says nothing of a fourth one.
  if (isFoundForEachSize(cost) && without == WithoutExpression::Refuse && !isFixed(id))
    return error(id, fmt::format("its {} found for each size, which no expression gives",
                                 cost.tiles.empty() ? "program is" : "tiles are"));
  if (calibrated != kNoNode)
    out.seconds = agreesWithTime(id, calibrated) ? calibrated : kNoNode;
  else
    out.seconds = total(id, out);
  if (out.seconds != kNoNode)
    return out;
  if (without == WithoutExpression::Refuse)
    return error(id, fmt::format("cost model '{}' gives it a time that is no expression of its size and the machine",
                                 cost.model));
  out.tabulated = without == WithoutExpression::Table;
  std::vector<double> times;
  for (const LatencySample &s : samples)
    times.push_back(s.costs->operations[id].time.value);
  out.seconds = table(times);
  out.fixed = noExpression(id);
  return out;
}

} // namespace accord
