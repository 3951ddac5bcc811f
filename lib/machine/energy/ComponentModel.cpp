#include "lib/machine/energy/ComponentModel.h"
#include "lib/machine/energy/Cooling.h"
#include "lib/machine/energy/Energy.h"
#include "lib/machine/energy/NodeScaling.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Bits of a type and of its accumulator, and of which multiplier and adder its unit is made.
struct Arithmetic {
  double bits, accumulator;
  const char *multiplier;
  double multipliers; ///< multipliers grow with the square of the significand
  const char *adder;
  double adders;
};

const std::map<std::string, Arithmetic> &arithmetic() {
  static const std::map<std::string, Arithmetic> all{{"int4", {4, 32, "int8", 0.25, "int32", 1}},
                                                     {"int8", {8, 32, "int8", 1, "int32", 1}},
                                                     {"int16", {16, 32, "int8", 4, "int32", 1}},
                                                     {"int32", {32, 32, "int32", 1, "int32", 1}},
                                                     {"int64", {64, 64, "int32", 4, "int32", 2}},
                                                     {"fp8", {8, 32, "int8", 0.25, "fp32", 1}},
                                                     {"bf16", {16, 32, "int8", 1, "fp32", 1}},
                                                     {"fp16", {16, 32, "fp16", 1, "fp32", 1}},
                                                     {"tf32", {19, 32, "fp16", 1, "fp32", 1}},
                                                     {"fp32", {32, 32, "fp32", 1, "fp32", 1}},
                                                     {"fp64", {64, 64, "fp32", 53.0 * 53 / (24.0 * 24), "fp32", 2}}};
  return all;
}

const Arithmetic *arithmeticOf(const std::string &type) {
  auto found = arithmetic().find(type);
  return found == arithmetic().end() ? nullptr : &found->second;
}

/// A subarray has at most so many rows and columns.
constexpr double kSubarray = 256;

double banksOf(const Memory &memory) { return static_cast<double>(std::max<int64_t>(memory.banks, 1)); }
double portsOf(const Memory &memory) { return static_cast<double>(std::max<int64_t>(memory.ports, 1)); }
bool isOnChip(const Memory &memory) { return memory.kind != "dram"; }

} // namespace

ComponentModel::ComponentModel(double node, double voltage, double clock, const ComponentNumbers &numbers,
                               const ProcessTable &processes, const InterfaceTable &interfaces,
                               const EnergyTable &energies)
    : numbers_(numbers), interfaces_(interfaces), energies_(energies), node_(node), voltage_(voltage), clock_(clock),
      supply_(NodeScaling::shipped().supply(node, voltage)), process_(processes.at(node)) {}

double ComponentModel::scaled(const ComponentNumbers::AtNode &number, bool area) const {
  const NodeScaling &scaling = NodeScaling::shipped();
  return number.value * (area ? scaling.area(number.node, node_) : scaling.energy(number.node, node_));
}

std::optional<double> ComponentModel::elementArea(const std::string &type) const {
  const Arithmetic *of = arithmeticOf(type);
  if (!of)
    return std::nullopt;
  double area = scaled(numbers_.multiply.at(of->multiplier), true) * of->multipliers +
                scaled(numbers_.add.at(of->adder), true) * of->adders +
                scaled(numbers_.registerArea, true) * (5 * of->bits + of->accumulator);
  return area * numbers_.logic;
}

/// Keckler et al. have 0.9 V; wires scale with the square of the supply.
double ComponentModel::wireEnergy(double metres) const {
  double volts = process_.supply * voltage_ / 0.9;
  return numbers_.wire.value * metres * volts * volts;
}

std::optional<double> ComponentModel::elementEnergy(const std::string &type) const {
  const Arithmetic *of = arithmeticOf(type);
  auto flop = energies_.flop(type, node_);
  if (!of || !flop)
    return std::nullopt;
  double logic = 2 * flop->value.value + scaled(numbers_.registerEnergy, false) * (5 * of->bits + of->accumulator);
  double pitch = std::sqrt(*elementArea(type) / numbers_.logic * numbers_.array);
  double wires = (2 * of->bits + of->accumulator) / 8 * wireEnergy(pitch);
  return (logic * supply_ + wires) * numbers_.energy;
}

