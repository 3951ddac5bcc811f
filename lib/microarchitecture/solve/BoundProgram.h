// Bounds of what a program still takes where its evaluation ended.
#pragma once
#include "lib/microarchitecture/problem/InstructionProgram.h"

namespace accord::microarchitecture {

/// Where evaluation ended: in each body on the way, outermost first, the item that was last begun; and of each loop on
/// the way which, and its iteration.
struct ProgramPlace {
  std::vector<size_t> items;
  std::vector<Index> loops;
  std::vector<int64_t> iterations;
};

/// What is executed behind a place: the rest of each body and of the iterations of each loop, as loops of their own.
InstructionProgram restOf(const InstructionProgram &program, const ProgramPlace &place);

/// Cycles in which the rest of a program ends that is fetched from cycle `fetch` on: the latest of
/// - the envelope (TimingEnvelope) of the lower side;
/// - fetch + instructions / width - 1, rounded up, as are all quotients here;
/// - for each set of units to which some instructions must go, and for all units: fetch + (sum of the shortest
///   intervals of those that must go there) / (instances) - (the longest of those intervals): the last start of the
///   instance that does the longest part is no earlier;
/// - fetch + (registers read of a file) / (its read ports) - 1, and of those written;
/// - fetch + (beats that operands need in a memory) / (beats a cycle, as banks and ports allow) - 1.
Cycles lowerEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles fetch);

/// Not before which the rest ends for sure, where nothing of what is older is under way from cycle `quiet` on: the
/// envelope of the upper side. 2^61 if it may be beyond.
Cycles upperEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles quiet);

} // namespace accord::microarchitecture
