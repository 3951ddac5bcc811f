// The roofline again, in a few lines of its own.

#include "lib/machine/model/Lookups.h"
#include "lib/planning/verify/Proof.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord {
int bitsOf(const std::string &type) {
  static const std::map<std::string, int> known = {{"fp4", 4},   {"fp8", 8},    {"bf16", 16},  {"fp16", 16},
                                                   {"tf32", 19}, {"fp32", 32},  {"fp64", 64},  {"int4", 4},
                                                   {"int8", 8},  {"int16", 16}, {"int32", 32}, {"int64", 64}};
  auto found = known.find(type);
  return found == known.end() ? 0 : found->second;
}

bool isInteger(const std::string &type) { return type.rfind("int", 0) == 0; }

double peakOfInstance(const Core &core, const std::string &type, const Machine &machine) {
  auto stated = core.peak.find(type);
  return stated != core.peak.end() ? stated->second.value
         : core.rows > 0           ? 2.0 * core.rows * core.cols * machine.clock.value
                                   : core.lanes * machine.clock.value;
}

namespace {

/// An operation, or a part of one.
struct Arithmetic {
  const std::string &name, &kind;
  CoreKind wants;
  const std::string &asked; ///< type
  double flops;
  const std::vector<Loop> &domain;
  int64_t instances; ///< of the core that it computes on
};

/// What the kind of an operation and its arithmetic allow; the least time at the core's peak, or,
/// if it is less, with the cycles that the core states for the kind (not where `peak` is the
/// model).
double verifyCore(Proof &p, const Operation &op, const Arithmetic &part, const std::string &type, int index,
                  bool peak) {
  const auto &[what, sort, kind, asked, flops, domain, instances] = part;
  const Core &core = p.plan.machine.cores[index];
  if (core.kind != kind && !(kind == CoreKind::Tensor && core.kind == CoreKind::Vector))
    p.find(Code::WrongCost, op.location, "'{}' needs a {} core, '{}' is a {} core", what, name(kind), core.name,
           name(core.kind));
  bool floats = !isInteger(asked) && isInteger(type);
  if (bitsOf(type) < bitsOf(asked) && !(isInteger(asked) && type == "fp32"))
    floats = true;
  if (floats)
    p.find(Code::WrongCost, op.location, "'{}' computes in {}, narrower than its {}", what, type, asked);
  double rate = instances * peakOfInstance(core, type, p.plan.machine) * core.efficiency,
         min = flops > 0 ? (flops + core.halfPerformanceWork.value) / rate : 0;
  if (auto stated = core.cyclesOf.find(sort); stated != core.cyclesOf.end() && !peak) {
    double points = 1;
    for (const Loop &loop : domain)
      points *= std::max<int64_t>(loop.extent, 1);
    min = std::min(min, points * stated->second / rate);
  }
  return min;
}

/// Time of the arithmetic at the peak. Of a fused operation: the largest sum of a core, and whether
/// the plan adds up what it says of the parts.
double verifyCompute(Proof &p, const Operation &op, const OperationCost &cost) {
  if (op.parts.empty())
    return verifyCore(p, op,
                      {op.name, op.kind, op.core, op.type, double(op.flops), op.domain, p.instances(cost, cost.core)},
                      cost.type, cost.core, cost.model == "peak");
  std::map<int, double> min, said;
  Count flops = 0;
  for (size_t i = 0; i < op.parts.size(); ++i) {
    const FusedPart &part = op.parts[i];
    const PartCost &one = cost.parts[i];
    const Core &core = p.plan.machine.cores[one.core];
    flops += part.flops;
    double time = verifyCore(p, op,
                             {part.name, part.kind, part.core, part.type, double(part.flops), part.domain,
                              core.perInstanceMapping ? 1 : core.count},
                             one.type, one.core, cost.model == "peak");
    if (one.compute.value < time * (1 - 1e-9))
      p.find(Code::WrongCost, op.location, "compute time of '{}' is {:.9g} s, its core needs {:.9g} s at its peak",
             part.name, one.compute.value, time);
    min[one.core] += time;
    said[one.core] += one.compute.value;
  }
  if (flops != op.flops)
    p.find(Code::WrongCost, op.location, "'{}' does {} FLOP, its parts {:.0f}", op.name, op.flops,
           static_cast<double>(flops));
  auto largest = [](const std::map<int, double> &of) {
    return std::max(0.0, std::ranges::max_element(of, {}, [](const auto &one) { return one.second; })->second);
  };
  if (!close(largest(said), cost.compute.value))
    p.find(Code::WrongCost, op.location, "compute time of '{}' is {:.9g} s, its parts give {:.9g} s", op.name,
           cost.compute.value, largest(said));
  return largest(min);
}

/// What it takes to move so much at a memory.
double transferTime(const Memory &memory, double bytes) {
  return bytes > 0 && memory.bandwidth.value > 0
             ? memory.latency.value + bytes / (memory.bandwidth.value * memory.efficiency)
             : 0;
}

/// The most that attention can hide of an exchange that goes round a ring beside it: the longest product of its region,
/// but for the piece that is there from the start.
double hiddenTime(const Plan &plan, const Operation &op) {
  if (!op.communication || !op.communication->ring)
    return 0;
  double longest = 0;
  for (OperationId other : plan.graph.regions[op.region].operations)
    if (plan.graph.operations[other].contraction)
      longest = std::max(longest, plan.costs.operations[other].time.value);
  double devices = op.communication->devices;
  return longest * (devices - 1) / devices;
}

/// An exchange with other devices: its time on the links is of the cluster, of which the plan says
/// nothing; what it moves in device memory is known.
void verifyCommunication(Proof &p, const Operation &op, const OperationCost &cost,
                         std::map<std::string, unsigned> &given) {
  const Machine &machine = p.plan.machine;
  double bytes = double(op.bytesRead) + op.bytesWritten;
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    const Memory &memory = machine.memories[m];
    double transfer = m == 0 ? transferTime(memory, bytes) : 0;
    if (!close(cost.transfer[m].value, transfer))
      p.find(Code::WrongCost, op.location, "'{}' takes {:.9g} s in memory '{}', its data takes {:.9g} s", op.name,
             cost.transfer[m].value, memory.name, transfer);
    if (cost.time.value < (transfer - hiddenTime(p.plan, op)) * (1 - 1e-9))
      p.find(Code::WrongCost, op.location, "'{}' takes {:.9g} s, its data takes {:.9g} s in memory '{}'", op.name,
             cost.time.value, transfer, memory.name);
  }
  ++given[cost.model];
}

