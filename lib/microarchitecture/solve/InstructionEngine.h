// Times of instructions one after the other, by the rules of docs/microarchitecture.md: longest paths over the joint
// graph of instructions and hardware, in which no instruction waits for a younger one.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/microarchitecture/solve/OperandArrays.h"

namespace accord::microarchitecture {

/// When an instruction was where.
struct Visit {
  Cycles fetch = 0, issue = 0, start = 0, complete = 0; ///< issue: entry of its unit
  Index unit = kNone, instance = 0;
};

/// A stretch of the way of an instruction: from the end of the one before (of the first: the fetch) to `until`.
struct Stretch {
  Wait wait{};
  Index of = kNone;    ///< part, as of WaitedFor
  Index stage = kNone; ///< where it is meanwhile; none: before the first stage, or in a unit
  Cycles until = 0;
};

class InstructionEngine {
public:
  /// Both were checked.
  InstructionEngine(const Microarchitecture &machine, const InstructionProgram &program);

  /// The next instruction of the program's order.
  Visit step(Index instruction);
  /// The same, and its way up to completion without empty stretches; then the time to `base()`, which may be earlier.
  Visit step(Index instruction, std::vector<Stretch> &way);
  /// What follows is not fetched before all so far is complete; what it waits for from `base()` before on.
  Stretch fence();
  /// Before the next iteration of a loop: addresses move by `iterations` strides of it.
  void advance(Index loop, int64_t iterations);

  /// The state before the next instruction, relative to `base()`; equal states have equal futures, as far as addresses
  /// of equal arrays are equal modulo their period.
  std::vector<int64_t> state() const;
  /// No event of later instructions is before it.
  Cycles base() const;
  /// As if `repeats` equal stretches of time and addresses had passed.
  void skip(Cycles cycles, Index loop, int64_t iterations);

  Cycles end() const { return retired; }
  int64_t visits() const { return count; }
  InstructionTiming::UnitUse unitUse(Index unit) const { return use[unit]; }
  const MemorySystem &memories() const { return memory; }
  /// All instructions so far are complete, no unit is taken any more, and the memories are quiet.
  Cycles quiet() const;
  /// What the computation of the times took, beyond the visits: beats, lines, ways and instances one by one.
  int64_t work() const { return looked + memory.work(); }

private:
  struct StageState {
    Cycles enter = 0, leave = 0; ///< no later one enters or leaves before
    Cycles decided = 0;          ///< when all so far have entered it or gone elsewhere; where stages join
    RecentTimes width, capacity;
  };
  struct InstanceState {
    Cycles enter = 0, start = 0; ///< the next one enters, starts no earlier
    RecentTimes entries;
  };
  struct RegisterState {
    Cycles ready = 0, read = 0; ///< completion of the last writer (of all that count); last start of a reader since
  };
  /// Notes the stretches of a way that are not empty, where it is watched.
  template <bool kWatched> struct WayNotes {
    std::vector<Stretch> *way;
    Cycles at;
    void operator()(const Stretch &stretch) {
      if constexpr (kWatched)
        if (stretch.until > at)
          way->push_back(stretch), at = stretch.until;
    }
  };

  /// A step; with its way where it is watched.
  template <bool kWatched> Visit take(Index instruction, std::vector<Stretch> *way);
  /// Through the stages into a unit, which is returned.
  template <bool kWatched> const UnitWay &enter(const Route &route, Visit &visit, WayNotes<kWatched> &note);
  /// The instance of a stage's units that accepts first, not before `ready`, and when.
  Cycles accept(const std::vector<UnitWay> &ways, Cycles ready, const UnitWay *&way, size_t &instance);
  /// The completion of an instruction that started.
  template <bool kWatched>
  Cycles finish(const DecodedInstruction &is, const UnitWay &unit, Cycles start, WayNotes<kWatched> &note);
  /// The start of an instruction that entered its unit.
  template <bool kWatched>
  Cycles start(const DecodedInstruction &is, const UnitWay &unit, const Visit &visit, Stretch *why);
  /// When all of an instruction's data is there; `last`: the memory of the latest.
  Cycles memoryDone(const DecodedInstruction &is, Cycles at, Index *last = nullptr);
  /// What makes a stage accept no instruction before `until`.
  Stretch blocking(Index stage, Cycles until) const;
  Stretch blockingFetch() const;
  /// Where stages join: notes when an instruction left the ways to stages that it does not enter any more.
  void decide(const Route &route, Index from, Index to, Cycles at);

  const Microarchitecture &machine;
  const DecodedProgram decoded;
  std::vector<StageState> stages;
  std::vector<std::vector<InstanceState>> instances; ///< by unit: those that were used so far
  std::vector<RegisterState> registers;              ///< that the program names
  std::vector<Index> writer;                         ///< by register: unit of its last writer; of watched steps alone
  std::vector<Calendar> readPorts, writePorts;       ///< by file
  RecentTimes fetchWidth, fetchBuffer, window;
  Cycles fetched = 0, redirect = 0, retired = 0; ///< redirect: of fences too
  MemorySystem memory;
  OperandArrays arrays;
  mutable size_t written = 0; ///< numbers of the last state
  std::vector<InstructionTiming::UnitUse> use;
  int64_t count = 0, looked = 0;
};

} // namespace accord::microarchitecture
