// What proves how long a program takes: machine, program and timing, as certificate/time.json.
#pragma once
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include "lib/support/documents/AnswerFile.h"

namespace accord::microarchitecture {

constexpr const char *kTimeDocument = "time.json", *kTimeCertificate = "certificate/time.json";

/// The program is as `parseProgram` reads it: loops are numbered in the order of the text, and each has a name.
struct TimedProgram {
  Microarchitecture machine;
  InstructionProgram program;
  InstructionTiming timing; ///< exact: it has no bounds
  double clock = 0;         ///< cycles a second; 0: not known
};

/// All of an answer but for places: numbers of 128 bits as text, the program as its lines.
std::string timingCertificate(const TimedProgram &answer);
/// Reads what `timingCertificate` writes. Errors, each at a place in the document or in its program: A0901 for what is
/// no such document, those of `check` and of `parseProgram` for its machine and program.
Result<TimedProgram, Errors> timingFromCertificate(llvm::StringRef text, const std::string &path);

/// time.json, a page of it, the program as text, a trace of its first instructions, and the certificate that they
/// follow from.
AnswerFiles filesOf(const TimedProgram &answer);

} // namespace accord::microarchitecture
