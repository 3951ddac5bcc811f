// What `accord prune` wrote, proved again.
#pragma once
#include "lib/planning/verify/Verify.h"
#include <optional>
#include <string>

namespace accord {

/// Whether a path is a prune.json, or a folder with one.
bool holdsSparsity(const std::string &path);
/// Nothing after a file that cannot be read, which is reported.
std::optional<Verification> verifySparsity(const std::string &path, bool json);

} // namespace accord
