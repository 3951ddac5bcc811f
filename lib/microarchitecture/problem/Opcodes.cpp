#include "lib/microarchitecture/problem/Evaluate.h"
#include <algorithm>
#include <array>

namespace accord::microarchitecture {
namespace {

struct Row {
  const char *name;
  int32_t arguments;
};
constexpr std::array<Row, kRoles> kRows = {{
    {"none", 0},          {"load", 0},        {"broadcast", 0}, {"store", 1},    {"copy", 0},       {"constant", 0},
    {"move", 1},          {"preload", 1},     {"add", 2},       {"subtract", 2}, {"multiply", 2},   {"multiply_add", 3},
    {"divide", 2},        {"max", 2},         {"min", 2},       {"greater", 2},  {"equal", 2},      {"exp", 1},
    {"log", 1},           {"square_root", 1}, {"tanh", 1},      {"erf", 1},      {"reduce_add", 1}, {"reduce_max", 1},
    {"add_immediate", 1}, {"branch", 2},
}};

} // namespace

const char *name(Role role) { return kRows[size_t(role)].name; }
int32_t argumentsOf(Role role) { return kRows[size_t(role)].arguments; }

std::optional<Role> roleNamed(std::string_view name) {
  for (size_t r = 0; r < kRows.size(); ++r)
    if (name == kRows[r].name)
      return Role(r);
  return std::nullopt;
}

bool processes(const Unit &unit, const Instruction &instruction, const Microarchitecture &machine) {
  auto has = [](const std::vector<Index> &all, Index one) { return llvm::is_contained(all, one); };
  if (!llvm::any_of(unit.operations, [&](const UnitOperation &o) { return o.opcode == instruction.opcode; }))
    return false;
  const int32_t loads = machine.opcodes[instruction.opcode].loads;
  for (const Register &r : instruction.reads)
    if (!has(unit.reads, r.file))
      return false;
  for (const Register &r : instruction.writes)
    if (!has(unit.writes, r.file))
      return false;
  for (int32_t o = 0; o < int32_t(instruction.memory.size()); ++o)
    if (!has(o < loads ? unit.loadsFrom : unit.storesTo, instruction.memory[o].storage))
      return false;
  return true;
}

std::vector<char> stagesTo(const Instruction &instruction, const Microarchitecture &machine) {
  std::vector<char> reached(machine.stages.size(), 0);
  for (size_t s = 0; s < machine.stages.size(); ++s)
    for (Index unit : machine.stages[s].units)
      reached[s] |= processes(machine.units[unit], instruction, machine);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = 0; s < machine.stages.size(); ++s)
      for (Index next : machine.stages[s].to)
        if (!reached[s] && reached[next])
          reached[s] = 1, changed = true;
  }
  return reached;
}

double flopsPerCycle(const Microarchitecture &machine) {
  auto flopsOf = [](const OpcodeRole &role) -> double {
    if (role.does < Role::Add || role.does > Role::ReduceMax)
      return 0;
    const double points = role.isTile() ? double(role.m) * role.n * std::max(role.k, 1) : role.lanes;
    return role.does == Role::MultiplyAdd ? 2 * points : points;
  };
  double sum = 0;
  for (const Unit &unit : machine.units) {
    double max = 0;
    for (const UnitOperation &operation : unit.operations) {
      const OpcodeRole &role = machine.opcodes[operation.opcode].role;
      Instruction whole; // as kernels have it, with the extents of its tile
      whole.immediates = {role.m, role.n, role.k};
      const double interval = double(std::max<Cycles>(evaluate(operation.interval, whole), 1));
      max = std::max(max, flopsOf(role) / interval);
    }
    sum += max * unit.count;
  }
  return sum;
}

} // namespace accord::microarchitecture
