// `require` and `maximize` of a training, evaluated on a candidate plan.
#pragma once
#include "lib/place/SingleDevice.h"
#include "lib/syntax/Evaluate.h"
#include <map>

namespace accord {

/// What constraints may name, with exact dimensions: step_time, throughput, device.memory, energy,
/// power, batch, microbatch, parameters, and capacity and bandwidth of every memory of the machine.
std::map<std::string, Quantity> constraintNames(const Plan &plan, const Achieved &achieved);

/// The number an expression over those names stands for; a problem names the unknown name or the
/// wrong dimension.
Checked<Quantity> measure(const Constant &value, const std::map<std::string, Quantity> &names);

/// One `require`. The comparison is kept as a value; `check` evaluates it on each candidate.
Requirement requirement(Constant condition, std::string text, SourceLocation location);

/// Reports names and dimensions that no plan on this machine could satisfy. True if the constraint
/// can be evaluated.
bool checkRequirement(const Constant &condition, const Machine &machine, Diagnostics &diags);

} // namespace accord
