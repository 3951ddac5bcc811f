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

/// What an instruction waits for, or is in, at some time.
enum class Wait : uint8_t {
  FetchWidth,   ///< as many instructions were fetched in this cycle as may be
  FetchBuffer,  ///< no entry of the buffer is free
  Redirect,     ///< completion of an instruction that decides where the program goes on
  Fence,        ///< completion of all that is before a fence
  FetchLatency, ///< is fetched
  StageWidth,   ///< of stage `of`: as many entered it in this cycle as may
  StageFull,    ///< stage `of` holds as many as it can
  StageLatency, ///< is in stage `of`
  StageOrder,   ///< an older instruction has not left stage `of`
  UnitFull,     ///< no instance of unit `of` accepts it
  Window,       ///< the window is full
  UnitBusy,     ///< unit `of` may not start another one yet
  Operand,      ///< a register that it reads is being written by unit `of`
  OutputOrder,  ///< a register that it writes is still to be written by an older one; `of`: file
  AntiOrder,    ///< a register that it writes is still to be read by an older one; `of`: file
  ReadPorts,    ///< of file `of`
  Execution,    ///< in unit `of`
  Memory,       ///< data of memory `of`
  WritePorts,   ///< of file `of`
};

/// Cycles of a program by what instructions wait for, or are in. `oldest` gives each cycle to the oldest instruction
/// that is not yet complete, so these are all cycles of the program together; cycles in which none is under way are
/// those of the next fetch. (A stack of cycles at retirement, as S. Eyerman et al., "A performance counter architecture
/// for computing accurate CPI components", ASPLOS 2006.) `all` is the sum over all instructions, each from the time at
/// which it might be fetched to its completion: waits for older instructions stand there alone, as those are complete
/// by then.
struct WaitedFor {
  Wait wait{};
  Index of = kNone; ///< stage, unit, register file or memory, by the kind
  __int128 oldest = 0, all = 0;
  bool operator==(const WaitedFor &) const = default;
};

struct InstructionTiming {
  Cycles cycles = 0;                   ///< at the end of the last instruction; with bounds an estimate in between
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
  std::vector<WaitedFor> waits; ///< where it was asked for: by kind and part, none without cycles
  /// Where the state did not recur within the limits: `timed` instructions are complete in cycle `reached`, exactly;
  /// units, storages and waits are of those. The program takes from `low` to `high` cycles, proven. `cycles` goes on
  /// as the second half of what was evaluated, which is not.
  struct Bounds {
    Cycles low = 0, high = 0, reached = 0;
    __int128 timed = 0;
  };
  std::optional<Bounds> bounds;
  /// What units, storages and waits are of.
  Cycles counted() const { return bounds ? bounds->reached : cycles; }
};

} // namespace accord::microarchitecture