double ComponentModel::bankArea(const Memory &memory) const {
  double bits = memory.capacity.value * 8 / banksOf(memory);
  if (memory.kind == "register_file")
    return bits * scaled(numbers_.registerArea, true) * numbers_.logic;
  double width = memory.portBytesPerCycle > 0 ? memory.portBytesPerCycle * portsOf(memory)
                                              : memory.bandwidth.value / clock_ / banksOf(memory);
  double across = std::max(width * 8, std::sqrt(bits)), periphery = numbers_.periphery;
  double rows = std::min(kSubarray, bits / across), columns = std::min(kSubarray, across);
  double cells = bits * (1 + periphery / rows) * (1 + periphery / columns) + periphery * (width * 8 + periphery);
  return cells * process_.cell * (1 + numbers_.port * (portsOf(memory) - 1)) * numbers_.memory;
}

double ComponentModel::macroArea(const Memory &memory) const {
  return isOnChip(memory) ? bankArea(memory) * banksOf(memory) : 0;
}

double ComponentModel::macroEnergy(const Memory &memory) const {
  if (!isOnChip(memory))
    return -1;
  if (memory.kind == "register_file") {
    double cycles = memory.capacity.value * 8 * scaled(numbers_.registerEnergy, false) * supply_;
    return cycles * clock_ / memory.bandwidth.value * numbers_.energy;
  }
  double bank = memory.capacity.value / banksOf(memory);
  auto [smallest, largest] = energies_.sramRange();
  double beyond = std::sqrt(std::max(1.0, bank / largest.value) * std::min(1.0, bank / smallest.value));
  double access = energies_.sram(Bytes(bank), node_).value.value * beyond * supply_;
  return (access + wireEnergy(std::sqrt(bankArea(memory)))) * numbers_.energy;
}

std::pair<const Interface *, double> ComponentModel::interfacesOf(const Memory &memory) const {
  if (isOnChip(memory))
    return {nullptr, 0};
  auto standard = memory.origins.find("standard");
  const Interface *one = interfaces_.find(standard == memory.origins.end() ? "hbm2" : standard->second.text);
  return {one, one ? std::ceil(memory.bandwidth.value / one->bytesPerSecond - 1e-9) : 0};
}

double ComponentModel::interfaceArea(const Memory &memory) const {
  auto [one, count] = interfacesOf(memory);
  return one ? linkArea(*one, count) : 0;
}
double ComponentModel::interfaceStandby(const Memory &memory) const {
  auto [one, count] = interfacesOf(memory);
  return one ? one->standby * count : 0;
}
double ComponentModel::linkArea(const Interface &one, double count) const {
  return one.area * count * numbers_.interface;
}
double ComponentModel::interfaceEdge(const Memory &memory) const {
  auto [one, count] = interfacesOf(memory);
  return one ? one->edge * count : 0;
}

Watts ComponentModel::leakage(double area) const { return Watts(area * process_.leakage * voltage_); }

InterconnectCost ComponentModel::interconnect(const std::string &kind, double cores, double bitsPerCycle,
                                              double area) const {
  InterconnectCost out;
  double edge = std::sqrt(area), track = numbers_.track * node_;
  if (kind == "bus" || kind == "crossbar") {
    double across = kind == "crossbar" ? bitsPerCycle * track : 0;
    out.area = across * across;
    out.joulesPerByte = wireEnergy(edge + 2 * across);
    return out;
  }
  const bool isMesh = kind == "mesh";
  double side = std::sqrt(cores), hops = isMesh ? 2 * (cores - 1) / (3 * side) : cores / 4;
  double width = bitsPerCycle / cores * std::max(1.0, isMesh ? side / 4 : cores / 8);
  out.area = cores * (isMesh ? 5 : 3) * width * scaled(numbers_.routerArea, true);
  out.joulesPerByte = (hops + 1) * scaled(numbers_.routerEnergy, false) * supply_ + wireEnergy(hops * edge / side);
  return out;
}

double ComponentModel::elementArea(const Core &core, bool min) const {
  double one = 0;
  auto add = [&](const std::string &type) {
    double area = elementArea(type).value_or(0);
    one = one == 0 ? area : min ? std::min(one, area) : std::max(one, area);
  };
  for (const auto &[type, peak] : core.peak)
    add(type);
  if (core.peak.empty())
    add(core.kind == CoreKind::Tensor ? "bf16" : "fp32");
  return one;
}

MemoryMacros ComponentModel::macros(const Machine &machine) const {
  MemoryMacros all;
  for (const Memory &memory : machine.memories) {
    all.areas.push_back(macroArea(memory) + interfaceArea(memory));
    all.joulesPerByte.push_back(macroEnergy(memory));
    all.standby.push_back(interfaceStandby(memory));
  }
  return all;
}

