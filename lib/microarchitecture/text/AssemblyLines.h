// Lines of assembly, each an instruction, with labels resolved.
#pragma once
#include "lib/microarchitecture/text/ImportAssembly.h"
#include "lib/microarchitecture/text/Operands.h"

namespace accord::microarchitecture {

struct AssemblyLine {
  Instruction is;                    ///< without its addresses; without an opcode: a fence
  std::vector<LinearForm> addresses; ///< by memory operand; symbols are numbers of registers, counted over all files
  std::optional<IntegerMeaning> meaning;
  size_t target = 0; ///< of a branch: a line; the number of lines is the end
  TextPlace place;
};

struct AssemblyText {
  std::vector<AssemblyLine> lines;
  std::map<size_t, std::string> labels; ///< by line that is a target: the first label there
};

/// All errors are in `errors`.
AssemblyText readAssembly(llvm::StringRef text, const std::string &file, const Microarchitecture &machine,
                          const AssemblyOptions &options, Errors &errors);

/// The number of a register, counted over all files.
inline int64_t flatRegister(Register of, const Microarchitecture &machine) {
  int64_t first = 0;
  for (Index file = 0; file < of.file; ++file)
    first += machine.registers[file].count;
  return first + of.number;
}

} // namespace accord::microarchitecture
