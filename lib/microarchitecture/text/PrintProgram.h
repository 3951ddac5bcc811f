// Programs as the text that ParseProgram.h reads.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

/// The text of a program that was checked. It reads back as the same program, except that an instruction that stands in
/// several places is several, and that loops with no name, or that of a loop around them, have new names.
/// Opcodes are padded to one column; addresses from 4096 on are hexadecimal; bytes have the largest unit that is exact.
std::string printProgram(const InstructionProgram &program, const Microarchitecture &machine);
/// One instruction as it stands there; `loops` are the names of the loops around it, outermost first.
std::string printInstruction(const Instruction &instruction, const std::vector<std::string> &loops,
                             const Microarchitecture &machine, size_t opcodeWidth = 0);

} // namespace accord::microarchitecture
