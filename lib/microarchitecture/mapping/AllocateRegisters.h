// Registers of the values of a kernel.
#pragma once
#include "lib/microarchitecture/mapping/LoopKernel.h"

namespace accord::microarchitecture {

struct Registers {
  std::vector<Register> of; ///< by value
  int32_t inUse = 0;        ///< at once, at most
};

/// `files`: by value, those that may hold it, the best first. A value lives from the step that gives it first to the
/// last that reads or changes it, and to the end of each loop that is around such a step and not around the first.
/// A1308 where a file has too few registers.
Result<Registers> allocateRegisters(const LoopKernel &kernel, const Microarchitecture &machine,
                                    const std::vector<std::vector<Index>> &files);

} // namespace accord::microarchitecture
