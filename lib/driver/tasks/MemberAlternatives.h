// What training a member takes on a machine.
#pragma once
#include "lib/ensembles/problem/Members.h"

namespace accord {

class Session;

/// The ways in which one member is trained on one machine: each micro-batch and recomputation that
/// its training offers, planned as `accord compile` does, without those that another one beats in
/// everything.
struct MemberAlternatives {
  std::vector<MemberCost> alternatives;
  std::vector<std::string> texts; ///< "micro-batch 32 x 8"
  std::string reason;             ///< why there are none
  std::string machine;            ///< its name
  int64_t memory = 0;             ///< bytes of the machine
  std::vector<std::string> assumptions;
};

/// Of the session's job on its machine. Nothing after errors.
std::optional<MemberAlternatives> memberAlternatives(Session &session);

} // namespace accord
