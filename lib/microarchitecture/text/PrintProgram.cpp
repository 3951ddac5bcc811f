#include "lib/microarchitecture/text/PrintProgram.h"
#include "lib/microarchitecture/text/Operands.h"
#include <fmt/format.h>

using namespace llvm;
namespace accord::microarchitecture {
namespace {

std::string bytesText(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit < 4 && bytes % 1024 == 0)
    bytes /= 1024, ++unit;
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string addressText(const Address &address, const std::vector<std::string> &loops) {
  std::string text;
  auto term = [&](bool isNegative, const std::string &what) {
    text += text.empty() ? (isNegative ? "-" : "") : isNegative ? " - " : " + ";
    text += what;
  };
  auto magnitude = [](int64_t value) { return value < 0 ? 0 - uint64_t(value) : uint64_t(value); };
  if (const uint64_t base = magnitude(address.base); base > 0)
    term(address.base < 0, base >= 4096 ? fmt::format("{:#x}", base) : std::to_string(base));
  for (size_t depth = 0; depth < address.strides.size(); ++depth)
    if (const int64_t stride = address.strides[depth]; stride != 0)
      term(stride < 0, magnitude(stride) == 1 ? nameText(loops[depth])
                                              : fmt::format("{}*{}", magnitude(stride), nameText(loops[depth])));
  return text.empty() ? "0" : text;
}

std::string memoryText(const MemoryOperand &operand, const std::vector<std::string> &loops,
                       const Microarchitecture &machine) {
  return fmt::format("{}[{} : {}]", nameText(machine.storages[operand.storage].name),
                     addressText(operand.address, loops), bytesText(operand.bytes));
}

/// An opcode called as a keyword stands between quotes.
std::string opcodeText(const Opcode &opcode) {
  return opcode.name == "loop" || opcode.name == "fence" ? '"' + opcode.name + '"' : nameText(opcode.name);
}

class ProgramPrinter {
public:
  ProgramPrinter(const InstructionProgram &program, const Microarchitecture &machine)
      : program(program), machine(machine) {}

  std::string run() {
    for (const Instruction &instruction : program.instructions)
      width = std::max(width, opcodeText(machine.opcodes[instruction.opcode]).size());
    text = fmt::format("program {} on {} {{\n", nameText(program.name), nameText(machine.name));
    body(program.body, 2);
    return std::move(text) + "}\n";
  }

private:
  void body(const Body &items, size_t indent) {
    for (const Item &item : items) {
      text.append(indent, ' ');
      if (item.isFence()) {
        text += "fence\n";
        continue;
      }
      if (item.loop == kNone) {
        text += printInstruction(program.instructions[item.instruction], around, machine, width) + "\n";
        continue;
      }
      const InstructionLoop &loop = program.loops[item.loop];
      around.push_back(fresh(loop.name));
      text += fmt::format("loop {} {} {{\n", nameText(around.back()), loop.count);
      body(loop.body, indent + 2);
      text.append(indent, ' '), text += "}\n";
      around.pop_back();
    }
  }

  std::string fresh(const std::string &wanted) const {
    std::string name = wanted.empty() ? fmt::format("loop{}", around.size()) : wanted;
    for (int again = 2; is_contained(around, name); ++again)
      name = fmt::format("{}_{}", wanted.empty() ? "loop" : wanted, again);
    return name;
  }

  const InstructionProgram &program;
  const Microarchitecture &machine;
  size_t width = 0;
  std::vector<std::string> around;
  std::string text;
};

} // namespace

std::string printInstruction(const Instruction &instruction, const std::vector<std::string> &loops,
                             const Microarchitecture &machine, size_t opcodeWidth) {
  const Opcode &opcode = machine.opcodes[instruction.opcode];
  std::vector<std::string> operands;
  for (const Register &one : instruction.writes)
    operands.push_back(registerText(one, machine));
  for (size_t o = opcode.loads; o < instruction.memory.size(); ++o)
    operands.push_back(memoryText(instruction.memory[o], loops, machine));
  for (const Register &one : instruction.reads)
    operands.push_back(registerText(one, machine));
  for (int32_t o = 0; o < opcode.loads; ++o)
    operands.push_back(memoryText(instruction.memory[o], loops, machine));
  for (int64_t immediate : instruction.immediates)
    operands.push_back(std::to_string(immediate));
  const std::string name = opcodeText(opcode);
  return operands.empty() ? name : fmt::format("{:<{}} {}", name, opcodeWidth, fmt::join(operands, ", "));
}

std::string printProgram(const InstructionProgram &program, const Microarchitecture &machine) {
  return ProgramPrinter(program, machine).run();
}

} // namespace accord::microarchitecture
