// The cluster of a job in the certificate of a mining.
#pragma once
#include "lib/model/MiningClaim.h"
#include "llvm/Support/JSON.h"

namespace accord {

llvm::json::Value toJson(const ClaimedCluster &cluster);
/// Reads what that writes; refuses problems, graphs and classes that do not fit together.
bool readCluster(const llvm::json::Value &value, llvm::json::Path at, ClaimedCluster &out);

} // namespace accord
