// What a timing says, as a page.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace accord::microarchitecture {

/// A core that executed something, as the scripts of pages read it: its block diagram, how far units and memories were
/// used, and what cycles were waited for. Copies in an array are one row.
llvm::json::Object coreData(const Microarchitecture &machine, const InstructionTiming &timing);

/// Adds `times` executions of a program, one after the other; cycles end at 2^62. What proves them, and waits, are
/// not summed. Where a program was timed in part, the rest of it uses units and memories as that part did.
void addExecutions(InstructionTiming &sum, const InstructionTiming &of, __int128 times);

/// microarchitecture.html: the above, and the recurrences by loop. `document` is the text of time.json, whose SHA-256
/// the page states. The timing is of this machine and program.
std::string microarchitecturePage(const Microarchitecture &machine, const InstructionProgram &program,
                                  const InstructionTiming &timing, llvm::StringRef document);

} // namespace accord::microarchitecture
