// Which keys the blocks of `.dnn` have that ask for something, with a sentence of each: for their readers, messages and
// editors. What machines have is in dialects/accel/Schema.h.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace accord {

struct RequestKey {
  std::string name;
  std::string documentation;           ///< one sentence
  std::vector<std::string> words = {}; ///< that it may be, where these are all or the usual ones
  bool isBlock = false;                ///< written `key { … }` or `key NAME …`
};

/// Keys of a block, in the order of messages: "train", "infer" and their "search", "checkpoint" and "data"; "sparsity",
/// "tuning" and its "population", "ensemble"; "jobs" and its "job", "configuration" and "choice". Empty for another
/// block.
const std::vector<RequestKey> &requestKeysOf(llvm::StringRef block);
/// Their names alone.
const std::vector<std::string> &requestKeyNames(llvm::StringRef block);

} // namespace accord
