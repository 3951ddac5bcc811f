// How long a program takes, for the terminal and as the document `time`.
#pragma once
#include "lib/microarchitecture/output/TimingCertificate.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextStyle.h"

namespace accord::microarchitecture {

/// Cycles, seconds where the clock is known, instructions, recurrences by loop, what cycles were waited for, and how
/// far units and memories are used: busy cycles over cycles times instances, beats over cycles times what may pass in
/// one.
std::string timingText(const TimedProgram &answer, const TextStyle &style);

llvm::json::Value timingDocument(const TimedProgram &answer);
llvm::json::Value timingSchema();

/// "fetch_width", "operand", …
void describeWait(JsonVisitor &v, Wait &wait);

} // namespace accord::microarchitecture
