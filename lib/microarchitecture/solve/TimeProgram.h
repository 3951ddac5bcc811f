// How long a program takes: instructions are evaluated until the state of the machine recurs, and the rest of each loop
// follows exactly.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include <functional>

namespace accord::microarchitecture {

struct TimingLimits {
  int64_t evaluated = 200'000'000; ///< instructions; beyond: an error, or bounds
  int64_t states = 1 << 16;        ///< that a loop keeps to find a recurrence among
  int64_t kept = 1 << 25;          ///< numbers in all kept states; beyond: hashes, and a period more to be sure
  bool recurrences = true;         ///< false: every instruction is evaluated
  bool waits = false;              ///< whether cycles are counted by what they were waited for
  bool bounds = false;             ///< whether there are bounds of a time that is not found within the limits
};

/// The machine and the program were checked. Cycles beyond 2^62 are refused (A1306), and so are operands of more than
/// 2^22 beats, and times that are not found within the limits where no bounds are asked for.
Result<InstructionTiming> timeProgram(const Microarchitecture &machine, const InstructionProgram &program,
                                      const TimingLimits &limits = {});

} // namespace accord::microarchitecture
