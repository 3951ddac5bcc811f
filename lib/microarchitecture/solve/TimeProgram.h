// How long a program takes: instructions are evaluated until the state of the machine recurs, and the rest of each loop
// follows exactly.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include <functional>

namespace accord::microarchitecture {

struct TimingLimits {
  int64_t evaluated = 200'000'000; ///< instructions; beyond: an error that says in which loop
  int64_t states = 1 << 16;        ///< that a loop keeps to find a recurrence among
  bool recurrences = true;         ///< false: every instruction is evaluated
  bool waits = false;              ///< whether cycles are counted by what they were waited for
};

/// The machine and the program were checked. Cycles beyond 2^62 are refused.
Result<InstructionTiming> timeProgram(const Microarchitecture &machine, const InstructionProgram &program,
                                      const TimingLimits &limits = {});

} // namespace accord::microarchitecture
