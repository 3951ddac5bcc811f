// What cycles were waited for, in words.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/support/documents/TextTable.h"

namespace accord::microarchitecture {

/// "operand from unit 'mau'", "in stage 'decode'".
std::string waitText(Wait wait, Index of, const Microarchitecture &machine);

/// A table of the cycles of a timing by what the oldest instruction waited for, or was in, most first, beside the
/// cycles of an instruction on average. Empty where the timing has no waits.
std::string waitTable(const InstructionTiming &timing, const Microarchitecture &machine, const TextStyle &style);

} // namespace accord::microarchitecture
