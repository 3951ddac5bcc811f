// What binds the step in the plan's order, and what would shorten it: for people and for programs.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/documents/Fields.h"

namespace accord {

/// Longest path by kind of core and by phase, and the operations that shorten the step most (10).
/// Of a plan that contradicts itself, one line that says why there is nothing.
std::string timingText(const Plan &plan, const TextStyle &style);

/// The same as an object of a document; a schema needs no plan.
void describeTiming(JsonFields &f, const Plan *plan);

} // namespace accord
