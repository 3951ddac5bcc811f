#include "lib/exploration/verify/MachineDifferences.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Forms of operations in the order of their instances: the scheduler may have exchanged them.
std::vector<const OperationCost *> formsOf(const Costs &costs, OperationId id) {
  std::vector<const OperationCost *> forms{&costs.operations[id]};
  if (auto others = costs.alternatives.find(id); others != costs.alternatives.end())
    for (const OperationCost &other : others->second)
      forms.push_back(&other);
  std::sort(forms.begin(), forms.end(), [](const OperationCost *a, const OperationCost *b) {
    return std::pair(a->instances, a->time) < std::pair(b->instances, b->time);
  });
  return forms;
}

} // namespace

std::string numbersOf(const Core &core) {
  std::string key;
  if (!core.microarchitecture)
    return key;
  const microarchitecture::Microarchitecture &machine = *core.microarchitecture;
  auto add = [&](auto... numbers) { ((key += fmt::format("{} ", int64_t(numbers))), ...); };
  auto all = [&](const std::vector<microarchitecture::Index> &indices) {
    add(indices.size());
    for (microarchitecture::Index one : indices)
      add(one);
  };
  auto cycles = [&](const microarchitecture::CycleExpression &expression) {
    add(expression.terms.size());
    for (const auto &term : expression.terms)
      add(term.kind, term.value);
  };
  add(machine.opcodes.size(), machine.stages.size(), machine.units.size(), machine.registers.size(),
      machine.storages.size());
  add(machine.window, machine.fetch.width, machine.fetch.buffer, machine.fetch.latency, machine.fetch.to);
  for (const auto &opcode : machine.opcodes)
    add(opcode.reads, opcode.writes, opcode.immediates, opcode.loads, opcode.stores, opcode.redirects, opcode.role.does,
        opcode.role.lanes, opcode.role.m, opcode.role.n, opcode.role.k);
  for (const auto &stage : machine.stages) {
    add(stage.capacity, stage.width), cycles(stage.latency);
    all(stage.to), all(stage.units);
  }
  for (const auto &unit : machine.units) {
    add(unit.count, unit.entries, unit.operations.size());
    for (const auto &operation : unit.operations)
      add(operation.opcode), cycles(operation.latency), cycles(operation.interval);
    all(unit.reads), all(unit.writes), all(unit.loadsFrom), all(unit.storesTo);
  }
  for (const auto &file : machine.registers)
    add(file.count, file.bits, file.readPorts, file.writePorts, file.renamed, file.counts);
  for (const auto &storage : machine.storages) {
    add(storage.begin, storage.end, storage.portBytes, storage.ports, storage.banks, storage.requests,
        storage.readLatency, storage.writeLatency, storage.rows.bytes, storage.rows.miss, storage.cache.has_value());
    if (const auto &cache = storage.cache)
      add(cache->sets, cache->ways, cache->lineBytes, cache->replacement, cache->writeBack, cache->allocatesOnWrite,
          cache->criticalWordFirst, cache->behind);
  }
  return key;
}