namespace {

/// What is in the tables of a part; nothing where no table has it.
const TableNumbers &numbersOf(const ComponentRule &rule, const std::string &part) {
  static const TableNumbers none;
  auto found = rule.tables.find(part);
  return found == rule.tables.end() ? none : found->second;
}

/// Areas of a chip, and what leaks: by the process, and as tables have it.
struct ChipSum {
  double area = 0, leakingArea = 0, tableLeakage = 0; ///< square metres, watts

  /// `count` parts of an area each.
  void add(double one, double count, const TableNumbers &numbers, double clock) {
    double all = numbers.area.value_or(one) * count;
    area += all;
    if (numbers.leakage || numbers.cycleLeakage)
      tableLeakage += numbers.leakage.value_or(0) + numbers.cycleLeakage.value_or(0) * clock * count;
    else
      leakingArea += all;
  }
};

Result<ChipSum> sumOf(const ComponentRule &rule, const ComponentModel &model, const MemoryMacros &macros,
                      const Machine &machine, bool min) {
  ChipSum sum;
  for (const Core &core : machine.cores) {
    double elements = core.rows > 0 ? double(core.rows) * core.cols : double(core.lanes);
    if (elements <= 0)
      return Error{
          Code::AreaNotCovered,
          fmt::format("'catalog/components' has no area for core '{}', which states no array or lanes", core.name)};
    sum.add(model.elementArea(core, min), elements * core.count, numbersOf(rule, core.name), machine.clock.value);
  }
  for (size_t i = 0; i < machine.memories.size(); ++i)
    sum.add(macros.areas[i], 1, numbersOf(rule, machine.memories[i].name), machine.clock.value);
  return sum;
}

void setEnergies(const ComponentRule &rule, const ComponentModel &model, const MemoryMacros &macros, Machine &machine) {
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    Memory &memory = machine.memories[i];
    auto origin = memory.origins.find("energy");
    const std::optional<double> &table = numbersOf(rule, memory.name).energy;
    if ((macros.joulesPerByte[i] < 0 && !table) || (origin != memory.origins.end() && !isFilledIn(origin->second)))
      continue;
    memory.energy = JoulesPerByte(table.value_or(macros.joulesPerByte[i]));
    memory.origins["energy"] = {fmt::format("{:.3g} pJ/bit by {}", memory.energy.value / 8 * 1e12,
                                            table ? "a table of components" : "catalog/components"),
                                "", machine.location};
  }
  if (rule.macStated)
    return;
  machine.energyPerFlopOf.clear();
  std::erase_if(machine.origins, [](const auto &one) { return one.first.starts_with("mac."); });
  for (const auto &[type, of] : arithmetic())
    if (auto energy = model.elementEnergy(type)) {
      machine.energyPerFlopOf[type] = JoulesPerFlop(*energy / 2);
      machine.origins["mac." + type] = {fmt::format("{:.3g} pJ by catalog/components", *energy * 1e12), "",
                                        machine.location};
    }
  for (const Core &core : machine.cores)
    if (const std::optional<double> &table = numbersOf(rule, core.name).energy)
      for (const auto &[type, peak] : core.peak) {
        machine.energyPerFlopOf[type] = JoulesPerFlop(*table);
        machine.origins["mac." + type] = {fmt::format("{:.3g} pJ by a table of components", *table * 2e12), "",
                                          machine.location};
      }
}

/// The memory that cores share: the farthest on the chip; null where there is none.
Memory *sharedMemory(Machine &machine) {
  auto found = std::find_if(machine.memories.begin(), machine.memories.end(), isOnChip);
  return found == machine.memories.end() ? nullptr : &*found;
}

InterconnectCost networkOf(const ComponentRule &rule, const ComponentModel &model, const MemoryMacros &macros,
                           double area, Machine &machine) {
  const Memory *shared = sharedMemory(machine);
  double cores = 0;
  for (const Core &core : machine.cores)
    cores += static_cast<double>(core.count);
  if (rule.interconnect.empty() || !shared || cores < 1)
    return {};
  // It neither rises nor falls with each number that a search chooses.
  if (macros.end != MemoryMacros::End::Design)
    return macros.end == MemoryMacros::End::High ? InterconnectCost{INFINITY, INFINITY} : InterconnectCost();
  return model.interconnect(rule.interconnect, cores, shared->bandwidth.value * 8 / machine.clock.value, area);
}

