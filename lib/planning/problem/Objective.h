// What a plan of one device is to be best at, and what it has to meet.
#pragma once
#include "lib/machine/model/Plan.h"
#include <functional>
#include <optional>
#include <string>

namespace accord {

/// What a constraint or an objective may name, of one candidate plan. All in base units.
struct CandidateMetrics {
  Seconds stepTime;
  double throughput = 0; ///< samples per second
  Bytes deviceMemory;    ///< peak use of the device memory
  Joules energy;         ///< per step
  Watts power;           ///< energy / step time
};
CandidateMetrics measureCandidate(const Plan &);

/// A user's `require`. `check` returns nothing when it holds, else a sentence with both sides'
/// numbers.
struct Requirement {
  std::string text; ///< as written, or its label
  SourceLocation location;
  std::function<std::optional<std::string>(const Plan &, const CandidateMetrics &)> check;
};

enum class Objective : uint8_t { Throughput, StepTime, Memory, Energy, OfCluster };
/// "throughput", "step_time", "memory", "energy": the names of Plan::objective; `OfCluster` is one of placements alone.
const char *name(Objective);

} // namespace accord
