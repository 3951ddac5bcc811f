// What is wrong in a file of an editor: all that `accord compile` and its neighbours would report before they search.
#pragma once
#include "lib/editor/LineTable.h"
#include "lib/editor/OpenFiles.h"

namespace accord::editor {

/// A place in a file, as its path and places of an editor.
struct FilePlace {
  std::string path;
  EditorPosition begin, end;
};

struct Finding {
  FilePlace at;
  bool isError = true;
  std::string code;       ///< "A0104"
  std::string message;    ///< as on a terminal, with the help behind it
  std::string suggestion; ///< what to write instead of the range; empty if nothing is suggested
  std::vector<std::pair<FilePlace, std::string>> notes;
};

/// Findings in the file and in what it imports, by path; the file itself is always there. Open texts stand for those on
/// the disk. What has no place is at the beginning of the file. Nothing is searched or planned. `stop` is asked between
/// the parts of the work; where it is true the answer is not complete.
std::map<std::string, std::vector<Finding>> diagnose(const OpenFiles &open, const std::string &path,
                                                     const std::function<bool()> &stop);

/// "x" of "did you mean 'x'?", which a help begins with; empty otherwise.
std::string suggestedIn(llvm::StringRef help);

} // namespace accord::editor
