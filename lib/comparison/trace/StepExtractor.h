// One training step out of the events of a trace: which call did which work, and where the device did nothing.
#pragma once
#include "lib/comparison/problem/MeasuredStep.h"
#include "lib/comparison/trace/TraceEvents.h"

namespace accord::comparison {

struct StepChoice {
  std::optional<int64_t> step;   ///< the number of a "ProfilerStep#"; without one the step of median length
  std::optional<int64_t> device; ///< the number of a device; without one the device with the most kernel time
};

/// Seconds of the marks "ProfilerStep#" of a trace, by number.
std::map<int64_t, double> markedSteps(const TraceEvents &trace);

/// The step of a trace. A kernel belongs to the call around its launch (by correlation, else by external id).
///
/// The length of a step is, where the trace has kernels, from its first kernel to the first of the next step; of the
/// last step to the end of its last kernel or of its mark, whichever is later. Else it is the length of its mark. A
/// trace without marks is one step.
///
/// Errors: A0104 a step or a device that the trace does not have (with those that it has); A0812 a step without work.
Result<MeasuredStep> extractStep(const TraceEvents &trace, const StepChoice &choice);

} // namespace accord::comparison
