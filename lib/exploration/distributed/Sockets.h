// Messages over TCP. MPI itself would not do: that a rank is lost it does not say.
#pragma once
#include "lib/exploration/distributed/Link.h"
#include <memory>
#include <variant>

namespace accord {

/// Listens where any of this machine's addresses is reached. Others must know a secret of this run;
/// who does not is sent away.
std::variant<std::unique_ptr<LeaderLink>, std::string> listenForRanks(size_t ranks, std::string &invitation);
/// `invitation`: what `listenForRanks` wrote, on whatever machine. `rank` is from 1.
std::variant<std::unique_ptr<ServerLink>, std::string> joinLeader(const std::string &invitation, size_t rank);
/// Of this machine.
std::string hostName();

} // namespace accord
