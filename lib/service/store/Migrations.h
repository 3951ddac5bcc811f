// The tables of the state, version by version.
#pragma once
#include "lib/service/store/Database.h"

namespace accord::service {

constexpr int64_t kStateVersion = 3;

/// Brings the tables to the newest version, each step in a transaction. A newer version than this program knows is
/// refused and left as it is (A1204).
Result<void> migrate(Database &database);

} // namespace accord::service
