// Plans one training job on one accelerator: tries each micro-batch size, keeps the best plan that meets the constraints.
#pragma once
#include "lib/model/Plan.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What a constraint or an objective may name, of one candidate plan. All in base units.
struct Metrics {
  Seconds stepTime;
  double throughput = 0; ///< samples per second
  Bytes deviceMemory;    ///< peak use of the device memory
  Joules energy;         ///< per step
  Watts power;           ///< energy / step time
};
Metrics metricsOf(const Plan &);

/// A user's `require`. `check` returns nothing when it holds, else a sentence with both sides' numbers.
struct Requirement {
  std::string text; ///< as written, or its label
  SourceLocation location;
  std::function<std::optional<std::string>(const Plan &, const Metrics &)> check;
};

enum class Objective : uint8_t { Throughput, StepTime, Memory, Energy };
const char *name(Objective);
/// Larger is better for all objectives: the value, or its negative for those that are minimized.
double score(Objective, const Metrics &);

struct SingleDeviceRequest {
  std::string job;
  int64_t batch = 1;
  std::vector<int64_t> microbatches; ///< candidates; those that do not divide the batch are left out
  Objective objective = Objective::Throughput;
  std::vector<Requirement> requirements;
  std::string costModel; ///< empty: chosen by what the machine states
  unsigned threads = 1;
  /// The training step at one micro-batch size; called once per candidate, possibly from several threads.
  std::function<std::optional<WorkGraph>(int64_t microbatch, int64_t microbatches)> instantiate;
};

struct PlanFailure {
  std::string message; ///< why no plan at all could be made (an operation without a core, no candidate)
  SourceLocation location;
};

/// The best feasible plan; when no candidate is feasible, the one that needs least memory, with `feasible` false and its
/// conflicts. Fails only when the work cannot be costed at all. Same result whatever `threads`.
std::optional<Plan> planSingleDevice(const SingleDeviceRequest &, const Machine &, PlanFailure &failure);

/// One row of the what-if table: the plan's step time when one resource is 10 % better, all else equal.
struct WhatIfRow {
  std::string change; ///< "hbm bandwidth +10 %"
  Seconds stepTime;
};
std::vector<WhatIfRow> whatIf(const Plan &);

} // namespace accord
