// `require` and `maximize` of a training, evaluated on a candidate plan.
#pragma once
#include "lib/language/requests/TrainingJob.h"
#include "lib/language/syntax/Evaluate.h"
#include "lib/planning/problem/Objective.h"
#include <map>

namespace accord {

/// What constraints may name, with exact dimensions: step_time, throughput, device.memory, energy,
/// power, batch, microbatch, parameters, and capacity and bandwidth of every memory of the machine.
std::map<std::string, Quantity> constraintNames(const Plan &plan, const CandidateMetrics &achieved);

/// The number an expression over those names stands for; a problem names the unknown name or the
/// wrong dimension.
Result<Quantity> measure(const Constant &value, const std::map<std::string, Quantity> &names);

/// One `require`. The comparison is kept as a value; `check` evaluates it on each candidate.
Requirement requirement(Constant condition, std::string text, SourceLocation location);

/// What a `require` limits on a cluster: device.memory, step_time, power, devices, energy or price
/// from above, or throughput (samples of the `batch` per second) from below; the other side is of
/// numbers, the batch and memories of the machine. A0947 for anything else or a limit that is not
/// above 0.
std::optional<PlacementLimit> placementLimit(const Constant &condition, const Machine &machine, int64_t batch,
                                             Diagnostics &diags);

/// Reports names and dimensions that no plan on this machine could satisfy. True if the constraint
/// can be evaluated.
bool checkRequirement(const Constant &condition, const Machine &machine, bool inference, Diagnostics &diags);

} // namespace accord
