// Programs of a described machine as text:
//
//   program gemm on oma {
//     loop i 64 {
//       loop j 64 {
//         load  r1, dmem[0x1000 + 256*i + 4*j : 4 B]
//         mac   r3, r1, r2, r3    // destination first
//       }
//       store dmem[0x8000 + 4*i : 4 B], r3
//     }
//   }
//
// Operands: destinations before sources, so registers written, memory stored, registers read, memory loaded,
// immediates. Registers, memory operands and immediates cannot be taken for each other, so they may stand in any order
// among each other. A register is `r3`, `r[3]`, or its file's name where the file has one. An address is a sum of
// numbers times loops around the instruction; the bytes that are moved have a unit. A name that is no word stands
// between quotes.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"
#include "llvm/ADT/StringRef.h"

namespace accord::microarchitecture {

/// The program of a text, checked (`check` of InstructionProgram.h). All errors, in the order of their places, at most
/// 100: syntax (A0001 to A0005), names and units (A0104, A0110, A0201, A0202, A0205), instructions (A1304) and
/// addresses (A1305), each at the token that is wrong. `file` is what places name. The machine was checked.
Result<InstructionProgram, Errors> parseProgram(llvm::StringRef text, const std::string &file,
                                                const Microarchitecture &machine);

} // namespace accord::microarchitecture
