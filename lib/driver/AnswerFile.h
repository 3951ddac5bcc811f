// Documents that commands wrote, read again.
#pragma once
#include "lib/machine/model/Plan.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace accord {

/// Whether a folder has a file of this name, or the path is one.
bool hasResultFile(const std::string &path, const std::string &name);

struct ResultFile {
  std::string file;
  llvm::json::Value document;
};
/// That file; nothing after a refusal on behalf of `command`.
std::optional<ResultFile> readResultFile(const std::string &path, const std::string &name, bool json,
                                         const char *command);

/// The plan of one device in a folder that `accord compile` wrote, or in its plan.json. Nothing after a refusal on
/// behalf of `command`.
std::optional<Plan> readPlan(const std::string &path, bool json, const char *command);

} // namespace accord
