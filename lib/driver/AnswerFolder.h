// The folder of an answer: written by a command, and read again by another.
#pragma once
#include "lib/machine/model/Plan.h"
#include "lib/support/Result.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {
class Diagnostics;

/// The folder of an answer while it is written. Files go into a folder beside it, which takes its place in one step
/// when all are there, with manifest.json: an answer that a failed, stopped or killed run leaves is the earlier one,
/// whole. Its pages have links to each other. What an earlier answer left is gone then; files that no answer wrote
/// stay. Links in the folder are not followed. One process writes at a time; another one waits. After the first file
/// that cannot be written (A0803), which is reported, nothing more is.
///
/// Where the folder itself has to stay (a process works in it, or it is the root of a file system), files are renamed
/// into it one by one, the manifest last; a kill in between leaves a folder without a manifest, which `accord verify`
/// refuses.
class AnswerFolder {
public:
  AnswerFolder(Diagnostics &diags, std::string path);
  /// Removes what was not committed.
  ~AnswerFolder();
  AnswerFolder(const AnswerFolder &) = delete;
  AnswerFolder &operator=(const AnswerFolder &) = delete;

  /// Where files lie until they are committed; of writers that take a folder.
  const std::string &path() const { return staged_; }
  AnswerFolder &write(llvm::StringRef name, llvm::StringRef text);
  AnswerFolder &write(const AnswerFiles &files);
  /// Whether all was written so far.
  explicit operator bool() const { return isWhole_; }
  /// Makes what was written the answer. False where that failed, which is reported.
  bool commit();

private:
  bool fail(const std::string &what, std::error_code why);
  bool linkPages();
  bool isAtWork() const;
  bool keepFilesOfOthers();
  bool exchange();
  bool moveInto(const std::vector<std::string> &made);

  Diagnostics &diags_;
  std::string path_;   ///< without links and without a slash at its end
  std::string staged_; ///< beside it
  int lock_ = -1;      ///< of a file beside it, while this lives
  bool isWhole_ = true;
};

/// Files of a folder that are not what the answer gives (`differenceFrom`), or that are missing: A0954 each. Unless
/// `all` have to be there, those that are not are passed over.
Errors fileViolations(const AnswerFiles &given, const std::string &folder, bool all);

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

/// Writes a page to a file, unless it is empty, with links to the pages that are beside it. Refuses on behalf of
/// `command` (A0803) and returns false where that is impossible.
bool writePage(const std::string &file, const std::string &page, bool json, const char *command);

/// The report in the folder of an answer (or beside its plan.json), as a link from a page in `file`; empty where there
/// is none.
std::string reportLink(const std::string &answer, const std::string &file);

} // namespace accord
