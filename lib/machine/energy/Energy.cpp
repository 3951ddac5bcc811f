#include "lib/machine/energy/Energy.h"
#include "lib/machine/energy/NodeScaling.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

const char *const kDefault = "default ";
const char *const kTypes[] = {"bf16", "fp16", "fp32", "tf32", "fp64", "fp8", "int4", "int8", "int16", "int32", "int64"};

std::set<std::string> typesOf(const Machine &machine) {
  std::set<std::string> types;
  for (const Core &core : machine.cores) {
    if (core.peak.empty())
      return {std::begin(kTypes), std::end(kTypes)};
    for (const auto &[type, peak] : core.peak)
      types.insert(type);
  }
  return types;
}

/// "7 nm", and for a node beyond the table the one that stands for it.
std::string named(double node) {
  double meant = NodeScaling::shipped().within(node);
  return meant == node ? fmt::format("{:.3g} nm", node * 1e9)
                       : fmt::format("{:.3g} nm as {:.3g} nm", node * 1e9, meant * 1e9);
}

} // namespace

Joules EnergyBreakdown::total() const {
  Joules sum = arithmetic + idle;
  for (Joules memory : memories)
    sum += memory;
  return sum;
}

EnergyBreakdown energyOf(const OperationCost &cost, const Machine &machine) {
  EnergyBreakdown parts;
  parts.memories.resize(machine.memories.size());
  parts.idle = machine.idle * cost.time;
  Joules moved;
  for (size_t i = 0; cost.energy.value > 0 && i < machine.memories.size() && i < cost.bytes.size(); ++i) {
    parts.memories[i] = cost.bytes[i] * machine.memories[i].energy;
    moved += parts.memories[i];
  }
  parts.arithmetic = std::max(Joules(), cost.energy - moved);
  if (parts.arithmetic.value < cost.energy.value * 1e-12) // what rounding leaves
    parts.arithmetic = Joules();
  return parts;
}

EnergyBreakdown stepEnergyBreakdown(const WorkGraph &graph, const Costs &costs, const Machine &machine, Seconds step) {
  EnergyBreakdown sum;
  sum.memories.resize(machine.memories.size());
  sum.idle = machine.idle * step;
  for (OperationId id = 0; id < graph.operations.size() && id < costs.operations.size(); ++id) {
    if (graph.operations[id].body != kNone)
      continue;
    double times = static_cast<double>(graph.executions(id));
    EnergyBreakdown one = energyOf(costs.operations[id], machine);
    sum.arithmetic += one.arithmetic * times;
    for (size_t i = 0; i < sum.memories.size(); ++i)
      sum.memories[i] += one.memories[i] * times;
  }
  return sum;
}

std::optional<Error> checkPower(const EnergyBreakdown &energy, const Machine &machine, Seconds step) {
  Watts average = step.value > 0 ? energy.total() / step : Watts();
  if (machine.tdp.value <= 0 || average <= machine.tdp)
    return std::nullopt;
  auto origin = machine.origins.find("tdp");
  std::string of = fmt::format("arithmetic {:.4g} J", energy.arithmetic.value);
  for (size_t i = 0; i < energy.memories.size(); ++i)
    of += fmt::format(", {} {:.4g} J", machine.memories[i].name, energy.memories[i].value);
  return Error{Code::PowerAboveLimit,
               fmt::format("a step uses {:.4g} J in {:.4g} s, {:.4g} W on average, but the 'tdp' of '{}' is {:.4g} W: "
                           "it would lower its clock ({}, idle {:.4g} J)",
                           energy.total().value, step.value, average.value, machine.name, machine.tdp.value, of,
                           energy.idle.value),
               origin == machine.origins.end() ? machine.location : origin->second.location};
}

void fillEnergies(Machine &machine, double node, const std::map<std::string, std::string> &standards,
                  const EnergyTable &table) {
  if (!(node > 0))
    return;
  if (!machine.origins.count("mac") && machine.energyPerFlopOf.empty())
    for (const std::string &type : typesOf(machine))
      if (auto energy = table.flop(type, node)) {
        machine.energyPerFlopOf[type] = energy->value;
        machine.origins["mac." + type] = {
            fmt::format("{}{:.3g} pJ per multiply-accumulate at {}", kDefault, energy->value.value * 2e12, named(node)),
            energy->source, machine.location};
      }
  for (Memory &memory : machine.memories) {
    if (memory.origins.count("energy"))
      continue;
    std::string how;
    Sourced<JoulesPerByte> energy;
    if (memory.kind == "dram") {
      auto standard = standards.find(memory.name);
      std::string kind = standard == standards.end() ? "hbm2" : standard->second;
      auto found = table.dram(kind);
      if (!found)
        continue;
      energy = *found;
      how = "as " + kind;
    } else if (memory.kind == "register_file") {
      energy = table.registerFile();
      how = "as any register file";
    } else {
      energy = table.sram(memory.capacity, node);
      how = "for its capacity at " + named(node);
    }
    memory.energy = energy.value;
    memory.origins["energy"] = {fmt::format("{}{:.3g} pJ/bit {}", kDefault, energy.value.value / 8 * 1e12, how),
                                energy.source, machine.location};
  }
}

bool isFilledIn(const Origin &origin) { return origin.text.starts_with(kDefault); }

std::vector<std::string> energyAssumptions(const Machine &machine) {
  std::vector<std::string> out;
  std::string types, source;
  for (const auto &[key, origin] : machine.origins)
    if (key.starts_with("mac.") && isFilledIn(origin)) {
      types += fmt::format("{}{}: {}", types.empty() ? "" : ", ", key.substr(4),
                           origin.text.substr(std::string_view(kDefault).size()));
      source = origin.source;
    }
  if (!types.empty())
    out.push_back(fmt::format("'{}' states no energy of arithmetic: {} (lib/catalog/energy.csv: {}; the arithmetic "
                              "alone, without instructions and wires)",
                              machine.name, types, source));
  for (const Memory &memory : machine.memories)
    if (auto origin = memory.origins.find("energy"); origin != memory.origins.end() && isFilledIn(origin->second))
      out.push_back(fmt::format("memory '{}' states no energy: {} (lib/catalog/energy.csv: {})", memory.name,
                                origin->second.text.substr(std::string_view(kDefault).size()), origin->second.source));
  return out;
}

} // namespace accord
