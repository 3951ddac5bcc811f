// What each operation of a training step costs on a machine, without planning.
#pragma once
#include "lib/driver/Options.h"
#include <optional>

namespace accord {
class Session;
struct Plan;

/// Prints costs, totals and energy of a step at the smallest micro-batch that the file allows. Returns the exit status
/// of `accord estimate`. `html`: file for the page, or "".
int estimateStep(Options options, const std::string &html = {});

/// The step of a prepared session with the smallest micro-batch that is in the search space: an estimate chooses
/// nothing. Nothing after errors, which are reported.
std::optional<Plan> estimatedPlan(Session &session);

} // namespace accord
