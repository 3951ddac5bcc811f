// A scheduling problem and its answer as text in the `plan` dialect, and back.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <optional>
#include <string>

namespace accord {

/// Parts refer to each other by name; where names are missing or alike, by number ("#3"). The same
/// bytes for the same data; `readSchedulingMlir` gives back all of it but `work` and, where
/// the text comes from elsewhere, source locations.
std::string schedulingMlir(const SchedulingProblem &problem, const SchedulingResult *result = nullptr);

struct ScheduledProblem {
  SchedulingProblem problem;
  std::optional<SchedulingResult> result;
};

/// The first problem of the text and the first solution of it. A0901 with the place where the
/// text cannot be read or its verifier finds something, and what `check` finds in the problem.
Result<ScheduledProblem> readSchedulingMlir(const std::string &text, const std::string &file);

} // namespace accord
