// Schedules as text, so that one is written by hand or kept:
//
//   schedule {
//     order = [batch, k, m, n, k]    // one loop of the kernel each, outermost first
//     tile(k) = 64                   // its step there; of several levels [64, 8]; not said: the block
//     block(m) = 4                   // points that are unrolled inside; not said: those of one instruction
//     lanes(n) = 8                   // or product(m, n, k) = [16, 16, 16]
//     preload = second
//     ahead = 4                      // products that loads stand in front of their use in a block
//   }
//
// Entries are in any order, one a line or with `;` between them, each once. Loops have the names of the contraction.
// A row operation has `lanes(column) = 8` and `unroll = 4`.
#pragma once
#include "lib/microarchitecture/mapping/RowOperation.h"
#include "llvm/ADT/StringRef.h"

namespace accord::microarchitecture {

/// All errors, each at its place: what is no schedule (A0001), loops that there are not, numbers that are no multiples
/// of what one instruction covers, steps that grow inwards, and what `contractionKernel` refuses (A1308).
Result<Schedule, Errors> parseSchedule(llvm::StringRef text, const std::string &file, const Contraction &of);
Result<RowSchedule, Errors> parseRowSchedule(llvm::StringRef text, const std::string &file, const RowOperation &of);

/// The text that is read as the same schedule. Pieces that are copied to buffers, and the levels that go from piece to
/// piece, are no part of it: `stagePieces` adds them again.
std::string printSchedule(const Schedule &schedule, const Contraction &of);
std::string printSchedule(const RowSchedule &schedule, const RowOperation &of);

} // namespace accord::microarchitecture
