// Reading a finished plan: a folder that `accord compile` wrote, or its plan.json.
#pragma once
#include "lib/machine/model/Plan.h"
#include <optional>
#include <string>

namespace accord {
/// Prints why not on standard error (with --json as a document on standard output) and returns
/// nothing.
std::optional<Plan> readPlan(const std::string &path, bool json, const char *command);
} // namespace accord
