// Where a document that somebody holds differs from the one that it should be.
#pragma once
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace accord {

/// The first place where the document `text`, of the file `path`, differs from `given`, in words: "plan.json: 3 at
/// stages[1].devices, the certificate gives 4". Numbers are the same if they are printed alike. Also what keeps `text`
/// from being read; nothing where both say the same.
std::optional<std::string> differenceFrom(const llvm::json::Value &given, llvm::StringRef text,
                                          const std::string &path);

} // namespace accord
