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
struct ProgramRest {
  InstructionProgram program;
  std::vector<size_t> depths; ///< by item of its body: in how many loops it was
};
ProgramRest restOf(const InstructionProgram &program, const ProgramPlace &place);

/// Cycles in which the rest of a program ends that is fetched from cycle `fetch` on: the latest of
/// - the envelope (TimingEnvelope) of the lower side;
/// - fetch + instructions / width - 1, rounded up, as are all quotients here;
/// - for each set of units to which some instructions must go, and for all units: fetch + (sum of the shortest
///   intervals of those that must go there) / (instances) - (the longest of those intervals): the last start of the
///   instance that does the longest part is no earlier;
/// - fetch + (registers read of a file) / (its read ports) - 1, and of those written;
/// - fetch + (beats that operands need in a memory) / (beats a cycle, as banks and ports allow) - 1;
/// - for each cache, with the misses that it must have: fetch + (misses / requests - 1) * (its latency, and the beats
///   and the latency of a line behind it), as a miss waits for the one so many places before it; and with the beats of
///   all but the last `requests` lines in the memory behind it, as above.
/// A cache must miss each line that loads (stores, where it allocates) of the rest touch and that neither it nor a
/// cache before it can hold already. The lines of an operand in one nest: by rising strides, an extent that a stride
/// steps over by at most a line is touched in every line; copies that are farther apart share no line. Operands whose
/// bytes in the whole program lie in different lines add up.
Cycles lowerEnd(const Microarchitecture &machine, const InstructionProgram &program, const ProgramRest &rest,
                Cycles fetch);

/// Not before which the rest ends for sure, where nothing of what is older is under way from cycle `quiet` on: the
/// envelope of the upper side. 2^61 if it may be beyond.
Cycles upperEnd(const Microarchitecture &machine, const InstructionProgram &rest, Cycles quiet);

} // namespace accord::microarchitecture