/// Of a core over which work is spread all, of others one; of those that leave it open either.
void verifyInstances(Proof &p, const Operation &op, const OperationCost &cost) {
  const Core &core = p.plan.machine.cores[cost.core];
  bool all = cost.instances == core.count && (!core.perInstanceMapping || core.anyMapping || !cost.parts.empty()),
       one = cost.instances == 1 && cost.parts.empty() && (core.perInstanceMapping || core.anyMapping);
  if (cost.instances != 0 && !all && !one)
    p.find(Code::WrongCost, op.location, "'{}' is stated to run on {} of the {} instances of core '{}'", op.name,
           cost.instances, core.count, core.name);
}

/// Whether the cost names cores that there are, for each part of the operation.
bool verifyCores(Proof &p, const Operation &op, const OperationCost &cost) {
  int cores = p.plan.machine.cores.size();
  if (cost.core < 0 || cost.core >= cores) {
    p.find(Code::WrongCost, op.location, "'{}' needs a {} core, the plan gives it core {} of {}", op.name,
           name(op.core), cost.core, cores);
    return false;
  }
  verifyInstances(p, op, cost);
  if (op.givenSeconds)
    return true;
  if (op.parts.size() != cost.parts.size()) {
    p.find(Code::WrongCost, op.location, "'{}' has {} parts, its cost is for {}", op.name, op.parts.size(),
           cost.parts.size());
    return false;
  }
  for (const PartCost &part : cost.parts)
    if (part.core < 0 || part.core >= cores) {
      p.find(Code::WrongCost, op.location, "a part of '{}' runs on core {} of {}", op.name, part.core, cores);
      return false;
    }
  return true;
}

