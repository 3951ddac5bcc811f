// About how many cycles a program takes, from its inner loops alone: which of many is timed first.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

struct CycleEstimate {
  double cycles = 0;
  int64_t evaluated = 0; ///< instructions
};

/// The innermost two loops of each nest are timed from one run to the next, and count as often as they are run; what is
/// outside of them counts in proportion. Loops that are run less than a hundredth of the instructions are left out.
/// Both were checked.
CycleEstimate estimateCycles(const Microarchitecture &machine, const InstructionProgram &program);

} // namespace accord::microarchitecture
