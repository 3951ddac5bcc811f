// Text -> syntax tree. ANTLR and its exceptions end here.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Parses one file by its extension (.accel or .dnn; anything else is A0009). Always returns a
/// tree: with syntax errors it holds what could be understood and `complete` is false. All errors
/// of the file are reported in one run. Text that is no UTF-8, nested deeper than 256 brackets or
/// larger than 64 MiB is refused before parsing, so that no input crashes or hangs.
std::unique_ptr<ast::File> parse(Diagnostics &diags, FileId file);

/// Reads a file from disk into the source manager; unreadable, a directory, binary, too large: a
/// diagnostic at `from` and nothing. A file that is already there is not read again.
/// `shown` is the name that diagnostics and plans print, `path` itself unless given.
std::optional<FileId> readFile(Diagnostics &diags, llvm::StringRef path, SourceRange from = {},
                               llvm::StringRef shown = {});

/// Where a place that travelled as data is in the files that were read; `otherwise` if it is in none of them.
SourceRange rangeOf(const SourceLocation &place, const Diagnostics &diags, SourceRange otherwise = {});

/// A name as the languages see it: a letter or underscore, then letters, digits, underscores; no
/// reserved word.
bool isName(llvm::StringRef text);
/// The words that can never be names.
llvm::ArrayRef<llvm::StringRef> reservedWords();

} // namespace accord