/// What a byte of the shared memory takes on its way, unless its energy is stated.
void addNetwork(const InterconnectCost &network, const ComponentRule &rule, Machine &machine) {
  Memory *shared = sharedMemory(machine);
  if (!(network.joulesPerByte > 0) || !shared)
    return;
  Origin &origin = shared->origins["energy"];
  if (!origin.text.ends_with(" by catalog/components") && !origin.text.ends_with(" by a table of components"))
    return;
  shared->energy += JoulesPerByte(network.joulesPerByte);
  origin.text += fmt::format(", and {:.3g} pJ/bit over the {}", network.joulesPerByte / 8 * 1e12, rule.interconnect);
}

/// Idle power: leakage at the temperature at which the chip settles, what `always` runs, and the clock.
void setIdle(double leakage, double always, double clockShare, double area, MemoryMacros::End end, bool min,
             Machine &machine) {
  const Cooling cooling = Cooling::of(machine);
  double resistance = cooling.resistanceOf(machine.area.value > 0 ? machine.area.value : area);
  double junction = end == MemoryMacros::End::High ? cooling.limit : cooling.ambient;
  machine.idle = Watts(0);
  machine.idle = Watts(always + clockShare * powerAtPeak(machine, min).value);
  if (end == MemoryMacros::End::Design) // a design power that is stated may have been written from this one
    junction = settledJunction(cooling, resistance, powerAtPeak(machine).value, leakage);
  machine.idle += Watts(leakage * leakageFactor(junction));
  machine.origins["idle"] = {fmt::format("{:.4g} W by catalog/components, at {:.3g} K", machine.idle.value, junction),
                             "", machine.location};
}

} // namespace

std::optional<Error> applyComponents(const ComponentRule &rule, Machine &machine, const MemoryMacros *macros,
                                     bool min) {
  if (!rule.area && !rule.power)
    return std::nullopt;
  if (!(rule.node > 0) || !(machine.clock.value > 0))
    return Error{Code::NoProcess, fmt::format("'{}' states no {}, from which its components would follow", machine.name,
                                              rule.node > 0 ? "clock" : "technology")};
  auto [smallest, largest] = ProcessTable::shipped().range();
  // A node below 5 nm has its memory, and logic of 7 nm.
  if (rule.node > largest * (1 + 1e-9) || rule.node < smallest / 2)
    return Error{Code::AreaNotCovered,
                 fmt::format("'catalog/components' has no process of {:.4g} nm, only from {:.4g} nm to "
                             "{:.4g} nm and what follows it",
                             rule.node * 1e9, largest * 1e9, smallest * 1e9)};
  ComponentModel model(rule.node, rule.voltage, machine.clock.value);
  MemoryMacros own;
  if (!macros)
    own = model.macros(machine), macros = &own;
  auto chip = sumOf(rule, model, *macros, machine, min);
  if (!chip)
    return chip.takeError();
  double links = 0, running = 0, edge = 0, standby = 0;
  for (const auto &[type, count] : rule.interfaces)
    if (const Interface *one = model.interfaces().find(type)) {
      links += model.linkArea(*one, count), edge += one->edge * count;
      running += one->bytesPerSecond * one->joulesPerByte * count;
    }
  const InterconnectCost network = networkOf(rule, model, *macros, chip->area + links, machine);
  if (rule.area) {
    machine.area = {chip->area + links + network.area};
    machine.origins["area"] = {fmt::format("{:.6g} mm2 by catalog/components", machine.area.squareMillimetres()), "",
                               machine.location};
  }
  for (const Memory &memory : machine.memories)
    edge += model.interfaceEdge(memory);
  for (double one : macros->standby)
    standby += one;
  machine.origins["interfaces"] = {fmt::format("{:.6g} mm", edge * 1e3), "", machine.location};
  machine.origins["technology"] = {fmt::format("{:.6g} nm", rule.node * 1e9), "", machine.location};
  if (!rule.power)
    return std::nullopt;
  setEnergies(rule, model, *macros, machine);
  addNetwork(network, rule, machine);
  if (!rule.idleStated)
    setIdle(model.leakage(chip->leakingArea + links).value, chip->tableLeakage + running + standby, model.clockShare(),
            chip->area + links + network.area, macros->end, min, machine);
  return std::nullopt;
}

} // namespace accord
