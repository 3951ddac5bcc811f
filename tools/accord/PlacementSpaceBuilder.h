// What a job's `search` lets a placement choose.
#pragma once
#include "tools/accord/Session.h"

namespace accord {

struct PlacementChoices {
  PlacementSpace space;
  std::vector<std::string> assumptions;
};

/// The choices of a session's job on its cluster, with defaults for what it does not state.
/// Problems are reported, and nothing is returned then.
std::optional<PlacementChoices> choicesOf(Session &session);

} // namespace accord
