// Times of instructions one after the other, by the rules of docs/microarchitecture.md: longest paths over the joint
// graph of instructions and hardware, in which no instruction waits for a younger one.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/microarchitecture/solve/MemorySystem.h"

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

private:
  /// The last `size` of some times, oldest first from `next` on.
  struct Ring {
    std::vector<Cycles> times;
    size_t next = 0;
    explicit Ring(size_t size = 1) : times(size, 0) {}
    Cycles oldest() const { return times[next]; }
    void push(Cycles time) {
      times[next] = time;
      next = next + 1 == times.size() ? 0 : next + 1;
    }
  };
  struct StageState {
    Cycles enter = 0, leave = 0; ///< no later one enters or leaves before
    Cycles decided = 0;          ///< when all so far have entered it or gone elsewhere; where stages join
    Ring width, capacity;
    bool isWide = false;
  };
  struct InstanceState {
    Cycles enter = 0, start = 0; ///< the next one enters, starts no earlier
    Ring entries;
  };
  struct RegisterState {
    Cycles ready = 0, read = 0; ///< completion of the last writer; last start of a reader since
  };
  struct Place { ///< where an opcode may go on
    Index stage = kNone;
  };
  struct Way { ///< a unit for an instruction
    Index unit = kNone;
    size_t firstInstance = 0, instances = 1;
    Cycles latency = 0, interval = 1;
  };
  struct PortUse {
    Index file = kNone;
    int32_t amount = 0;
  };
  struct Decoded {
    std::vector<std::vector<Index>> next;         ///< by stage: where it may go on
    std::vector<std::vector<Way>> ways;           ///< by stage
    std::vector<std::vector<char>> behind;        ///< by stage: stages that may follow; where stages join
    std::vector<Cycles> stageLatency;             ///< by stage
    std::vector<uint32_t> reads, writes, guarded; ///< registers; `guarded`: written, and not renamed
    std::vector<PortUse> readPorts, writePorts;
    std::vector<MemoryOperand> memory;
    std::vector<OperandId> operands;
    int32_t loads = 0;
    bool redirects = false;
  };
  struct Array; ///< operands whose addresses meet

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
  template <bool kWatched> const Way &enter(const Decoded &is, Visit &visit, WayNotes<kWatched> &note);
  /// The completion of an instruction that started.
  template <bool kWatched> Cycles finish(const Decoded &is, const Way &unit, Cycles start, WayNotes<kWatched> &note);
  /// The start of an instruction that entered its unit.
  template <bool kWatched> Cycles start(const Decoded &is, const Way &unit, const Visit &visit, Stretch *why);
  /// When all of an instruction's data is there; `last`: the memory of the latest.
  Cycles memoryDone(const Decoded &is, Cycles at, Index *last = nullptr);
  /// What makes a stage accept no instruction before `until`.
  Stretch blocking(Index stage, Cycles until) const;
  Stretch blockingFetch() const;
  /// Where stages join: notes when an instruction left the ways to stages that it does not enter any more.
  void decide(const Decoded &is, Index from, Index to, Cycles at);

  const Microarchitecture &machine;
  std::vector<Decoded> decoded;
  std::vector<StageState> stages;
  std::vector<InstanceState> instances;
  std::vector<RegisterState> registers;
  std::vector<Index> writer, fileOf; ///< by register: unit of its last writer, its file; of watched steps alone
  std::vector<Calendar> readPorts, writePorts; ///< by file
  bool joins = false;                          ///< some stage has several before it
  Ring fetchWidth, fetchBuffer, window;
  Cycles fetched = 0, redirect = 0, retired = 0;
  MemorySystem memory;
  std::vector<int64_t> address;                                  ///< by operand: current
  std::vector<std::vector<std::pair<OperandId, int64_t>>> moves; ///< by loop: stride of each operand in it
  std::vector<OperandId> leader;                                 ///< by operand: the first one of its array
  std::vector<int64_t> period;                                   ///< by operand: of its storage
  std::vector<InstructionTiming::UnitUse> use;
  int64_t count = 0;
};

} // namespace accord::microarchitecture