/// Reports a quantity of an operation that its work on the machine does not give.
void verifyQuantity(Proof &p, const Operation &op, const std::string &what, double reported, double derived) {
  if (!close(reported, derived))
    p.find(Code::WrongCost, op.location, "{} of '{}' is {:.9g}, its work on '{}' gives {:.9g}", what, op.name, reported,
           p.plan.machine.name, derived);
}

/// Bytes that an operation moves where each element passes once, without what zeros save.
double compulsoryTraffic(const Proof &p, const Operation &op) {
  const ZeroShares zeros = p.zerosOf(op);
  double bytes = (double(op.bytesRead) + op.bytesWritten) * zeros.bytes;
  if (zeros.stored == 1)
    return bytes;
  double elements = 1;
  for (const auto &position : op.tensors[zeros.tensor].dimensions) {
    double reached = 1;
    for (const LoopTensor::Term &term : position)
      reached += std::abs(double(term.stride)) * double(op.domain[term.loop].extent - 1);
    elements *= reached;
  }
  return bytes - elements * op.tensors[zeros.tensor].elementBits / 8 * (1 - zeros.stored);
}

/// Traffic and transfer time at the memories; returns `energy` with that of the traffic. `levels`: memories
/// that the core uses.
double verifyTraffic(Proof &p, const Operation &op, const OperationCost &cost, size_t levels, double energy) {
  double bytes = compulsoryTraffic(p, op);
  bool mapped = !cost.tiles.empty();
  for (size_t m = 0; m < p.plan.machine.memories.size(); ++m) {
    const Memory &memory = p.plan.machine.memories[m];
    double said = m < cost.bytes.size() ? cost.bytes[m].value : 0, moved = m < levels ? bytes : 0;
    if (auto lookup = lookupRows(op); lookup && m < levels)
      moved += sectorOverhead(*lookup, memory.sector.value);
    if (mapped && m < levels) {
      if (said < moved * (1 - 1e-9))
        p.find(Code::WrongCost, op.location, "traffic of '{}' at {} is {:.9g} B, its tensors have {:.9g} B", op.name,
               memory.name, said, moved);
      moved = said;
    }
    energy += moved * memory.energy.value;
    verifyQuantity(p, op, "transfer time at " + memory.name, cost.transfer[m].value, transferTime(memory, moved));
    verifyQuantity(p, op, "traffic at " + memory.name, said, moved);
  }
  return energy;
}

/// From the core outwards: a memory is filled while it is used, or before.
double timeOf(const Machine &machine, const OperationCost &cost, size_t levels) {
  double time = cost.compute.value;
  for (size_t m = levels; m-- > 0;) {
    bool before = m + 1 < levels && !machine.memories[m + 1].doubleBuffered && machine.memories[m + 1].kind != "cache";
    time = before ? time + cost.transfer[m].value : std::max(time, cost.transfer[m].value);
  }
  return time > 0 ? std::max(time, machine.host.kernel.value) : time;
}

void verifyOperationCost(Proof &p, const Operation &op, const OperationCost &cost,
                         std::map<std::string, unsigned> &given, unsigned &windows) {
  const Machine &machine = p.plan.machine;
  if (op.core == CoreKind::None) {
    if (cost.time.value != 0 || cost.core != -1)
      p.find(Code::WrongCost, op.location, "'{}' is a view, but takes {:.9g} s on core {}", op.name, cost.time.value,
             cost.core);
    return;
  }
  if (op.communication && cost.core < 0)
    return verifyCommunication(p, op, cost, given);
  if (!verifyCores(p, op, cost))
    return;
  if (op.givenSeconds) { // on any core, and nothing else of it costs
    verifyQuantity(p, op, "given time", cost.time.value, *op.givenSeconds);
    return verifyQuantity(p, op, "energy", cost.energy.value, 0);
  }
  const ZeroShares zeros = p.zerosOf(op);
  double compute = verifyCompute(p, op, cost) * zeros.compute;
  bool calibrated = cost.model == kCalibratedModel; // its time: verifyCalibration
  if (!calibrated && cost.model != "peak" && cost.model != "array" && cost.model != "vector") {
    ++given[cost.model];
    return;
  }
  if (!cost.tiles.empty() && !verifyTiles(p, op, cost))
    ++windows;
  const Core &core = machine.cores[cost.core];
  size_t levels = core.reads < 0 ? machine.memories.size() : core.reads + 1;
  double flops = op.flops * zeros.active;
  double energy = verifyTraffic(p, op, cost, levels, flops * energyPerFlop(machine, cost.type).value);
  if (cost.model == "peak" && op.parts.empty() && zeros == ZeroShares{}) {
    verifyQuantity(p, op, "compute time", cost.compute.value, compute);
  } else {
    if (cost.compute.value < compute * (1 - 1e-9))
      p.find(Code::WrongCost, op.location, "compute time of '{}' is {:.9g} s, core '{}' needs {:.9g} s at its peak",
             op.name, cost.compute.value, core.name, compute);
    if (!calibrated && !close(cost.compute.value, compute))
      ++given[cost.model];
  }
  if (!calibrated)
    verifyQuantity(p, op, "time", cost.time.value, timeOf(machine, cost, levels));
  verifyQuantity(p, op, "energy", cost.energy.value, energy);
}

