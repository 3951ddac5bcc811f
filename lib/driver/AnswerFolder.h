// The folder of an answer: written by a command, and read again by another.
#pragma once
#include "lib/machine/model/Plan.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace accord {
class Diagnostics;

/// A folder while its answer is written. After the first file that cannot be written (A0803), which is reported, no
/// more are.
class AnswerFolder {
public:
  /// Makes the folder.
  AnswerFolder(Diagnostics &diags, std::string path);
  AnswerFolder &write(llvm::StringRef name, llvm::StringRef text);
  /// Removes a file of an earlier run: it would speak of another answer.
  AnswerFolder &remove(llvm::StringRef name);
  /// Whether all was written.
  explicit operator bool() const { return isWhole; }

private:
  Diagnostics &diags;
  std::string path;
  bool isWhole;
};

/// Whether a folder has a file of this name, or the path is one.
bool hasResultFile(const std::string &path, const std::string &name);

/// The file of this name in a folder, or the path itself.
std::string resultFile(const std::string &path, const std::string &name);
/// A whole file; nothing after a refusal on behalf of `command`.
std::optional<std::string> readText(const std::string &file, bool json, const char *command);

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
