// Plain assembly of a described machine as a program of loops.
//
//         li   r1, 0x1000
//         li   r2, 0x1100
//   top:  load r3, 0(r1)            // or dmem[r1 + 4 : 4 B]
//         mac  r4, r3, r3, r4
//         addi r1, r1, 4
//         bne  r1, r2, top
//
// The text is executed with values of registers that are known: constants, and sums of constants times iterations of
// the loops around. A stretch between a label and a branch back to it becomes a loop where that is proved: the values
// at its head move by constants, from which its instructions, addresses and number of iterations follow. Loops end with
// a conditional branch back, or have one conditional exit and an unconditional jump back. Other branches are decided
// where their operands are constants; what is no loop is unrolled.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "llvm/ADT/StringRef.h"

namespace accord::microarchitecture {

/// What an opcode does to integers, and where it goes on. Sources are the registers read, in order, then the immediate;
/// branches compare the first register with the second, or with 0.
enum class IntegerMeaning : uint8_t {
  Set, ///< to the immediate
  Add,
  Subtract,
  Multiply,
  ShiftLeft,
  Move,
  IfEqual,
  IfNotEqual,
  IfLess, ///< signed
  IfNotLess,
  Always,
};

struct AssemblyOptions {
  std::string name = "assembly"; ///< of the program
  /// By name of the opcode. Opcodes that are not named here make registers unknown, and go on with the next line.
  std::vector<std::pair<std::string, IntegerMeaning>> meanings = {
      {"li", IntegerMeaning::Set},          {"addi", IntegerMeaning::Add},      {"add", IntegerMeaning::Add},
      {"sub", IntegerMeaning::Subtract},    {"mul", IntegerMeaning::Multiply},  {"slli", IntegerMeaning::ShiftLeft},
      {"mv", IntegerMeaning::Move},         {"beq", IntegerMeaning::IfEqual},   {"bne", IntegerMeaning::IfNotEqual},
      {"blt", IntegerMeaning::IfLess},      {"bge", IntegerMeaning::IfNotLess}, {"beqz", IntegerMeaning::IfEqual},
      {"bnez", IntegerMeaning::IfNotEqual}, {"j", IntegerMeaning::Always},      {"jump", IntegerMeaning::Always}};
  struct Known {
    Register of;
    int64_t value = 0;
  };
  std::vector<Known> values;           ///< of registers at the start
  std::vector<Register> zero;          ///< registers that are 0, whatever is written
  int64_t maxInstructions = 1'000'000; ///< of the program, loops once; 16 times as many may be executed to find them
};

/// The program, checked. Registers that an opcode reads and the text does not name are those of its address
/// (`load r3, 0(r1)` of an opcode that reads one register and writes one). A memory that the text does not name is the
/// only one that units with the opcode reach; bytes that it does not say are those of the register that is moved.
/// Lines that begin with `.` and are no label are left out. A line `fence` is a fence, unless an opcode is called so.
/// Errors: those of ParseProgram.h; A0104 for labels; A0309 where an address or a branch needs a value that is not
/// known; A1306 where too much would be unrolled, with a note why the loop could not be proved; A0302 where a value
/// leaves the range of its register.
Result<InstructionProgram, Errors> importAssembly(llvm::StringRef text, const std::string &file,
                                                  const Microarchitecture &machine,
                                                  const AssemblyOptions &options = {});

} // namespace accord::microarchitecture
