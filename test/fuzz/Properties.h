// What must hold for every input, right or wrong.
#pragma once
#include "test/fuzz/Corpus.h"

namespace accord::fuzz {

struct Verdict {
  bool accepted = false; ///< no errors of syntax; a plan.json that can be read
  bool planned = false;  ///< and a plan was made of it
  std::string broken;    ///< the promise that was broken and how; empty if all was kept
};

/// .accel and .dnn: parses the text. The tree is complete exactly when there are no errors; every
/// error has a message and a place inside the text; doing it again gives the same messages.
/// Formatting a complete file changes only layout and commas; formatting the result changes
/// nothing.
///
/// Then it is elaborated: every error has a message and a place, in whatever file; the same text
/// gives the same messages; no error is MLIR's own. A program without errors is planned with its
/// smallest micro-batch size; the plan verifies, and is written and read again without a change.
///
/// plan.json: reads it. A plan that is accepted is written and read again without a change, and can
/// be verified and explained, whatever it says.
Verdict check(const Program &program);

} // namespace accord::fuzz
