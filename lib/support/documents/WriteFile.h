// Writing the files and folders of an answer, with a diagnostic where that is impossible.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/AnswerFile.h"
#include <string>

namespace accord {

/// Writes `text` to a file. Reports `CannotWrite` and returns false where that is impossible.
bool writeFile(Diagnostics &diags, const std::string &path, llvm::StringRef text);

/// Writes files into a folder, and makes the folders that they are in. False after the first that cannot be written.
bool writeFiles(Diagnostics &diags, const std::string &folder, const AnswerFiles &files);

/// Makes a folder and those above it. Reports `CannotWrite` and returns false where that is impossible.
bool makeFolder(Diagnostics &diags, const std::string &folder);

} // namespace accord
