// Cycles that a program takes at the earliest, from how often it executes what: the bound of every search over
// mappings.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

/// What one instruction takes of one resource, and how much later or earlier than what is taken the end is.
struct WorkPart {
  Index resource = kNone;
  int64_t amount = 0;
  Cycles offset = 0;
};
using Work = std::vector<WorkPart>; ///< by resource

/// Sums over instructions, by resource.
struct WorkTotals {
  std::vector<__int128> amounts;
  std::vector<Cycles> offsets; ///< the smallest of what was added
};

/// Resources of a machine. Each has a rate r; a program of which instructions i are executed takes at least
///
///   ceil(sum of amount(i) / r) + min of offset(i)   cycles, for each resource,
///
/// whatever else it executes, so instructions may be left out. With head(i) the shortest way from the fetch to the
/// start (latency of fetch and of the stages of one way), tail(i) the shortest time from start to completion (latency,
/// beats and latency of memories) and life(i) = head(i) + tail(i), each follows from a rule of
/// docs/microarchitecture.md:
///
/// - fetch: instruction k is fetched not before cycle floor((k - 1) / width), and completes life later: amount 1, rate
///   `width`, offset life - 1. A stage on all ways to the units of an instruction: the same with its width.
/// - buffer, stage, window: each holds its entry for so long, and entries are few: amount latency of fetch, of the
/// stage,
///   or tail; rate `buffer`, `capacity` or `window`; offset 0, of the window the head.
/// - redirects: instruction j that redirects, n(j) instructions behind the one before, completes not before that one's
///   completion + floor((n(j) - 1) / width) + life, and floor((n - 1) / width) >= n / width - 1. So each instruction
///   takes 1, one that redirects width * (life - 1) more; rate `width`. Where what is executed right before writes a
///   register that it reads, life is that of the one before and its own tail, and n(j) - 2 stands for n(j) - 1.
/// - units: starts in an instance are `interval` apart. For each set of units that has all units of some opcode: amount
/// the
///   smallest interval of instructions that only units of the set process; rate the instances of the set; offset head +
///   tail - interval.
/// - turns of a unit of one instance, where one stage hands to all units: what is behind a redirect j is fetched when j
///   is complete. Let redirect k be the next one, and i the instructions in between that only this unit processes; they
///   start there one after the other. The last i enters the unit before k enters one, since a stage is left in order;
///   so all but the last `entries` of them have started and made room. So complete(k) - complete(j) is at least the
///   shortest way from the fetch to a unit + the sum of interval(i) - entries * (the largest interval of the unit) +
///   tail(k); and + tail(b) if k reads what b right before it writes. Where only this unit processes k, k starts behind
///   all i: the entries are not subtracted, and of such a b of this unit it is tail(b) - interval(b). Amount: interval
///   of i, and what remains of k; rate 1. Units for which that might be below 0 have no turns, so that redirects may be
///   left out as well.
/// - ports of register files: amount the registers, rate the ports, offset head - 1.
/// - beats: a request of n bytes takes ceil(n / portBytes) beats at least; rate `ports`, offset head - 1 and the
/// latency
///   of the memory. Requests of a memory without a cache: each holds its place from the first beat to its end: amount
///   beats - 1 + latency, rate `requests`, offset head.
///
/// Registers, of a program alone: a write begins when the write before it is complete, unless the file is renamed. So
/// those who write one register take the sum of their tails.
class WorkBound {
public:
  /// The machine was checked, and outlives this.
  explicit WorkBound(const Microarchitecture &machine);

  /// Of an instruction; registers may be left out, and memory operands have no storage where it is not known: then the
  /// amounts are those that hold for all.
  Work of(const Instruction &instruction) const;
  /// Of an instruction of any opcode.
  Work ofAny() const { return any; }
  /// Of one that redirects, and reads what the instruction right before it writes.
  Work ofRedirect(const Instruction &redirect, const Instruction &before) const;

  void add(const Work &work, __int128 count, WorkTotals &to) const;
  /// At most 2^62.
  Cycles cycles(const WorkTotals &totals) const;
  /// The sum of all resources' cycles, to tell apart what has equal bounds.
  double pressure(const WorkTotals &totals) const;

  /// The earliest end of a program. It was checked.
  Cycles ofProgram(const InstructionProgram &program) const;

  /// Cycles from the start of an instruction to its completion, at the earliest.
  Cycles tailOf(const Instruction &instruction) const;

private:
  struct Lives { ///< of an instruction
    std::vector<char> units;
    Cycles head = 0, tail = 0, interval = 1;
  };
  Lives livesOf(const Instruction &instruction) const;
  /// The storages' shortest time from the first request to the last data.
  Cycles memoryTail(const Instruction &instruction) const;
  /// From the fetch to a unit, whatever the instruction is.
  Cycles shortestWay() const;
  /// Cycles of turns of a unit that a redirect takes; `before`: what is right before it, and writes what it reads.
  int64_t turnsOf(Index unit, const Lives &redirect, const Lives *before) const;
  bool hasTurns(Index unit) const;
  void addTurns(const Lives &is, bool redirects, const Lives *before, Work &to) const;
  std::vector<char> stagesOnAllWays(const Instruction &instruction, const std::vector<char> &units) const;
  int64_t beatsOf(const MemoryOperand &operand) const;

  const Microarchitecture &machine;
  std::vector<int64_t> rates;              ///< by resource
  std::vector<std::vector<char>> unitSets; ///< with all units of some opcode each
  Index fetch = 0, buffer = 0, window = 0, redirects = 0;
  Index stageWidths = 0, stageRooms = 0; ///< resource of the first stage
  Index sets = 0;                        ///< of the first set of units
  Index turns = 0;                       ///< of the first unit
  Cycles way = 0;                        ///< to any unit
  std::vector<char> isInTurn;            ///< by unit
  Index readPorts = 0, writePorts = 0;   ///< of the first register file
  Index beats = 0, requests = 0;         ///< of the first storage
  Work any;
};

} // namespace accord::microarchitecture
