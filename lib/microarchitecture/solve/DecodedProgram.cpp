#include "lib/microarchitecture/solve/DecodedProgram.h"
#include "lib/microarchitecture/problem/Evaluate.h"
#include <algorithm>
#include <map>

namespace accord::microarchitecture {
namespace {

/// By stage: which stages may follow, at once or later.
std::vector<std::vector<char>> stagesBehind(const std::vector<std::vector<Index>> &next) {
  std::vector<std::vector<char>> behind(next.size(), std::vector<char>(next.size(), 0));
  for (size_t round = 0; round < next.size(); ++round) // as many as stages may stand in a row
    for (size_t s = 0; s < next.size(); ++s)
      for (Index to : next[s]) {
        behind[s][to] = 1;
        for (size_t b = 0; b < next.size(); ++b)
          behind[s][b] |= behind[to][b];
      }
  return behind;
}

bool stagesJoin(const Microarchitecture &machine) {
  std::vector<int> before(machine.stages.size(), 0);
  bool joins = false;
  for (const Stage &stage : machine.stages)
    for (Index next : stage.to)
      joins |= ++before[next] > 1;
  return joins;
}

/// All that stages and units may ask of an instruction: equal keys have equal routes.
std::vector<int64_t> routeKey(const Instruction &is, const Opcode &opcode) {
  std::vector<int64_t> key{is.opcode};
  auto add = [&](std::vector<int64_t> part, bool isSet) {
    if (isSet) {
      std::sort(part.begin(), part.end());
      part.erase(std::unique(part.begin(), part.end()), part.end());
    }
    key.push_back(int64_t(part.size()));
    key.insert(key.end(), part.begin(), part.end());
  };
  std::vector<int64_t> read, written, loaded, stored;
  for (const Register &r : is.reads)
    read.push_back(r.file);
  for (const Register &r : is.writes)
    written.push_back(r.file);
  __int128 bytes = 0;
  for (size_t o = 0; o < is.memory.size(); ++o) {
    (int64_t(o) < opcode.loads ? loaded : stored).push_back(is.memory[o].storage);
    bytes += is.memory[o].bytes;
  }
  add(read, true), add(written, true), add(loaded, true), add(stored, true), add(is.immediates, false);
  key.insert(key.end(), {int64_t(bytes), int64_t(bytes >> 64)});
  return key;
}

} // namespace

Route DecodedProgram::routeOf(const Microarchitecture &machine, const Instruction &instruction) const {
  Route is;
  const std::vector<char> reached = stagesTo(instruction, machine);
  for (const Stage &stage : machine.stages) {
    is.stageLatency.push_back(evaluate(stage.latency, instruction));
    is.next.emplace_back(), is.ways.emplace_back();
    for (Index next : stage.to)
      if (reached[next])
        is.next.back().push_back(next);
    for (Index unit : stage.units)
      for (const UnitOperation &operation : machine.units[unit].operations)
        if (operation.opcode == instruction.opcode && processes(machine.units[unit], instruction, machine))
          is.ways.back().push_back(
              {unit, evaluate(operation.latency, instruction), evaluate(operation.interval, instruction)});
  }
  if (joins)
    is.behind = stagesBehind(is.next);
  return is;
}

DecodedProgram::DecodedProgram(const Microarchitecture &machine, const InstructionProgram &program)
    : joins(stagesJoin(machine)) {
  std::map<std::vector<int64_t>, size_t> known;
  std::map<std::pair<Index, Index>, uint32_t> numbers;
  auto number = [&](const Register &r) {
    auto [at, isNew] = numbers.try_emplace({r.file, r.number}, uint32_t(fileOf.size()));
    if (isNew)
      fileOf.push_back(r.file);
    return at->second;
  };
  auto addPorts = [&](const std::vector<Register> &of, int32_t RegisterFile::*count) {
    std::map<Index, int32_t> amounts;
    for (const Register &r : of)
      if (machine.registers[r.file].*count > 0)
        ++amounts[r.file];
    for (auto [file, amount] : amounts)
      ports.push_back({file, amount});
    return uint32_t(amounts.size());
  };
  for (const Instruction &instruction : program.instructions) {
    const Opcode &opcode = machine.opcodes[instruction.opcode];
    DecodedInstruction is;
    auto [at, isNew] = known.try_emplace(routeKey(instruction, opcode), routes.size());
    if (isNew)
      routes.push_back(routeOf(machine, instruction));
    is.route = at->second;
    is.firstRegister = registers.size(), is.firstPort = ports.size();
    for (const Register &r : instruction.reads)
      registers.push_back(number(r)), ++is.reads;
    for (const Register &r : instruction.writes)
      registers.push_back(number(r)), ++is.writes;
    for (const Register &r : instruction.writes)
      if (!machine.registers[r.file].renamed && !machine.registers[r.file].counts)
        registers.push_back(number(r)), ++is.guarded;
    is.readPorts = addPorts(instruction.reads, &RegisterFile::readPorts);
    is.writePorts = addPorts(instruction.writes, &RegisterFile::writePorts);
    is.firstOperand = OperandId(operands.size());
    for (const MemoryOperand &operand : instruction.memory)
      operands.push_back({operand.storage, operand.bytes});
    is.loads = opcode.loads, is.operands = int32_t(instruction.memory.size());
    is.redirects = opcode.redirects;
    instructions.push_back(is);
  }
}

} // namespace accord::microarchitecture
