// accord verify of what `accord vote` wrote.
#pragma once
#include "lib/planning/verify/Verify.h"
#include <optional>

namespace accord {

/// Whether a folder has a vote.json, or the path is one.
bool holdsVote(const std::string &path);
/// Proves guarantees, placement and choice again; nothing after an error is reported: what cannot
/// be read.
std::optional<Verification> verifyVote(const std::string &path, bool json);

} // namespace accord
