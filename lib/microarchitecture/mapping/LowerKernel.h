// Kernels in the words of one machine: products without an opcode for multiply_add, constants, addresses in registers,
// counters of loops.
#pragma once
#include "lib/microarchitecture/mapping/EmitKernel.h"

namespace accord::microarchitecture {

struct LoweredKernel {
  LoopKernel kernel; ///< each step has an opcode, or is of role None: a value that is there before the program begins
  std::vector<double> constants;
  Index constantTensor = kNone; ///< kNone: there is none
  Index storage = kNone;        ///< where tensors begin
  std::vector<Index> storages;  ///< by tensor
  std::vector<int64_t> begin;   ///< by tensor: address of the first element
  std::vector<Index> pointer;   ///< by tensor: the value that holds its address, the last argument of steps that have
                                ///< one; kNone: none
};

/// As `emitKernel` says it.
Result<LoweredKernel> lowerKernel(const LoopKernel &kernel, const Microarchitecture &machine,
                                  const EmitOptions &options);

/// Whether an opcode takes the address of its memory operand from a register.
bool takesAddress(const Opcode &opcode);
/// Whether an opcode with memory operands reads a token, and writes one, each behind its other registers.
bool hasTokens(const Opcode &opcode);

} // namespace accord::microarchitecture
