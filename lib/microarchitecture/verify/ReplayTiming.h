// Whether a certificate proves how long a program takes: the program is replayed by the stepper of cycles, and what the
// certificate leaves out is left out only after the state of the stepper was found to recur.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"

namespace accord::microarchitecture {

/// The machine and the program were checked. Empty: the timing is proved. Otherwise A1307 with the reason: a recurrence
/// that does not hold or lies outside of its loop, or a sum that differs. Instructions beyond timing.evaluated are
/// never replayed, and more than 10^9 neither.
Errors verifyTiming(const Microarchitecture &machine, const InstructionProgram &program,
                    const InstructionTiming &timing);

} // namespace accord::microarchitecture
