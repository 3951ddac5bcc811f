// A bound of what is left of a program by what has to be done in all, computed again: the sums are those that
// solve/BoundProgram.h names, and nothing of its code is used.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

/// Bounds do not go beyond this cycle.
inline constexpr Cycles kTooLate = Cycles(1) << 61;

/// The rest of a program, and for each item of its body in how many loops of the program it was.
struct RestOfProgram {
  InstructionProgram program;
  std::vector<size_t> depths;
};

/// Sums of what units, ports, memories, caches and the fetch have to do: a bound from below.
Cycles endByWork(const Microarchitecture &machine, const InstructionProgram &program, const RestOfProgram &rest,
                 Cycles from);

} // namespace accord::microarchitecture