/// Numbers that everything else may compute with.
bool verifyCapacity(Proof &p, const Operation &op, const OperationCost &cost) {
  bool fits = cost.time.value >= 0 && cost.time.value < 9e6 && cost.core >= -1 &&
              cost.core < std::ssize(p.plan.machine.cores) && cost.transfer.size() == p.plan.machine.memories.size();
  for (Seconds transfer : cost.transfer)
    fits &= transfer.value >= 0 && transfer.value < 9e6;
  if (!fits)
    p.find(Code::CostsMismatch, op.location,
           "the cost of '{}' has time {:.9g} s on core {} and {} memories, '{}' has {} cores and "
           "{} memories",
           op.name, cost.time.value, cost.core, cost.transfer.size(), p.plan.machine.name, p.plan.machine.cores.size(),
           p.plan.machine.memories.size());
  return fits;
}

} // namespace

bool verifyCosts(Proof &p) {
  const auto &operations = p.plan.graph.operations;
  const auto &costs = p.plan.costs.operations;
  if (costs.size() != operations.size()) {
    p.find(Code::CostsMismatch, {}, "the plan has {} costs for {} operations", costs.size(), operations.size());
    return false;
  }
  p.durations.assign(operations.size(), 0);
  std::map<std::string, unsigned> given;
  unsigned windows = 0;
  for (OperationId id = 0; id < operations.size(); ++id) {
    if (operations[id].body != kNone)
      continue;
    bool fits = true;
    p.variants(id, [&](const OperationCost &cost) { fits = fits && verifyCapacity(p, operations[id], cost); });
    if (!fits)
      return false;
    p.durations[id] = Picoseconds::ceil(costs[id].time).value;
    p.variants(id, [&](const OperationCost &cost) { verifyOperationCost(p, operations[id], cost, given, windows); });
  }
  verifyCalibration(p);
  for (const auto &[id, others] : p.plan.costs.alternatives)
    if (id >= operations.size() || operations[id].body != kNone)
      p.find(Code::CostsMismatch, {}, "the plan has {} alternative costs for operation {}, which has none",
             others.size(), id);
  long double sum = 0;
  for (OperationId id = 0; id < operations.size(); ++id)
    sum += static_cast<long double>(p.plan.graph.executions(id)) * static_cast<long double>(p.durations[id]);
  if (sum > 0x1p61L) {
    p.find(Code::TimeOutOfRange, p.plan.machine.location,
           "the step takes longer than 26 days, one operation after the other");
    return false;
  }
  p.checked("times, traffic and energy of operations follow from their work and the machine");
  if (windows)
    p.trusted("the traffic of {} operations whose tiles overlap is assumed, it is not below "
              "their tensors",
              windows);
  for (const auto &[model, count] : given)
    if (model == "array" || model == "vector")
      p.trusted("the utilization of {} operations by cost model '{}' is assumed, no time is "
                "below that at peak",
                count, model);
    else
      p.trusted("times of {} operations by cost model '{}' are assumed", count, model);
  return true;
}

} // namespace accord
