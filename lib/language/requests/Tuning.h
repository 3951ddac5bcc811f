// `tuning NAME { … }` -> what may be chosen, how trials run, and what is asked; each key checked.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "lib/tuning/problem/Tuning.h"

namespace accord {

/// The block as plain data, on one device; nothing after errors.
std::optional<tuning::TuningProblem> tuningRequest(const ast::Declaration &block, Diagnostics &diags,
                                                   const Lookup &lookup);

} // namespace accord
