#include "lib/microarchitecture/problem/Evaluate.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord::microarchitecture {

constexpr size_t kMaxDepth = 256;
constexpr __int128 kMany = __int128(1) << 101; // where counting of instructions ends

__int128 executedInstructions(const InstructionProgram &program) {
  auto count = [&](auto &self, const Body &body) -> __int128 {
    __int128 all = 0;
    for (const Item &item : body) {
      if (item.isFence())
        continue;
      const __int128 times = item.loop == kNone ? 1 : program.loops[item.loop].count;
      const __int128 inside = item.loop == kNone ? 1 : times > 0 ? self(self, program.loops[item.loop].body) : 0;
      all = times > 0 && inside > kMany / times ? kMany : std::min(all + times * inside, kMany);
    }
    return all;
  };
  return count(count, program.body);
}

bool hasFence(const InstructionProgram &program, const Body &body) {
  return llvm::any_of(body, [&](const Item &item) {
    return item.isFence() || (item.loop != kNone && program.loops[item.loop].count > 0 &&
                              hasFence(program, program.loops[item.loop].body));
  });
}

std::optional<Error> wrongAddress(const MemoryOperand &operand, const std::vector<const InstructionLoop *> &around,
                                  const Microarchitecture &machine, const std::string &opcode) {
  const Storage *last = &machine.storages[operand.storage];
  while (last->cache)
    last = &machine.storages[last->cache->behind];
  __int128 low = operand.address.base, high = low + operand.bytes;
  for (size_t l = 0; l < operand.address.strides.size(); ++l)
    (operand.address.strides[l] < 0 ? low : high) +=
        __int128(operand.address.strides[l]) * std::max<int64_t>(around[l]->count - 1, 0);
  if (low >= last->begin && high <= last->end)
    return {};
  auto shown = [](__int128 value) { return int64_t(std::clamp<__int128>(value, INT64_MIN, INT64_MAX)); };
  return Error{Code::AddressOutside,
               fmt::format("'{}' reaches the addresses {} to {} of '{}', which has {} to {}", opcode, shown(low),
                           shown(high - 1), last->name, last->begin, last->end - 1)};
}

namespace {

class ProgramCheck {
public:
  ProgramCheck(const InstructionProgram &program, const Microarchitecture &machine)
      : program(program), machine(machine), inBodies(program.loops.size(), 0) {}

  Errors run() {
    visit(program.body);
    for (size_t l = 0; l < program.loops.size(); ++l)
      if (inBodies[l] != 1)
        error(program.loops[l].location,
              fmt::format("loop '{}' is in {} bodies, not in one", program.loops[l].name, inBodies[l]));
    if (errors.empty() && executedInstructions(program) > kMany / 2)
      error({}, fmt::format("'{}' executes more than 2^100 instructions", program.name));
    return std::move(errors);
  }

private:
  void error(const SourceLocation &at, std::string message, Code code = Code::WrongInstruction) {
    errors.push_back({code, std::move(message), at});
  }

  void visit(const Body &body) {
    for (const Item &item : body) {
      if (item.isFence())
        continue;
      if (item.loop == kNone) {
        if (item.instruction < 0 || size_t(item.instruction) >= program.instructions.size())
          return error({}, "a body names an instruction that does not exist");
        instruction(program.instructions[item.instruction]);
        continue;
      }
      if (item.loop < 0 || size_t(item.loop) >= program.loops.size())
        return error({}, "a body names a loop that does not exist");
      const InstructionLoop &loop = program.loops[item.loop];
      if (inBodies[item.loop]++ > 0)
        return;
      if (loop.count < 0 || loop.count > (int64_t(1) << 46))
        return error(loop.location,
                     fmt::format("loop '{}' has {} iterations, not from 0 to 2^46", loop.name, loop.count));
      if (around.size() == kMaxDepth)
        return error(loop.location, fmt::format("loop '{}' is in more than {} others", loop.name, kMaxDepth - 1));
      around.push_back(&loop);
      visit(loop.body);
      around.pop_back();
    }
  }

