// Kernels as programs of a machine: opcodes by their roles, registers by the ranges in which values live, addresses.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"

namespace accord::microarchitecture {

struct EmitOptions {
  /// Where all tensors are that are no buffers of the kernel; else, of tensors that are copied, the largest that the
  /// copies reach (the last of several), of others the first that their loads and stores reach.
  Index storage = kNone;
  /// Counters and branches of loops as instructions, where the machine has opcodes for constants, add_immediate and
  /// branch; else loops cost nothing by themselves.
  bool loopControl = true;
};

struct MappedKernel {
  InstructionProgram program;
  Index storage = kNone;
  struct Place {
    std::string name;
    int64_t begin = 0; ///< address of the first element
    int64_t elements = 0;
    int32_t bytes = 4; ///< of an element
    Index storage = kNone;
    bool isBuffer = false;
  };
  std::vector<Place> tensors;                        ///< those of the kernel, then "constants" where there are any
  std::vector<double> constants;                     ///< elements of that last one
  std::vector<std::pair<Register, int64_t>> presets; ///< what registers hold before the program begins
  int32_t registers = 0;                             ///< in use at once, at most
};

/// The opcode of a role and its lanes or tile (the first that has them); kNone: none.
Index opcodeOf(const Microarchitecture &machine, const OpcodeRole &role);
/// The most lanes with which the machine has a role; 0: none. Tiles do not count.
int32_t lanesOf(const Microarchitecture &machine, Role role);

/// - An opcode that reads one register more than its role has arguments and that has a memory operand takes the address
///   from it. Such a register is kept for each tensor and moved by add_immediate at the end of each loop; what remains
///   is the offset that the instruction itself has.
///   Without an opcode for constants these registers are set before the program begins.
/// - A constant is an immediate where it is a whole number and the machine has an opcode for that; else it is loaded.
/// - A value is in the file with the fewest bits that hold it and that all its instructions reach; from there on in the
///   lowest register that is free for as long as the value lives (linear scan: Poletto, Sarkar, Linear Scan Register
///   Allocation, TOPLAS 21(5), 1999; nothing is spilled).
/// - A memory opcode that reads and writes one register more (behind the address) takes tokens, in a file that counts.
///   Each buffer (of kernels without buffers: each tensor) has two: stores and copies to it await the token "free" and
///   signal "full", loads and copies from it await "full" and signal "free". So all that reached it before with the
///   other intent is complete. Buffers that pass each other what was computed, through memory, have tokens in common.
///   Kernels with buffers need such opcodes, unless `window` is 1.
/// - Buffers lie one behind the other in their storages, each at a multiple of its port.
/// Refused (A1308): a role without an opcode, too few registers, too few bytes of memory, copies without tokens.
Result<MappedKernel> emitKernel(const LoopKernel &kernel, const Microarchitecture &machine,
                                const EmitOptions &options = {});

} // namespace accord::microarchitecture
