// Streams of instructions as nests of loops with affine addresses.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"

namespace accord::microarchitecture {

struct Register {
  Index file = kNone, number = 0;
  bool operator==(const Register &) const = default;
};

/// base + sum over the loops around the instruction, outermost first, of stride * iteration; in bytes.
struct Address {
  int64_t base = 0;
  std::vector<int64_t> strides; ///< shorter than the nest: the inner loops do not move it
};

struct MemoryOperand {
  Index storage = kNone;
  Address address;
  int64_t bytes = 0;
};

struct Instruction {
  Index opcode = kNone;
  std::vector<Register> reads, writes;
  std::vector<MemoryOperand> memory; ///< loads, then stores, as many as the opcode has
  std::vector<int64_t> immediates;
  SourceLocation location;
};

/// A body is a list of items; an item is an instruction, a loop over a body, or a fence: what is behind it is not
/// fetched before all older instructions are complete.
struct InstructionLoop;
inline constexpr Index kFence = -2;
struct Item {
  Index instruction = kNone; ///< of InstructionProgram::instructions, or kFence
  Index loop = kNone;        ///< of InstructionProgram::loops; one of both is set
  bool isFence() const { return loop == kNone && instruction == kFence; }
};
using Body = std::vector<Item>;
struct InstructionLoop {
  std::string name;
  int64_t count = 0; ///< iterations; 0 is none
  Body body;
  SourceLocation location;
};

struct InstructionProgram {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<InstructionLoop> loops; ///< each is in exactly one body
  Body body;
};

/// Whether a unit processes an instruction: it has the opcode, and reaches the registers and memories that are named.
bool processes(const Unit &unit, const Instruction &instruction, const Microarchitecture &machine);
/// By stage: whether a unit that processes the instruction is in it, or behind it.
std::vector<char> stagesTo(const Instruction &instruction, const Microarchitecture &machine);

/// Why the bytes of an operand do not lie in its memory at every iteration of the loops around it, outermost first
/// (A1305); nothing if they do. The storage exists, and no more strides than loops.
std::optional<Error> wrongAddress(const MemoryOperand &operand, const std::vector<const InstructionLoop *> &around,
                                  const Microarchitecture &machine, const std::string &opcode);

/// All that is wrong with a program on a machine, each at its place: opcodes, registers and memories that do not exist,
/// operands that no unit with the opcode can reach, addresses outside of a memory at any iteration, loops in a circle.
Errors check(const InstructionProgram &program, const Microarchitecture &machine);

/// Instructions that the program executes, in 128 bits; fences are none.
__int128 executedInstructions(const InstructionProgram &program);

/// Whether a body comes to a fence, however often its loops are run.
bool hasFence(const InstructionProgram &program, const Body &body);

} // namespace accord::microarchitecture
