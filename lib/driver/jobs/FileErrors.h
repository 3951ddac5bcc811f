// Errors of files that readers read by themselves, reported at their place.
#pragma once
#include "lib/language/syntax/Parser.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Reports an error at its place, with its suggestion. A file that is no source yet is read for that.
inline void reportOfFile(Diagnostics &diags, SourceManager &sources, const Error &error) {
  SourceRange at;
  if (error.location.line > 0) {
    std::optional<FileId> file = sources.find(error.location.file);
    if (!file)
      file = readFile(diags, error.location.file);
    if (file)
      at = sources.at(*file, {error.location.line, std::max(error.location.column, 1u)});
  }
  diags.error(error.code, at, error.message).suggest(error.suggestion);
}

} // namespace accord
