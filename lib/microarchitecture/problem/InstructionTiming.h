// How long a program takes on a machine: the answer, and what proves it.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

/// Iterations of a loop that were not evaluated: the state of the machine before iteration `first` recurs before
/// iteration first + period, `growth` cycles later, so `repeats` times `period` iterations take repeats * growth.
struct Recurrence {
  Index loop = kNone;
  std::vector<int64_t> around; ///< iterations of the loops around it, outermost first
  int64_t first = 0, period = 0;
  Cycles growth = 0;
  int64_t repeats = 0;
};

struct InstructionTiming {
  Cycles cycles = 0;                   ///< at the end of the last instruction
  __int128 instructions = 0;           ///< that the program executes
  int64_t evaluated = 0;               ///< of these, those whose times were computed
  std::vector<Recurrence> recurrences; ///< in the order in which they were found
  struct UnitUse {
    __int128 instructions = 0, busy = 0; ///< cycles of interval, all instances together
  };
  std::vector<UnitUse> units; ///< by unit of the machine
  struct StorageUse {
    __int128 beats = 0, hits = 0, misses = 0, writeBacks = 0;
  };
  std::vector<StorageUse> storages;
};

} // namespace accord::microarchitecture