  void instruction(const Instruction &is) {
    if (is.opcode < 0 || size_t(is.opcode) >= machine.opcodes.size())
      return error(is.location, "an instruction has an opcode that does not exist");
    const Opcode &opcode = machine.opcodes[is.opcode];
    auto count = [&](size_t found, int64_t wanted, const char *what) {
      if (int64_t(found) != wanted)
        error(is.location, fmt::format("'{}' has {} {}, not {}", opcode.name, wanted, what, found));
      return int64_t(found) == wanted;
    };
    if (!count(is.reads.size(), opcode.reads, "registers to read") ||
        !count(is.writes.size(), opcode.writes, "registers to write") ||
        !count(is.memory.size(), opcode.loads + opcode.stores, "memory operands") ||
        !count(is.immediates.size(), opcode.immediates, "immediates"))
      return;
    for (const std::vector<Register> *all : {&is.reads, &is.writes})
      for (const Register &r : *all) {
        if (r.file < 0 || size_t(r.file) >= machine.registers.size())
          return error(is.location, fmt::format("'{}' names a register file that does not exist", opcode.name));
        const RegisterFile &file = machine.registers[r.file];
        if (r.number < 0 || r.number >= file.count)
          return error(is.location, fmt::format("'{}' names register {} of '{}', which has {}", opcode.name, r.number,
                                                file.name, file.count));
        const int32_t ports = all == &is.reads ? file.readPorts : file.writePorts;
        const auto same = llvm::count_if(*all, [&](const Register &other) { return other.file == r.file; });
        if (ports > 0 && same > ports)
          return error(is.location, fmt::format("'{}' uses {} registers of '{}' at once, which has {} ports",
                                                opcode.name, same, file.name, ports));
      }
    for (const MemoryOperand &operand : is.memory)
      if (!address(operand, is, opcode))
        return;
    const bool able = llvm::any_of(machine.units, [&](const Unit &unit) { return processes(unit, is, machine); });
    if (!able || !stagesTo(is, machine)[machine.fetch.to])
      return error(is.location, fmt::format("no unit with '{}' reaches all registers and memories of this instruction",
                                            opcode.name));
    for (const Stage &stage : machine.stages)
      cycles(stage.latency, 0, is, opcode);
    for (const Unit &unit : machine.units)
      for (const UnitOperation &operation : unit.operations)
        if (operation.opcode == is.opcode)
          cycles(operation.latency, 0, is, opcode), cycles(operation.interval, 1, is, opcode);
  }

  bool address(const MemoryOperand &operand, const Instruction &is, const Opcode &opcode) {
    if (operand.storage < 0 || size_t(operand.storage) >= machine.storages.size()) {
      error(is.location, fmt::format("'{}' names a memory that does not exist", opcode.name));
      return false;
    }
    if (operand.bytes < 1 || operand.bytes > (int64_t(1) << 40) || operand.address.strides.size() > around.size()) {
      error(is.location,
            operand.bytes < 1 || operand.bytes > (int64_t(1) << 40)
                ? fmt::format("'{}' moves {} bytes", opcode.name, operand.bytes)
                : fmt::format("'{}' has an address that moves with more loops than are around it", opcode.name));
      return false;
    }
    if (std::optional<Error> wrong = wrongAddress(operand, around, machine, opcode.name)) {
      wrong->location = is.location;
      errors.push_back(std::move(*wrong));
      return false;
    }
    return true;
  }

  void cycles(const CycleExpression &expression, int64_t min, const Instruction &is, const Opcode &opcode) {
    const Cycles value = evaluate(expression, is);
    if (value < min || value > (int64_t(1) << 40))
      error(is.location, fmt::format("'{}' takes {} cycles here ({}), not from {} to 2^40", opcode.name, value,
                                     expression.text, min));
  }

  const InstructionProgram &program;
  const Microarchitecture &machine;
  std::vector<int> inBodies;
  std::vector<const InstructionLoop *> around;
  Errors errors;
};

} // namespace

Errors check(const InstructionProgram &program, const Microarchitecture &machine) {
  return ProgramCheck(program, machine).run();
}

} // namespace accord::microarchitecture