bool close(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

std::string differs(const Machine &a, const Machine &b) {
  std::string what;
  auto number = [&](const std::string &of, double x, double y) {
    if (what.empty() && !close(x, y))
      what = fmt::format("{} is {:.9g}, and {:.9g} by the space", of, x, y);
  };
  auto word = [&](const std::string &of, const std::string &x, const std::string &y) {
    if (what.empty() && x != y)
      what = fmt::format("{} is '{}', and '{}' by the space", of, x, y);
  };
  number("clock", a.clock.value, b.clock.value);
  number("idle power", a.idle.value, b.idle.value);
  number("design power", a.tdp.value, b.tdp.value);
  number("area", a.area.value, b.area.value);
  number("kernel launch overhead", a.host.kernel.value, b.host.kernel.value);
  number("cost of a micro-batch", a.host.microbatch.value, b.host.microbatch.value);
  number("cost of a step", a.host.step.value, b.host.step.value);
  word("cost model", a.costModel, b.costModel);
  for (const char *type :
       {"fp4", "fp8", "bf16", "fp16", "tf32", "fp32", "fp64", "int4", "int8", "int16", "int32", "int64"})
    number(fmt::format("energy of {}", type), energyPerFlop(a, type).value, energyPerFlop(b, type).value);
  number("number of memories", a.memories.size(), b.memories.size());
  number("number of cores", a.cores.size(), b.cores.size());
  for (size_t i = 0; what.empty() && i < a.memories.size(); ++i) {
    const Memory &x = a.memories[i], &y = b.memories[i];
    word("name of a memory", x.name, y.name);
    word("kind of " + x.name, x.kind, y.kind);
    number("capacity of " + x.name, x.capacity.value, y.capacity.value);
    number("bandwidth of " + x.name, x.bandwidth.value, y.bandwidth.value);
    number("latency of " + x.name, x.latency.value, y.latency.value);
    number("energy of " + x.name, x.energy.value, y.energy.value);
    number("efficiency of " + x.name, x.efficiency, y.efficiency);
    number("sector of " + x.name, x.sector.value, y.sector.value);
    number("double buffering of " + x.name, x.doubleBuffered, y.doubleBuffered);
  }
  for (size_t i = 0; what.empty() && i < a.cores.size(); ++i) {
    const Core &x = a.cores[i], &y = b.cores[i];
    word("name of a core", x.name, y.name);
    word("kind of " + x.name, name(x.kind), name(y.kind));
    word("dataflow of " + x.name, x.dataflow, y.dataflow);
    auto whole = [&](const char *of, int64_t m, int64_t n) { number(fmt::format("{} of {}", of, x.name), m, n); };
    whole("count", x.count, y.count);
    whole("rows", x.rows, y.rows);
    whole("columns", x.cols, y.cols);
    whole("lanes", x.lanes, y.lanes);
    whole("memory", x.reads, y.reads);
    whole("overlaps", x.overlapFill + 2 * x.overlapDrain, y.overlapFill + 2 * y.overlapDrain);
    whole("mapping", x.perInstanceMapping + 2 * x.anyMapping, y.perInstanceMapping + 2 * y.anyMapping);
    number("efficiency of " + x.name, x.efficiency, y.efficiency);
    number("half work of " + x.name, x.halfPerformanceWork.value, y.halfPerformanceWork.value);
    whole("number of peaks", x.peak.size(), y.peak.size());
    for (const auto &[type, peak] : y.peak)
      number(fmt::format("{} peak of {}", type, x.name), x.peak.count(type) ? x.peak.at(type).value : 0, peak.value);
    if (what.empty() && x.cyclesOf != y.cyclesOf)
      what = fmt::format("the cycles of {} are others by the space", x.name);
    if (what.empty() && x.microarchitecture && numbersOf(x) != numbersOf(y)) // plans state none: their prices tell
      what = fmt::format("the microarchitecture of {} is another one by the space", x.name);
  }
  return what;
}

std::string differs(const WorkGraph &graph, const Costs &said, const Costs &priced) {
  if (said.operations.size() != priced.operations.size())
    return fmt::format("{} prices of {} operations", said.operations.size(), priced.operations.size());
  for (OperationId id = 0; id < said.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    auto a = formsOf(said, id), b = formsOf(priced, id);
    bool same = a.size() == b.size();
    for (size_t f = 0; same && f < a.size(); ++f) {
      same = a[f]->core == b[f]->core && a[f]->instances == b[f]->instances &&
             a[f]->transfer.size() == b[f]->transfer.size() && close(a[f]->time.value, b[f]->time.value);
      for (size_t m = 0; same && m < a[f]->transfer.size(); ++m)
        same = close(a[f]->transfer[m].value, b[f]->transfer[m].value);
    }
    if (!same)
      return fmt::format("operation {} takes {:.9g} s, and {:.9g} s by the cost model", id, a.front()->time.value,
                         b.front()->time.value);
  }
  return "";
}

} // namespace accord
