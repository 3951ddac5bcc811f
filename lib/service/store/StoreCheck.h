// What a state says that cannot be.
#pragma once
#include "lib/service/store/Database.h"

namespace accord::service {

/// What is wrong with the database and with what it says, a sentence each, of each kind at most 20: see
/// `ServiceStore::check`.
Result<std::vector<std::string>> checkStore(Database &database);

} // namespace accord::service
