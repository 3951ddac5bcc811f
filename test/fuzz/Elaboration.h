// From a parsed program to a verified plan, as `accord compile` goes, with every promise on the way
// checked.
#pragma once
#include "test/fuzz/Properties.h"

namespace accord {
class Diagnostics;
}

namespace accord::fuzz {

/// The first diagnostic without a message or with a place that is not there, in words; empty if
/// there is none.
std::string badDiagnostic(const Diagnostics &diags);

/// Elaborates the program (its machines; with a training, its model), builds the training graph,
/// plans it with the smallest micro-batch size and verifies the plan. Adds what was reached and
/// what was broken to `verdict`.
void checkElaboration(const Program &program, Verdict &verdict);

} // namespace accord::fuzz
