// What formatting must keep.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include "test/fuzz/Corpus.h"
#include <memory>

namespace accord::fuzz {

/// A program, parsed; errors are in `diags`.
struct Parsed {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;

  explicit Parsed(const Program &program);
};

/// How formatting a program without errors of syntax changes more than layout and commas, or a second time changes
/// something; empty if it does not.
std::string badFormat(const Program &program, const Parsed &parsed);

} // namespace accord::fuzz
