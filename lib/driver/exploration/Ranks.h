// One run on several processes, started by mpirun or srun.
#pragma once
#include "lib/driver/exploration/Mine.h"
#include <optional>

namespace accord {

/// As which of them this one was started; nothing: as one of its own.
std::optional<size_t> startedAsRank();

/// From here on nothing is printed by ranks above 0: what they would say the first one says, too.
/// Whether this is one of those.
bool silenceOtherRanks();

/// `mine`, with all processes of the run. The first one searches and writes, the others serve it.
int mineOnRanks(const MineOptions &options);

} // namespace accord
